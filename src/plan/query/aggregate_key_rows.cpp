#include "plan/query/aggregate_key_rows.h"

#include "compat.h"

namespace pg_gpu::plan {

void begin_key_rows(KeyRows *rows, const AggregateRequest &request, const AggregateOutput &output) {
    *rows = {};
    rows->is_open = true;
    // Of several members none could be told by a place, so they have no such groups.
    rows->index = request.member[0].index;
    rows->context = request.context;
    rows->joins = request.joins;
    rows->row = make_row(rows->index, request.joins);
    table::open_heap_probe(&rows->probe, request.member[0].heap, request.snapshot);
    rows->keys = allocate_zeroed<ExprState *>(static_cast<size_t>(output.key_count) + 1);
    for (int i = 0; i < output.key_count; i++)
        if (output.compiled->key[i].has_variants)
            rows->keys[i] = ExecInitExpr(static_cast<Expr *>(list_nth(request.query.keys, i)), nullptr);
}

void end_key_rows(KeyRows *rows) {
    if (rows->is_open)
        table::close_heap_probe(&rows->probe);
    *rows = {};
}

static TupleTableSlot *fetch_row(KeyRows *rows, uint64 place) {
    ItemPointerData tid;
    ItemPointerSet(&tid, static_cast<BlockNumber>(place >> 16), static_cast<OffsetNumber>(place & 0xffff));
    // The snapshot has seen it, so it is still there.
    TupleTableSlot *row = table::fetch_visible(&rows->probe, tid);
    if (row == nullptr)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("a row that was found by index \"%s\" is no longer there",
                               RelationGetRelationName(rows->index))));
    return row;
}

void read_key_row(KeyRows *rows, const AggregateOutput &output, uint64 group, Datum *values, bool *nulls) {
    TupleTableSlot *heap_row = fetch_row(rows, place_of_group(output, group));
    const Form_pg_index form = rows->index->rd_index;
    for (int i = 0; i < form->indnkeyatts; i++)
        if (form->indkey.values[i] > 0)
            rows->row->tts_values[i] =
                slot_getattr(heap_row, form->indkey.values[i], &rows->row->tts_isnull[i]);
    if (rows->joins != nullptr)
        put_matches(rows->joins, rows->context, rows->row);
    rows->context->ecxt_scantuple = rows->row;
    for (int i = 0; i < output.key_count; i++) {
        if (rows->keys[i] == nullptr || nulls[i])
            continue;
        const column::ColumnType &type = output.compiled->key[i].type;
        const Datum value = ExecEvalExprSwitchContext(rows->keys[i], rows->context, &nulls[i]);
        if (!nulls[i])
            values[i] = type.length == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value))
                                          : datumCopy(value, type.by_value, type.length);
    }
    ResetExprContext(rows->context);
    // No page stays pinned between two rows: an idle cursor would hold up VACUUM (FREEZE).
    ExecClearTuple(rows->probe.slot);
    table_index_fetch_reset(rows->probe.fetch);
}

}  // namespace pg_gpu::plan
