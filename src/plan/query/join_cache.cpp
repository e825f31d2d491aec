#include "plan/query/join_cache.h"

#include "access_methods.h"
#include "column/column.h"
#include "column/scan/whole_table.h"
#include "compat.h"
#include "method.h"
#include "plan/query/aggregate_maps.h"
#include "plan/query/aggregate_scan.h"

namespace pg_gpu::plan {

// ---- scans of a table -------------------------------------------------------------------------------------

namespace {

// A scan of one table: conditions that its rows fulfil, and what they are made of.
struct TableScan {
    Relation table;
    List *expressions;
};

}  // namespace

// False: it is another node.
static bool read_scan(PlanState *plan, TableScan *scan) {
    List *by = NIL;
    switch (nodeTag(plan)) {
        case T_SeqScanState:
            break;
        case T_BitmapHeapScanState:
            by = castNode(BitmapHeapScan, plan->plan)->bitmapqualorig;
            break;
        case T_IndexScanState: {
            // A partial index's predicate may stand for a condition.
            const auto *index = castNode(IndexScan, plan->plan);
            by = list_make2(index->indexqualorig, makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
                                                            ObjectIdGetDatum(index->indexid), false, true));
            break;
        }
        default:
            return false;
    }
    scan->table = reinterpret_cast<ScanState *>(plan)->ss_currentRelation;
    scan->expressions = list_make3(by, plan->plan->qual, plan->plan->targetlist);
    return scan->table != nullptr;
}

// Something that has another value each time, or that is told by another plan.
static bool depends_on_more(Node *node, void *context) {
    return node != nullptr && (IsA(node, Param) || IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
                               walk_expression(node, depends_on_more, context));
}

// Has the index an entry for each of the table's rows, and are its columns all that the expressions are over?
static bool reports_changes(Relation index, Index table, const List *expressions) {
    if (find_access_method(index) != &gpu_column || !index->rd_index->indisvalid ||
        index->rd_index->indcheckxmin || RelationGetIndexPredicate(index) != NIL)
        return false;
    Bitmapset *attributes = nullptr;
    pull_varattnos(const_cast<Node *>(reinterpret_cast<const Node *>(expressions)), table, &attributes);
    for (int i = 0; i < index->rd_index->indnkeyatts; i++) {
        const AttrNumber column = index->rd_index->indkey.values[i];
        // An expression of the index has the number that stands for a whole row among attributes.
        if (column != InvalidAttrNumber)
            attributes = bms_del_member(attributes, column - FirstLowInvalidHeapAttributeNumber);
    }
    const bool is_covered = bms_is_empty(attributes);
    bms_free(attributes);
    return is_covered;
}

// nullptr: there is none.
static Relation open_telling_index(const TableScan &scan, Index table) {
    Relation telling = nullptr;
    List *indexes = RelationGetIndexList(scan.table);
    ListCell *cell;
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        if (reports_changes(index, table, scan.expressions)) {
            telling = index;
            break;
        }
        index_close(index, AccessShareLock);
    }
    list_free(indexes);
    return telling;
}

static CacheableResult describe_scan(PlanState *plan, Relation *opened) {
    TableScan scan;
    if (plan->chgParam != nullptr || !read_scan(plan, &scan))
        return {};
    auto *expressions = reinterpret_cast<Node *>(scan.expressions);
    if (depends_on_more(expressions, nullptr) || !gives_cacheable_results(expressions))
        return {};
    const Snapshot snapshot = plan->state->es_snapshot;
    *opened = open_telling_index(scan, reinterpret_cast<Scan *>(plan->plan)->scanrelid);
    if (*opened == nullptr)
        return {};
    PredicateLockRelation(scan.table, snapshot);
    Const *table = column::describe_whole_table(scan.table, *opened, snapshot);
    if (table == nullptr)
        return {};
    return {*opened, reinterpret_cast<Node *>(list_make2(expressions, table))};
}

// ---- rows -------------------------------------------------------------------------------------------------

RowCacheEntry begin_cached(const JoinedRows &rows, PlanState *plan) {
    RowCacheEntry place = {{}, column::count_changes(), nullptr};
    const JoinedTable &table = rows.table;
    if (!IsA(table.inner, Var))
        return place;
    CacheableResult result = describe_result(plan);
    if (result.key == nullptr)
        result = describe_scan(plan, &place.opened);
    if (result.key == nullptr)
        return place;
    // The table's columns may be others of a joined row, and by what rows are hashed depends on the other
    // side, too.
    List *use =
        list_make4_int(static_cast<int>(table.type), castNode(Var, table.inner)->varattno - table.first,
                       table.columns, rows.is_by_number ? 1 : 0);
    place.key = {result.index, 0, 0, column::kCachedRows,
                 reinterpret_cast<Node *>(list_make3(const_cast<Node *>(result.key), use,
                                                     list_make2_oid(table.equality, table.collation)))};
    return place;
}

void end_cached(const RowCacheEntry &place) {
    if (place.opened != nullptr)
        index_close(place.opened, NoLock);
}

bool find_cached(const RowCacheEntry &place, PlanState *plan, JoinedRows *rows) {
    if (place.key.expression == nullptr)
        return false;
    auto *found = static_cast<JoinedRows *>(const_cast<void *>(column::use_results(place.key)));
    if (found == nullptr)
        return false;
    rows->cached = found;
    rows->count = found->count;
    rows->values = found->values;
    rows->nulls = found->nulls;
    rows->keys = found->keys;
    rows->key_stride = found->key_stride;
    rows->hashes = found->hashes;
    rows->slots = found->slots;
    rows->mask = found->mask;
    rows->least_number = found->least_number;
    rows->numbers = found->numbers;
    rows->codes = found->codes;
    rows->identity = found->identity;
    pgstat_count_index_scan(place.key.index);
    if (plan->instrument != nullptr) {
        InstrStartNode(plan->instrument);
        InstrStopNode(plan->instrument, rows->count);
    }
    return true;
}

void cache_rows(const RowCacheEntry &place, JoinedRows *rows) {
    static uint64 identities = 0;
    const auto columns = static_cast<size_t>(rows->table.columns);
    auto *copy = allocate<JoinedRows>(1);
    *copy = *rows;
    copy->identity = ++identities;
    copy->context = CurrentMemoryContext;
    copy->by_number = nullptr;
    copy->codes = allocate<ColumnCodes>(columns + 1);
    memcpy(copy->codes, rows->codes, columns * sizeof(ColumnCodes));
    if (!column::share_results(place.key, CurrentMemoryContext, copy, place.changes))
        return;
    rows->identity = copy->identity;
    rows->cached = copy;
}

void cache_index(const JoinedRows &rows) {
    const size_t bytes = rows.numbers * sizeof(uint32);
    if (!column::may_grow(rows.cached, bytes))
        return;
    auto *copy = static_cast<uint32 *>(MemoryContextAllocHuge(rows.cached->context, bytes));
    memcpy(copy, rows.by_number, bytes);
    rows.cached->by_number = copy;
    column::note_growth(rows.cached);
}

}  // namespace pg_gpu::plan
