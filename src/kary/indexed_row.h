// The values that an index keeps of a row of its table.
#pragma once

#include "memory.h"

namespace pg_gpu::kary {

struct IndexedRow {
    IndexInfo *info;
    EState *state;  // for the index's expressions
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
};

void open_indexed_row(IndexedRow *row, Relation index);
void close_indexed_row(IndexedRow *row);

// Computes a row's values. They lie in the row or in row_memory.
void take_row(IndexedRow *row, TupleTableSlot *slot);

// This context is for what is computed from rows. forget_rows frees it together with their values.
inline MemoryContext row_memory(const IndexedRow &row) {
    return GetPerTupleMemoryContext(row.state);
}

inline void forget_rows(const IndexedRow &row) {
    ResetExprContext(GetPerTupleExprContext(row.state));
}

}  // namespace pg_gpu::kary
