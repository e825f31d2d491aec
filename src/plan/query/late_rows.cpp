#include "plan/query/late_rows.h"

#include "column/query/row_tids.h"
#include "compat.h"
#include "sort.h"

namespace pg_gpu::plan::query {

// ---- planning ---------------------------------------------------------------------------------------------

bool lacks_columns(const IndexOptInfo *index, const List *row) {
    Bitmapset *columns = nullptr;
    pull_varattnos(reinterpret_cast<Node *>(const_cast<List *>(row)), index->rel->relid, &columns);
    for (int i = 0; i < index->nkeycolumns; i++)
        columns = bms_del_member(columns, index->indexkeys[i] - FirstLowInvalidHeapAttributeNumber);
    return !bms_is_empty(columns);
}

Node *make_row_number() {
    return reinterpret_cast<Node *>(makeVar(1, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0));
}

Cost cost_late_rows(const TableAggregate &table, double rows) {
    double page_cost;
    get_tablespace_page_costs(table.input->reltablespace, &page_cost, nullptr);
    const double pages = index_pages_fetched(rows, table.input->pages, 0, table.root);
    return pages * page_cost + rows * cpu_tuple_cost;
}

// ---- execution --------------------------------------------------------------------------------------------

static List *without_functions(const List *tuple, int functions) {
    List *without = NIL;
    for (int i = 0; i < list_length(tuple); i++) {
        auto *entry = list_nth_node(TargetEntry, tuple, i);
        if (i >= list_length(tuple) - functions) {
            auto *function = reinterpret_cast<Node *>(entry->expr);
            entry = flatCopyTargetEntry(entry);
            entry->expr = reinterpret_cast<Expr *>(
                makeNullConst(exprType(function), exprTypmod(function), exprCollation(function)));
        }
        without = lappend(without, entry);
    }
    return without;
}

void begin_late_rows(LateRows *rows, CustomScanState *node, Relation heap, Relation index, List *tuple,
                     int functions) {
    rows->heap = heap;
    rows->index = index;
    table::open_heap_probe(&rows->probe, heap, node->ss.ps.state->es_snapshot);
    // Without a parent, since the expressions are of the table's rows and not of the node's.
    rows->projection =
        ExecBuildProjectionInfo(without_functions(tuple, functions), node->ss.ps.ps_ExprContext,
                                node->ss.ss_ScanTupleSlot, nullptr, RelationGetDescr(heap));
    rows->distance = get_tablespace_io_concurrency(heap->rd_rel->reltablespace);
}

void end_late_rows(LateRows *rows) {
    table::close_heap_probe(&rows->probe);
}

bool take_late_rows(LateRows *rows, column::ColumnView *view, const CompiledQuery &compiled,
                    const RecordLayout &layout, column::QueryResult *records, bool is_ordered,
                    uint32 functions) {
    const uint32 word = layout.words[compiled.results[compiled.result_count - functions - 1].value];
    const size_t words = functions > 0 ? records->record_words : 0;
    auto *numbers = allocate<uint64>(records->rows + 1);
    auto *kept = allocate<uint64>(records->rows * words + 1);
    uint64 count = 0;
    const uint64 *record;
    while (uint64 left = column::next_records(records->records, &record))
        for (; left > 0; left--, record += records->record_words) {
            memcpy(kept + count * words, record, words * sizeof(uint64));
            numbers[count++] = record[word];
        }
    rows->records = kept;
    rows->record_words = static_cast<uint32>(words);
    if (!is_ordered && functions == 0)
        sort_interruptibly(numbers, numbers + count, std::less<uint64>());
    auto *tids = allocate<ItemPointerData>(count + 1);
    const bool is_read = column::read_row_tids(view, numbers, count, tids);
    pfree(numbers);
    rows->tids = tids;
    rows->count = count;
    rows->next = 0;
    return is_read;
}

static void prefetch(const LateRows &rows, uint64 row) {
    if (row < rows.count)
        PrefetchBuffer(rows.heap, MAIN_FORKNUM, ItemPointerGetBlockNumber(&rows.tids[row]));
}

bool next_late_row(LateRows *rows, CustomScanState *node, const uint64 **record) {
    if (rows->next == rows->count)
        return false;
    const auto distance = static_cast<uint64>(rows->distance);
    for (uint64 i = 1; rows->next == 0 && i < distance; i++)
        prefetch(*rows, i);
    if (distance > 0)
        prefetch(*rows, rows->next + distance);
    *record = rows->records + rows->next * rows->record_words;
    const ItemPointerData &tid = rows->tids[rows->next++];
    TupleTableSlot *row = table::fetch_visible(&rows->probe, tid);
    // That it is visible was known before the engine counted it.
    if (row == nullptr)
        storage::report_corruption(rows->index, storage::kMetaBlock,
                                   "A row's entry leads to no row of the table.");
    node->ss.ps.ps_ExprContext->ecxt_scantuple = row;
    ExecProject(rows->projection);
    return true;
}

}  // namespace pg_gpu::plan::query
