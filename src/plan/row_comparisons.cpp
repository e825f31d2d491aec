// PostgreSQL makes index conditions of row comparisons for btree alone. Here gpu_kary's indexes get paths
// with one more condition, `column #< ROW(...)`, for the column with which the row begins. The operators
// belong to the operator families (kary/strategies.h) and are not for statements: the scan takes such a
// condition as a bound of all columns that the row and the index have in common, and the comparison itself
// stays a filter.
#include "plan/row_comparisons.h"

#include "access_methods.h"
#include "compat.h"
#include "kary/gpu_kary.h"

namespace pg_gpu::plan {

static set_rel_pathlist_hook_type previous_hook = nullptr;

// ---- conditions -------------------------------------------------------------------------------------------

namespace {

// A row comparison with the columns on its left.
struct Comparison {
    StrategyNumber strategy;  // btree's
    List *columns;
    List *operators;
    List *constants;
};

}  // namespace

static Comparison comparison_of(const RowCompareExpr *clause) {
    return {row_comparison_strategy(clause), clause->largs, clause->opnos, clause->rargs};
}

static Comparison turned_round(const Comparison &comparison) {
    List *operators = NIL;
    ListCell *cell;
    foreach (cell, comparison.operators)
        operators = lappend_oid(operators, get_commutator(lfirst_oid(cell)));
    return {static_cast<StrategyNumber>(BTMaxStrategyNumber + 1 - comparison.strategy), comparison.constants,
            operators, comparison.columns};
}

// Does the index's order on a column decide the comparison's field?
static bool is_ordered_alike(const IndexOptInfo *index, int column, const Comparison &comparison, int field) {
    const Oid operator_oid = list_nth_oid(comparison.operators, field);
    if (!match_index_to_operand(static_cast<Node *>(list_nth(comparison.columns, field)), column,
                                const_cast<IndexOptInfo *>(index)) ||
        get_op_opfamily_strategy(operator_oid, index->opfamily[column]) != comparison.strategy)
        return false;
    Oid left;
    Oid right;
    op_input_types(operator_oid, &left, &right);
    return !keys::is_instant_of_time_zone(index->opcintype[column], right);
}

// Returns how many fields, from the first on, are the index's columns from one on, all of them ascending or
// all descending.
static int count_fields(const IndexOptInfo *index, int column, const Comparison &comparison) {
    int count = 0;
    while (count < list_length(comparison.columns) && column + count < index->nkeycolumns &&
           index->reverse_sort[column + count] == index->reverse_sort[column] &&
           is_ordered_alike(index, column + count, comparison, count))
        count++;
    return count;
}

static Expr *make_condition(const IndexOptInfo *index, int column, const Comparison &comparison, int count) {
    // Where fields are left out, rows with the same first fields can meet the comparison.
    const StrategyNumber strategy = count == list_length(comparison.columns) ? comparison.strategy
                                    : comparison.strategy <= BTLessEqualStrategyNumber
                                        ? BTLessEqualStrategyNumber
                                        : BTGreaterEqualStrategyNumber;
    const Oid operator_oid = get_opfamily_member(index->opfamily[column], ANYELEMENTOID, RECORDOID,
                                                 static_cast<int16>(kary::row_strategy(strategy)));
    // A statement that doesn't name the operator must not fail for want of the right to it.
    if (!OidIsValid(operator_oid) ||
        function_execute_privilege(get_opcode(operator_oid), GetUserId()) != ACLCHECK_OK)
        return nullptr;
    auto *row = makeNode(RowExpr);
    row->args = list_truncate(static_cast<List *>(copyObjectImpl(comparison.constants)), count);
    row->row_typeid = RECORDOID;
    row->row_format = COERCE_IMPLICIT_CAST;
    row->location = -1;
    Expr *condition = make_opclause(operator_oid, BOOLOID, false,
                                    static_cast<Expr *>(copyObjectImpl(linitial(comparison.columns))),
                                    reinterpret_cast<Expr *>(row), InvalidOid, InvalidOid);
    set_opfuncid(castNode(OpExpr, condition));
    return condition;
}

static Expr *condition_for(const IndexOptInfo *index, const Comparison &comparison) {
    auto *constants = reinterpret_cast<Node *>(comparison.constants);
    if (contain_var_clause(constants) || contain_volatile_functions(constants))
        return nullptr;
    for (int column = 0; column < index->nkeycolumns; column++) {
        const int count = count_fields(index, column, comparison);
        if (count > 0)
            return make_condition(index, column, comparison, count);
    }
    return nullptr;
}

static RestrictInfo *bound_by(PlannerInfo *root, const IndexOptInfo *index, RestrictInfo *restriction) {
    if (!IsA(restriction->clause, RowCompareExpr))
        return nullptr;
    const Comparison comparison =
        comparison_of(reinterpret_cast<const RowCompareExpr *>(restriction->clause));
    Expr *condition = condition_for(index, comparison);
    if (condition == nullptr)
        condition = condition_for(index, turned_round(comparison));
    if (condition == nullptr)
        return nullptr;
    RestrictInfo *bound = make_simple_restrictinfo(root, condition);
    // It tells no more than the comparison does, and lets as many rows through.
    bound->security_level = restriction->security_level;
    bound->leakproof = restriction->leakproof;
    bound->norm_selec = bound->outer_selec =
        clause_selectivity(root, reinterpret_cast<Node *>(restriction), static_cast<int>(index->rel->relid),
                           JOIN_INNER, nullptr);
    return bound;
}

static List *bounds_of(PlannerInfo *root, const IndexOptInfo *index) {
    List *bounds = NIL;
    ListCell *cell;
    foreach (cell, index->indrestrictinfo) {
        RestrictInfo *bound = bound_by(root, index, lfirst_node(RestrictInfo, cell));
        if (bound != nullptr)
            bounds = lappend(bounds, bound);
    }
    return bounds;
}

// ---- paths ------------------------------------------------------------------------------------------------

// Makes the path one of the table and the index as the planner knows them. Returns whether it uses the
// bounds.
static bool adopt(Path *path, RelOptInfo *table, IndexOptInfo *index, const List *bounds) {
    bool uses = false;
    ListCell *cell;
    path->parent = table;
    switch (nodeTag(path)) {
        case T_IndexPath: {
            auto *scan = reinterpret_cast<IndexPath *>(path);
            scan->indexinfo = index;
            foreach (cell, scan->indexclauses)
                uses = uses || list_member_ptr(bounds, lfirst_node(IndexClause, cell)->rinfo);
            return uses;
        }
        case T_BitmapHeapPath:
            return adopt(reinterpret_cast<BitmapHeapPath *>(path)->bitmapqual, table, index, bounds);
        case T_BitmapAndPath:
            foreach (cell, reinterpret_cast<BitmapAndPath *>(path)->bitmapquals)
                uses = adopt(static_cast<Path *>(lfirst(cell)), table, index, bounds) || uses;
            return uses;
        case T_BitmapOrPath:
            foreach (cell, reinterpret_cast<BitmapOrPath *>(path)->bitmapquals)
                uses = adopt(static_cast<Path *>(lfirst(cell)), table, index, bounds) || uses;
            return uses;
        default:
            return false;
    }
}

// Does the path do all that the other does, in the same order, by one more condition?
static bool is_bounded_more(const Path *path, const Path *other) {
    if (!IsA(path, IndexPath) || !IsA(other, IndexPath) || path->pathtype != other->pathtype ||
        path->param_info != nullptr || other->param_info != nullptr ||
        compare_pathkeys(path->pathkeys, other->pathkeys) != PATHKEYS_EQUAL)
        return false;
    const auto *scan = reinterpret_cast<const IndexPath *>(path);
    const auto *other_scan = reinterpret_cast<const IndexPath *>(other);
    List *clauses = NIL;
    ListCell *cell;
    foreach (cell, scan->indexclauses)
        clauses = lappend(clauses, lfirst_node(IndexClause, cell)->rinfo);
    bool has_all = scan->indexinfo == other_scan->indexinfo && scan->indexscandir == other_scan->indexscandir;
    foreach (cell, other_scan->indexclauses)
        has_all = has_all && list_member_ptr(clauses, lfirst_node(IndexClause, cell)->rinfo);
    return has_all;
}

// Where the bound is expected to leave almost all rows, costs alone would leave it to chance which path is
// taken.
static void add_bounded_path(RelOptInfo *table, Path *path) {
    ListCell *cell;
    foreach (cell, table->pathlist)
        if (is_bounded_more(path, static_cast<Path *>(lfirst(cell))))
            table->pathlist = foreach_delete_current(table->pathlist, cell);
    add_path(table, path);
}

// Adds what the planner makes of the index and the bounds when the table has no other index.
static void add_bounded_paths(PlannerInfo *root, RelOptInfo *table, IndexOptInfo *index, List *bounds) {
    auto *bounded = makeNode(IndexOptInfo);
    *bounded = *index;
    bounded->indrestrictinfo = list_concat_copy(index->indrestrictinfo, bounds);
    auto *alone = makeNode(RelOptInfo);
    *alone = *table;
    alone->indexlist = list_make1(bounded);
    alone->pathlist = NIL;
    alone->partial_pathlist = NIL;
    alone->joininfo = NIL;
    alone->has_eclass_joins = false;
    create_index_paths(root, alone);
    ListCell *cell;
    foreach (cell, alone->pathlist) {
        auto *path = static_cast<Path *>(lfirst(cell));
        if (adopt(path, table, index, bounds))
            add_bounded_path(table, path);
    }
    foreach (cell, alone->partial_pathlist) {
        auto *path = static_cast<Path *>(lfirst(cell));
        if (adopt(path, table, index, bounds))
            add_partial_path(table, path);
    }
}

static void consider_row_comparisons(PlannerInfo *root, RelOptInfo *table, Index number,
                                     RangeTblEntry *entry) {
    if (previous_hook != nullptr)
        previous_hook(root, table, number, entry);
    if (entry->rtekind != RTE_RELATION || entry->inh || IS_DUMMY_REL(table))
        return;
    ListCell *cell;
    foreach (cell, table->indexlist) {
        auto *index = lfirst_node(IndexOptInfo, cell);
        // An index without an order has columns whose keys don't tell their values.
        if (find_access_method(index) != &gpu_kary || index->reverse_sort == nullptr ||
            (index->indpred != NIL && !index->predOK))
            continue;
        List *bounds = bounds_of(root, index);
        if (bounds != NIL)
            add_bounded_paths(root, table, index, bounds);
    }
}

void register_row_comparisons() {
    previous_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = consider_row_comparisons;
}

}  // namespace pg_gpu::plan
