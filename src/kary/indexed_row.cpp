#include "kary/indexed_row.h"

namespace pg_gpu::kary {

void open_indexed_row(IndexedRow *row, Relation index) {
    row->info = BuildIndexInfo(index);
    row->state = CreateExecutorState();
}

void close_indexed_row(IndexedRow *row) {
    FreeExecutorState(row->state);
}

void take_row(IndexedRow *row, TupleTableSlot *slot) {
    GetPerTupleExprContext(row->state)->ecxt_scantuple = slot;
    MemoryContext caller = MemoryContextSwitchTo(row_memory(*row));
    FormIndexDatum(row->info, slot, row->state, row->values, row->nulls);
    MemoryContextSwitchTo(caller);
}

}  // namespace pg_gpu::kary
