// Which index entries may be trusted without the heap (R4, R5).
#pragma once

#include "postgres_headers.h"

#include "memory.h"

namespace pg_gpu::kary {

// Reads the visibility map for one view: bits may be looked at any time after the view was taken, for entries
// of that view only. Regions looked at often are copied once.
struct VisibilityMap {
    Relation heap;
    Buffer buffer;
    char **copies;  // by map page; nullptr until copied
    uint32 copy_room;
    uint32 lookups;
};

void open_visibility(VisibilityMap *map, Relation heap);
// Forgets the copies: the next looks belong to a new view.
void renew_visibility(VisibilityMap *map);
void close_visibility(VisibilityMap *map);
bool is_all_visible(VisibilityMap *map, BlockNumber block);

// Looks rows up in the heap with a snapshot.
struct HeapProbe {
    IndexFetchTableData *fetch;
    TupleTableSlot *slot;
    Snapshot snapshot;
};

void open_heap_probe(HeapProbe *probe, Relation heap, Snapshot snapshot);
void close_heap_probe(HeapProbe *probe);
// With `row`, the TID of the visible row itself, which in a HOT chain is not the entry's.
bool is_visible(HeapProbe *probe, const ItemPointerData &tid, ItemPointerData *row = nullptr);

}  // namespace pg_gpu::kary
