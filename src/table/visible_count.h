// Counting the rows a snapshot sees by their entries' TIDs.
#pragma once

#include "storage/storage.h"
#include "table/visibility.h"

namespace pg_gpu::table {

// Returns whether everyone sees every row of the table.
bool is_table_all_visible(Relation heap);

struct VisibleCount {
    VisibilityMap visibility;
    bool trusts;  // set where the visibility map may be trusted
    // It is no newer than the view's. Whoever collects entries of a view that was taken before sets it to
    // that one's.
    uint64 vacuum_seq;
    int64 trusted;
    ItemPointerData *unresolved;  // TIDs on blocks that are not all-visible
    uint64 unresolved_count;
    uint64 unresolved_room;
};

// Begins anew: after it all entries of a new view are added again.
void reset_count(VisibleCount *count);
void add_entries(VisibleCount *count, const ItemPointerData *tids, uint32 tid_count);

// Counts visible rows. `collect` adds all live entries of one view that are to be counted, and is called
// again when a VACUUM ends meanwhile. *heap_fetches becomes the number of those that were looked up in the
// heap.
int64 count_by_tid(Relation heap, Relation index, const storage::RunKind *kind, Snapshot snapshot,
                   void (*collect)(void *context, VisibleCount *count), void *context, uint64 *heap_fetches);

}  // namespace pg_gpu::table
