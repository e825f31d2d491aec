// Planning lookup joins and lookup scans: what they answer, and what that costs.
#include "plan/lookup/path.h"

#include <cmath>

#include "functions/lookup.h"
#include "plan/advise/explain_why.h"
#include "settings.h"

namespace pg_gpu::plan {

static set_join_pathlist_hook_type previous_join_hook = nullptr;
static set_rel_pathlist_hook_type previous_relation_hook = nullptr;

// The part of a function scan's cost that is left when rows are not written to a tuple store and read from
// there.
static constexpr double kUnstoredRowShare = 0.5;

// The place of `tid` among gpu.lookup's columns.
static constexpr AttrNumber kTidColumn = 2;

// Returns the call of gpu.lookup that makes up a relation; nullptr when something else does.
static const FuncExpr *lookup_call(PlannerInfo *root, const RelOptInfo *relation) {
    if (relation->reloptkind != RELOPT_BASEREL || relation->rtekind != RTE_FUNCTION)
        return nullptr;
    const RangeTblEntry *entry = planner_rt_fetch(relation->relid, root);
    if (list_length(entry->functions) != 1 || entry->funcordinality)
        return nullptr;
    const Node *expression = linitial_node(RangeTblFunction, entry->functions)->funcexpr;
    if (!IsA(expression, FuncExpr))
        return nullptr;
    const auto *call = reinterpret_cast<const FuncExpr *>(expression);
    if (list_length(call->args) != 2 || exprType(static_cast<Node *>(linitial(call->args))) != REGCLASSOID)
        return nullptr;
    FmgrInfo function;
    fmgr_info(call->funcid, &function);
    return function.fn_addr == pg_gpu_lookup ? call : nullptr;
}

// Returns the index of a call whose index is a constant; InvalidOid otherwise.
static Oid index_of_call(const FuncExpr *call) {
    const auto *argument = static_cast<const Node *>(linitial(call->args));
    if (!IsA(argument, Const) || reinterpret_cast<const Const *>(argument)->constisnull)
        return InvalidOid;
    const Oid index = DatumGetObjectId(reinterpret_cast<const Const *>(argument)->constvalue);
    return get_rel_relkind(index) == RELKIND_INDEX ? index : InvalidOid;
}

static bool is_column(const void *node, Index relation, AttrNumber column) {
    if (!IsA(node, Var))
        return false;
    const auto *var = static_cast<const Var *>(node);
    return var->varno == static_cast<int>(relation) && var->varattno == column && var->varlevelsup == 0;
}

// Is the condition table.ctid = lookup.tid, either way round?
static bool joins_by_tid(const RestrictInfo *restriction, Index table, Index lookup) {
    if (!IsA(restriction->clause, OpExpr))
        return false;
    const auto *clause = reinterpret_cast<const OpExpr *>(restriction->clause);
    if (clause->opno != TIDEqualOperator)
        return false;
    const void *left = linitial(clause->args);
    const void *right = lsecond(clause->args);
    return (is_column(left, table, SelfItemPointerAttributeNumber) && is_column(right, lookup, kTidColumn)) ||
           (is_column(right, table, SelfItemPointerAttributeNumber) && is_column(left, lookup, kTidColumn));
}

// May all these be checked row by row, in any order?
static bool are_plain(List *restrictions) {
    ListCell *cell;
    foreach (cell, restrictions) {
        const auto *restriction = lfirst_node(RestrictInfo, cell);
        if (restriction->pseudoconstant || restriction->security_level > 0)
            return false;
    }
    return true;
}

// Columns must be plain ones: no whole rows, nothing computed below an outer join.
static bool are_plain_columns(List *columns) {
    ListCell *cell;
    foreach (cell, columns)
        if (!IsA(lfirst(cell), Var) || lfirst_node(Var, cell)->varattno == 0)
            return false;
    return true;
}

// Conditions must have plain columns too, since some columns may be asked for there alone.
static bool have_plain_columns(List *restrictions) {
    ListCell *cell;
    foreach (cell, restrictions)
        if (!are_plain_columns(pull_var_clause(
                reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause), PVC_RECURSE_PLACEHOLDERS)))
            return false;
    return true;
}

