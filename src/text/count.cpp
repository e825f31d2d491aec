// Counting visible rows that match: by the index alone, but for entries on blocks that not everyone sees, and
// for queries that ask for more than the index knows.
#include <algorithm>

#include "table/table.h"
#include "text/configuration.h"
#include "text/query.h"
#include "text/text.h"

namespace pg_gpu::text {

namespace {

// Entries of which the rows decide.
struct Entries {
    ItemPointerData *tids;
    uint64 count;
    uint64 room;
};

// A row, as the scan's keys see it.
struct RowTest {
    IndexScanDesc scan;
    IndexInfo *info;
    EState *estate;
    TupleTableSlot *slot;
};

}  // namespace

static void add_to_list(void *context, const ItemPointerData *tids, uint32 count) {
    auto *entries = static_cast<Entries *>(context);
    if (entries->count + count > entries->room) {
        entries->room = (entries->count + count) * 2;
        entries->tids = reallocate(entries->tids, entries->room);
    }
    std::copy_n(tids, count, entries->tids + entries->count);
    entries->count += count;
}

static bool passes(const RowTest &test) {
    ExprContext *context = GetPerTupleExprContext(test.estate);
    ResetExprContext(context);
    context->ecxt_scantuple = test.slot;
    MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
    FormIndexDatum(test.info, test.slot, test.estate, values, nulls);
    bool passed = true;
    for (int i = 0; i < test.scan->numberOfKeys && passed; i++) {
        ScanKeyData *key = &test.scan->keyData[i];
        const int column = key->sk_attno - 1;
        passed = !nulls[column] && DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
                                                                  values[column], key->sk_argument));
    }
    MemoryContextSwitchTo(caller);
    return passed;
}

// Counts by looking at the visible row of each entry.
static int64 count_rows(IndexScanDesc scan, uint64 *heap_fetches) {
    Entries entries = {allocate<ItemPointerData>(1024), 0, 1024};
    visit_matches_of(
        scan, {&entries, [](void *context) { static_cast<Entries *>(context)->count = 0; }, add_to_list});
    RowTest test = {scan, BuildIndexInfo(scan->indexRelation), CreateExecutorState(),
                    table_slot_create(scan->heapRelation, nullptr)};
    IndexFetchTableData *fetch = table_index_fetch_begin(scan->heapRelation);
    int64 count = 0;
    for (uint64 i = 0; i < entries.count; i++) {
        CHECK_FOR_INTERRUPTS();
        bool call_again = false;
        bool all_dead = false;
        if (table_index_fetch_tuple(fetch, &entries.tids[i], scan->xs_snapshot, test.slot, &call_again,
                                    &all_dead))
            count += passes(test) ? 1 : 0;
        ExecClearTuple(test.slot);
    }
    *heap_fetches = entries.count;
    table_index_fetch_end(fetch);
    ExecDropSingleTupleTableSlot(test.slot);
    FreeExecutorState(test.estate);
    pfree(entries.tids);
    return count;
}

namespace {

struct Collected {
    IndexScanDesc scan;
    bool exact;
};

}  // namespace

static void collect(void *context, table::VisibleCount *count) {
    auto *collected = static_cast<Collected *>(context);
    collected->exact = visit_matches_of(
        collected->scan,
        {count, [](void *counted) { reset_count(static_cast<table::VisibleCount *>(counted)); },
         [](void *counted, const ItemPointerData *tids, uint32 found) {
             add_entries(static_cast<table::VisibleCount *>(counted), tids, found);
         }});
}

int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches) {
    IndexScanDesc scan = begin_scan(index, key_count, 0);
    scan->heapRelation = heap;
    scan->xs_snapshot = snapshot;
    rescan(scan, const_cast<ScanKey>(keys), key_count, nullptr, 0);
    Collected collected = {scan, !needs_rows_of(scan)};
    int64 count = 0;
    if (collected.exact)
        count = table::count_by_tid(heap, index, run_kind(), snapshot, collect, &collected, heap_fetches);
    // Positions of a few documents may not be known.
    if (!collected.exact)
        count = count_rows(scan, heap_fetches);
    storage::check_snapshot_of_view(index, run_kind(), snapshot);
    end_scan(scan);
    IndexScanEnd(scan);
    return count;
}

// Does what is asked for, if it is a constant, need rows? What was typed is the second argument of a call; of
// a call there may be nothing known but that a quotation mark begins a phrase.
static bool requests_rows(Node *requested) {
    if (IsA(requested, FuncExpr) && list_length(castNode(FuncExpr, requested)->args) == 2)
        requested = static_cast<Node *>(lsecond(castNode(FuncExpr, requested)->args));
    if (!IsA(requested, Const) || castNode(Const, requested)->constisnull)
        return false;
    const auto *value = castNode(Const, requested);
    if (value->consttype == TSQUERYOID) {
        const Query query = parse_query(DatumGetTSQueryCopy(value->constvalue));
        return query.root != nullptr && needs_positions(query.root);
    }
    if (value->consttype != TEXTOID)
        return false;
    const varlena *typed = PG_DETOAST_DATUM_PACKED(value->constvalue);
    return memchr(VARDATA_ANY(typed), '"', VARSIZE_ANY_EXHDR(typed)) != nullptr;
}

static bool has_positions(const IndexOptInfo *info) {
    if (info->hypothetical)
        return false;
    Relation index = index_open(info->indexoid, NoLock);
    const bool positions = keeps_positions(index);
    index_close(index, NoLock);
    return positions;
}

bool fetches_all(const IndexPath *path) {
    if (has_positions(path->indexinfo))
        return false;
    ListCell *cell;
    foreach (cell, path->indexclauses) {
        Node *clause = reinterpret_cast<Node *>(lfirst_node(IndexClause, cell)->rinfo->clause);
        if (IsA(clause, OpExpr) &&
            requests_rows(static_cast<Node *>(lsecond(castNode(OpExpr, clause)->args))))
            return true;
    }
    return false;
}

}  // namespace pg_gpu::text
