// Counting the rows a snapshot sees by their entries' TIDs.
#pragma once

#include "storage/storage.h"
#include "table/visibility.h"

namespace pg_gpu::table {

// Does every row of the table belong to everyone?
bool is_table_all_visible(Relation heap);

struct VisibleCount {
    VisibilityMap visibility;
    bool trusts;  // the visibility map
    // No newer than the view's. Whoever collects entries of a view that was taken before sets it to that
    // one's.
    uint64 vacuum_seq;
    int64 trusted;
    ItemPointerData *unresolved;  // on blocks that are not all-visible
    uint64 unresolved_count;
    uint64 unresolved_room;
};

// Entries of a view; all of them again after a reset, in a new one.
void reset_count(VisibleCount *count);
void add_entries(VisibleCount *count, const ItemPointerData *tids, uint32 tid_count);

// `collect` adds all live entries of one view that are to be counted, more than once when a VACUUM ends
// meanwhile. *heap_fetches of them are looked up in the heap.
int64 count_by_tid(Relation heap, Relation index, const storage::RunKind *kind, Snapshot snapshot,
                   void (*collect)(void *context, VisibleCount *count), void *context, uint64 *heap_fetches);

}  // namespace pg_gpu::table
