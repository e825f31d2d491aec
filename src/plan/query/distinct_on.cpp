#include "plan/query/distinct_on.h"

#include "compat.h"
#include "plan/query/given_rows.h"
#include "plan/query/node.h"
#include "plan/query/path.h"
#include "plan/query/windowed_rows.h"
#include "plan/query/windows.h"

namespace pg_gpu::plan::query {

// ---- the window -------------------------------------------------------------------------------------------

// ORDER BY's clauses behind those that rows are distinct by.
static List *clauses_behind(const Query *query) {
    List *behind = NIL;
    ListCell *cell;
    foreach (cell, query->sortClause) {
        const auto *clause = lfirst_node(SortGroupClause, cell);
        if (get_sortgroupref_clause_noerr(clause->tleSortGroupRef, query->distinctClause) == nullptr)
            behind = lappend(behind, const_cast<SortGroupClause *>(clause));
    }
    return behind;
}

static WindowFunc *make_number() {
    auto *number = makeNode(WindowFunc);
    number->winfnoid = F_ROW_NUMBER;
    number->wintype = INT8OID;
    number->winref = 1;
    number->location = -1;
    return number;
}

static Const *make_one() {
    return makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(1), false, FLOAT8PASSBYVAL);
}

static bool add_window(PlannerInfo *root, GivenRows *given, Refusal *refusal) {
    GivenRows sorted = {};
    if (!add_order(root, root->parse->distinctClause, &sorted, refusal))
        return false;
    Window window = {};
    window.frame_first = engine::partition_first;
    window.frame_last = engine::partition_last;
    window.functions = 1;
    window.partition_keys = count_items(sorted.order);
    if (!add_order(root, clauses_behind(root->parse), &sorted, refusal) ||
        !add_columns(given->target->exprs, &sorted.row, refusal))
        return false;
    window.order = sorted.order;
    given->row = sorted.row;
    given->windows = add_window(NIL, window);
    given->functions = list_make1(make_number());
    return window.partition_keys > 0;
}

// ---- paths ------------------------------------------------------------------------------------------------

// PostgreSQL's own: sorted rows of which the first of each group stay, whose number is 1.
static Path *make_replaced(const TableAggregate &table, GivenRows *given) {
    PlannerInfo *root = table.root;
    const Query *query = root->parse;
    List *clauses = list_concat_copy(query->distinctClause, clauses_behind(query));
    given->pathkeys = make_pathkeys_for_sortclauses(root, clauses, root->processed_tlist);
    Path *sorted = make_replaced_rows(table);
    given->pathkeys = NIL;
    const List *distinct = make_pathkeys_for_sortclauses(root, query->distinctClause, root->processed_tlist);
    auto *first = reinterpret_cast<Path *>(
        create_upper_unique_path(root, table.output, sorted, list_length(distinct), table.output->rows));
    PathTarget *target = copy_pathtarget(sorted->pathtarget);
    add_column_to_pathtarget(target, reinterpret_cast<Expr *>(make_one()), 0);
    return reinterpret_cast<Path *>(
        create_projection_path(root, table.output, first, set_pathtarget_cost_width(root, target)));
}

const char *consider_distinct_on(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output) {
    const char *refused = refuse_windows(root, input);
    if (refused != nullptr)
        return refused;
    GivenRows given = {};
    given.target = root->upper_targets[UPPERREL_DISTINCT];
    given.count = kAllSorted;
    TableAggregate table = table_of_rows(root, input, output, given);
    Refusal refusal = {};
    // PostgreSQL computes it of all rows, or of the first ones, as it plans the statement.
    if (contain_volatile_functions(reinterpret_cast<Node *>(given.target->exprs)))
        refuse(&refusal, "a column is volatile");
    if (refusal.reason != nullptr || !add_window(root, &given, &refusal)) {
        decline_rows(table, refusal);
        return nullptr;
    }
    const Oid equals = lookup_type_cache(INT8OID, TYPECACHE_EQ_OPR)->eq_opr;
    table.having =
        list_make1(make_opclause(equals, BOOLOID, false, static_cast<Expr *>(linitial(given.functions)),
                                 reinterpret_cast<Expr *>(make_one()), InvalidOid, InvalidOid));
    given.expected = linitial_node(Path, output->pathlist)->rows;
    if (!begin_given(&table))
        return nullptr;
    given.replaced = make_replaced(table, &given);
    consider_query(table);
    return nullptr;
}

}  // namespace pg_gpu::plan::query
