// The rows that a bitmap of other indexes leaves, for whoever finds rows in an order of its own.
#pragma once

#include "compat.h"

namespace pg_gpu::table {

struct RowSetBlock {
    BlockNumber block;
    int count;      // of offsets; -1: all rows of the block may be in the set
    uint64 offset;  // of the first, in RowSet::offsets
};

// Blocks are in order, and so are a block's offsets.
struct RowSet {
    RowSetBlock *blocks;
    uint32 block_count;
    OffsetNumber *offsets;
    uint64 rows;    // of which a block that may be in it as a whole counts as many as it has room for
    bool is_exact;  // no row is in it that must still be looked at
};

// Copies the bitmap into the current memory context.
RowSet *make_row_set(TIDBitmap *bitmap);

bool contains(const RowSet &set, const ItemPointerData &tid);

}  // namespace pg_gpu::table