static bool is_plain_table(PlannerInfo *root, const RelOptInfo *relation) {
    if (relation->reloptkind != RELOPT_BASEREL || relation->rtekind != RTE_RELATION)
        return false;
    const RangeTblEntry *entry = planner_rt_fetch(relation->relid, root);
    if (entry->inh || entry->tablesample != nullptr || entry->relkind == RELKIND_FOREIGN_TABLE)
        return false;
    Relation table = table_open(entry->relid, NoLock);
    const bool is_heap = table::is_heap_table(table);
    table_close(table, NoLock);
    return is_heap;
}

// Sets the cost: that of the lookup, and that of reading the rows as a bitmap heap scan would, which is in
// heap order and each page once.
static void cost_lookup_join(PlannerInfo *root, const RelOptInfo *lookup, const RelOptInfo *table,
                             ::Path *path) {
    double spc_random;
    double spc_sequential;
    get_tablespace_page_costs(table->reltablespace, &spc_random, &spc_sequential);
    const double table_pages = Max(static_cast<double>(table->pages), 1.0);
    const double pages = Min(index_pages_fetched(lookup->rows, table->pages, 0, root), table_pages);
    const double page_cost = spc_random - (spc_random - spc_sequential) * sqrt(pages / table_pages);
    path->startup_cost = lookup->cheapest_total_path->startup_cost +
                         lookup->rows * log2(lookup->rows + 1) * cpu_operator_cost +
                         table->baserestrictcost.startup;
    path->total_cost = path->startup_cost + pages * page_cost +
                       lookup->rows * (cpu_tuple_cost + lookup->baserestrictcost.per_tuple +
                                       table->baserestrictcost.per_tuple);
}

// A query that locks or changes rows may have to fetch them again in another version; others only read.
static bool only_reads(const PlannerInfo *root) {
    return root->parse->commandType == CMD_SELECT && root->rowMarks == NIL;
}

// Makes a path that gives the relation's rows. The caller sets its costs.
static CustomPath *make_lookup_path(RelOptInfo *relation, const FuncExpr *call, Oid index,
                                    List *restrictions) {
    auto *path = makeNode(CustomPath);
    path->path.pathtype = T_CustomScan;
    path->path.parent = relation;
    path->path.pathtarget = relation->reltarget;
    path->path.parallel_safe = relation->consider_parallel;
    path->path.rows = relation->rows;
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    path->custom_private = list_make3(list_make2_oid(index, call->funcid), lsecond(call->args), restrictions);
    path->methods = lookup_path_methods();
    return path;
}

// ---- joins ------------------------------------------------------------------------------------------------

// Returns nullptr, or why a call and a relation aren't joined by the node, whatever the conditions are.
static const char *refuse_join(PlannerInfo *root, const RelOptInfo *join, const RelOptInfo *outer,
                               const RelOptInfo *inner, JoinType type, Oid index) {
    if (!lookup_join_enabled())
        return "pg_gpu.enable_lookup_join is off";
    if (type != JOIN_INNER)
        return "it isn't an inner join";
    if (!is_plain_table(root, inner))
        return "gpu.lookup isn't joined with a plain table of PostgreSQL's own access method";
    if (!only_reads(root))
        return "rows are locked or changed";
    if (outer->lateral_relids != nullptr || join->lateral_relids != nullptr)
        return "keys or columns come from another table's rows";
    if (!are_plain_columns(join->reltarget->exprs))
        return "more than columns is asked for, as whole rows are";
    if (!OidIsValid(index))
        return "the index isn't a constant";
    return IndexGetRelation(index, true) == planner_rt_fetch(inner->relid, root)->relid
               ? nullptr
               : "gpu.lookup is joined with another table than its index's";
}

