// What counting with the server's help needs of the table: which blocks are all-visible, and the snapshot's
// word on the entries elsewhere.
#pragma once

#include "client/client.h"
#include "table/visibility.h"

namespace pg_gpu::table {

// A stream of VACUUMs ends this many tries; then the paged path counts, which takes the run lock.
inline constexpr int kMaxServerTries = 8;

// One bit a heap block, read after the view (R4).
client::VisibleBlocks read_visible_blocks(Relation heap);

// Looks entries up in the heap.
struct RowChecker {
    Relation heap;
    Relation index;
    HeapProbe probe;
    BlockNumber heap_blocks;  // as last looked at
    uint64 fetches;
};

// ERROR for a TID that cannot be in the table; the entry is on this block of the index.
bool is_row_visible(RowChecker *checker, BlockNumber index_block, const ItemPointerData &tid);

// Adds what the server counted of the set's runs to counts[0] to counts[answer.items - 1].
void add_server_counts(RowChecker *checker, const client::RunSet &set, const client::CountAnswer &answer,
                       int64 *counts);

}  // namespace pg_gpu::table
