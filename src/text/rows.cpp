#include "text/rows.h"

namespace pg_gpu::text {

void open_rows(Rows *rows, Relation heap, Relation index, Snapshot snapshot) {
    *rows = {};
    rows->context = CurrentMemoryContext;
    rows->heap = heap;
    rows->index = index;
    rows->snapshot = snapshot;
    rows->fetch = table_index_fetch_begin(heap);
    rows->slot = table_slot_create(heap, nullptr);
}

void close_rows(Rows *rows) {
    if (rows->fetch == nullptr)
        return;
    table_index_fetch_end(rows->fetch);
    ExecDropSingleTupleTableSlot(rows->slot);
    if (rows->estate != nullptr)
        FreeExecutorState(rows->estate);
    *rows = {};
}

bool vector_matches(TSVector vector, TSQuery query) {
    return DatumGetBool(DirectFunctionCall2(ts_match_vq, TSVectorGetDatum(vector), TSQueryGetDatum(query)));
}

static bool slot_matches(Rows *rows, TSQuery query) {
    if (rows->estate == nullptr) {
        // Callers look rows up in contexts of shorter life.
        MemoryContext caller = MemoryContextSwitchTo(rows->context);
        rows->info = BuildIndexInfo(rows->index);
        rows->source = source_of(rows->index);
        rows->estate = CreateExecutorState();
        MemoryContextSwitchTo(caller);
    }
    ExprContext *context = GetPerTupleExprContext(rows->estate);
    context->ecxt_scantuple = rows->slot;
    MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
    FormIndexDatum(rows->info, rows->slot, rows->estate, values, nulls);
    const TSVector vector = document_of(rows->source, values, nulls);
    const bool matches = vector != nullptr && vector_matches(vector, query);
    MemoryContextSwitchTo(caller);
    ResetExprContext(context);
    return matches;
}

bool look_up_row(Rows *rows, const ItemPointerData &tid, TSQuery query, bool *matches, ItemPointerData *row) {
    ItemPointerData copy = tid;
    bool call_again = false;
    bool all_dead = false;
    // An MVCC snapshot sees at most one member of a HOT chain, so there is nothing more to ask for.
    if (!table_index_fetch_tuple(rows->fetch, &copy, rows->snapshot, rows->slot, &call_again, &all_dead))
        return false;
    if (row != nullptr)
        *row = rows->slot->tts_tid;
    if (query != nullptr)
        *matches = slot_matches(rows, query);
    ExecClearTuple(rows->slot);
    return true;
}

}  // namespace pg_gpu::text
