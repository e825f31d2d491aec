// Finds the rows of the table for index entries, a page at a time.
#pragma once

#include "kary/lookup.h"
#include "table/table.h"

namespace pg_gpu::kary {

// Goes through the matches of a lookup in heap order and finds the row each one leads to. A page is locked
// once for all its matches; the row's tuple stays pinned until the next one is asked for.
struct HeapRows {
    Relation heap;
    Snapshot snapshot;
    const LookupResult *lookup;
    uint64 next_match;                        // first match of the next page
    uint64 first_match;                       // first match of the current page's batch
    uint32 batch;                             // matches in it
    uint32 at;                                // in the batch
    OffsetNumber rows[MaxHeapTuplesPerPage];  // rows of the batch: the visible row's, or InvalidOffsetNumber
    Buffer buffer;
    Buffer next_buffer;  // the next page's buffer, pinned ahead
    storage::NearbyBuffer nearby;
    uint64 requested_for;  // matches whose keys' places in `first_position` have been asked for
    HeapTupleData tuple;
    HeapProbe probe;  // used for a table of another access method
    bool is_heap;     // set for a table of PostgreSQL's own access method
};

void open_heap_rows(HeapRows *rows, Relation heap, Snapshot snapshot, const LookupResult *lookup);
void close_heap_rows(HeapRows *rows);

// Moves to the next visible row; nullptr at the end. *tid is the row's own, which in a HOT chain is not the
// entry's.
const LookupMatch *next_row(HeapRows *rows, ItemPointerData *tid);

// Says whether there is another visible row on the current row's page, so that its tuple stays where it is.
bool has_more_on_page(const HeapRows &rows);

// Puts the current row into a slot of table_slot_create.
void store_row(HeapRows *rows, TupleTableSlot *slot);

}  // namespace pg_gpu::kary
