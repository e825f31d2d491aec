// The rows that a bitmap of other indexes leaves, for whoever finds rows in an order of its own.
#pragma once

#include "compat.h"

namespace pg_gpu::table {

struct RowSetBlock {
    BlockNumber block;
    int count;      // number of the block's offsets; -1: all rows of the block may be in the set
    uint64 offset;  // offset of the first one, in RowSet::offsets
};

// A set of rows. Blocks are in order, and so are a block's offsets.
struct RowSet {
    RowSetBlock *blocks;
    uint32 block_count;
    OffsetNumber *offsets;
    // Number of rows, where a block that may be in the set as a whole counts as many as it has room for.
    uint64 rows;
    bool is_exact;  // set when no row in it must still be looked at
};

// Copies the bitmap into the current memory context. The caller still frees the bitmap.
RowSet *make_row_set(TIDBitmap *bitmap);

bool contains(const RowSet &set, const ItemPointerData &tid);

}  // namespace pg_gpu::table