// Finds the conditions of the join, but for the equality of TIDs, for *restrictions. Returns nullptr, or why
// the node can't check them.
static const char *refuse_conditions(const RelOptInfo *outer, const RelOptInfo *inner, List *conditions,
                                     List **restrictions) {
    bool by_tid = false;
    ListCell *cell;
    foreach (cell, conditions) {
        if (joins_by_tid(lfirst_node(RestrictInfo, cell), inner->relid, outer->relid))
            by_tid = true;
        else
            *restrictions = lappend(*restrictions, lfirst(cell));
    }
    *restrictions = list_concat(*restrictions, outer->baserestrictinfo);
    *restrictions = list_concat(*restrictions, inner->baserestrictinfo);
    if (!by_tid)
        return "the join isn't by ctid = tid";
    if (!are_plain(conditions) || !are_plain(*restrictions))
        return "a condition isn't about rows, or must not see rows that a security barrier hides";
    return have_plain_columns(*restrictions) ? nullptr : "a condition is over a whole row";
}

static void consider_lookup_join(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer, RelOptInfo *inner,
                                 JoinType type, JoinPathExtraData *extra) {
    if (previous_join_hook != nullptr)
        previous_join_hook(root, join, outer, inner, type, extra);
    // The planner asks for both orders of the two relations; one of them is enough.
    const FuncExpr *call = lookup_call(root, outer);
    if (call == nullptr)
        return;
    note_other_paths(root, join);
    const Oid index = index_of_call(call);
    const Candidate candidate = {lookup_path_methods()->CustomName, root, join, join, index};
    List *restrictions = NIL;
    const char *refused = refuse_join(root, join, outer, inner, type, index);
    if (refused == nullptr)
        refused = refuse_conditions(outer, inner, extra->restrictlist, &restrictions);
    if (refused != nullptr) {
        note_declined(candidate, refused);
        return;
    }
    CustomPath *path = make_lookup_path(join, call, index, restrictions);
    cost_lookup_join(root, outer, inner, &path->path);
    note_offered(candidate, path);
    add_path(join, &path->path);
}

// ---- calls that aren't joined -----------------------------------------------------------------------------

// Returns nullptr, or why the function is left to be scanned.
static const char *refuse_scan(const PlannerInfo *root, const RelOptInfo *relation, Oid index) {
    if (!lookup_join_enabled())
        return "pg_gpu.enable_lookup_join is off";
    if (!only_reads(root))
        return "rows are locked or changed";
    if (relation->lateral_relids != nullptr)
        return "keys come from another table's rows";
    if (!are_plain(relation->baserestrictinfo))
        return "a condition isn't about rows, or must not see rows that a security barrier hides";
    if (!are_plain_columns(relation->reltarget->exprs) || !have_plain_columns(relation->baserestrictinfo))
        return "more than columns is asked for, as whole rows are";
    return OidIsValid(index) ? nullptr : "the index isn't a constant";
}

// Adds a path for a call that is not joined: it costs what the function scan costs, but for the rows, which
// are returned as they are found instead of being stored.
static void consider_lookup_scan(PlannerInfo *root, RelOptInfo *relation, Index range_table_index,
                                 RangeTblEntry *entry) {
    if (previous_relation_hook != nullptr)
        previous_relation_hook(root, relation, range_table_index, entry);
    const FuncExpr *call = lookup_call(root, relation);
    if (call == nullptr || relation->pathlist == NIL)
        return;
    note_other_paths(root, relation);
    const Oid index = index_of_call(call);
    const Candidate candidate = {lookup_scan_name(), root, relation, relation, index};
    if (const char *refused = refuse_scan(root, relation, index)) {
        note_declined(candidate, refused);
        return;
    }
    const auto *function_scan = linitial_node(Path, relation->pathlist);
    CustomPath *path = make_lookup_path(relation, call, index, list_copy(relation->baserestrictinfo));
    path->path.startup_cost = function_scan->startup_cost;
    path->path.total_cost = function_scan->startup_cost +
                            (function_scan->total_cost - function_scan->startup_cost) * kUnstoredRowShare;
    note_offered(candidate, path);
    add_path(relation, &path->path);
}

void install_lookup_planner() {
    previous_join_hook = set_join_pathlist_hook;
    set_join_pathlist_hook = consider_lookup_join;
    previous_relation_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = consider_lookup_scan;
}

}  // namespace pg_gpu::plan
