// Planning a count scan: which queries it answers, and what it costs.
#include "plan/count/path.h"

#include "access_methods.h"
#include "compat.h"
#include "plan/bitmap_rows.h"
#include "plan/count/scan.h"
#include "plan/advise/explain_why.h"
#include "plan/advise/hypothetical.h"
#include "settings.h"

namespace pg_gpu::plan {

static create_upper_paths_hook_type previous_hook = nullptr;

// ---- which queries ----------------------------------------------------------------------------------------

// Is some condition that the index answers false for every NULL in this column?
static bool has_strict_clause(const IndexPath *path, AttrNumber column) {
    ListCell *cell;
    foreach (cell, path->indexclauses) {
        const auto *clause = lfirst_node(IndexClause, cell);
        if (path->indexinfo->indexkeys[clause->indexcol] != column)
            continue;
        // Index operators are strict; so is IS NOT NULL.
        const Expr *expression = clause->rinfo->clause;
        if (!IsA(expression, NullTest) ||
            reinterpret_cast<const NullTest *>(expression)->nulltesttype == IS_NOT_NULL)
            return true;
    }
    return false;
}

// Is the aggregate count(*), count(<constant>), or count(<column that cannot be NULL in the rows counted>)?
static bool counts_rows(const Aggref *aggregate, const IndexPath *path) {
    if (aggregate->aggfilter != nullptr || aggregate->aggdistinct != NIL || aggregate->aggorder != NIL ||
        aggregate->agglevelsup != 0)
        return false;
    if (aggregate->aggfnoid == F_COUNT_)
        return true;
    if (aggregate->aggfnoid != F_COUNT_ANY)
        return false;
    const auto *argument = reinterpret_cast<const Node *>(linitial_node(TargetEntry, aggregate->args)->expr);
    if (IsA(argument, Const))
        return !reinterpret_cast<const Const *>(argument)->constisnull;
    if (!IsA(argument, Var))
        return false;
    const auto *column = reinterpret_cast<const Var *>(argument);
    return column->varno == static_cast<int>(path->indexinfo->rel->relid) && column->varlevelsup == 0 &&
           has_strict_clause(path, column->varattno);
}

static bool all_count_rows(List *aggregates, const IndexPath *path) {
    ListCell *cell;
    foreach (cell, aggregates)
        if (!counts_rows(lfirst_node(Aggref, cell), path))
            return false;
    return true;
}

// Are they counts, of whatever?
static bool are_counts(List *aggregates) {
    ListCell *cell;
    foreach (cell, aggregates)
        if (!IsA(lfirst(cell), Aggref) || (lfirst_node(Aggref, cell)->aggfnoid != F_COUNT_ &&
                                           lfirst_node(Aggref, cell)->aggfnoid != F_COUNT_ANY))
            return false;
    return aggregates != NIL;
}

// Does the query aggregate all rows, without groups?
static bool has_one_group(const Query *query) {
    return query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL;
}

// Returns nullptr, or why counts aren't those of one plain table's rows.
static const char *refuse_statement(PlannerInfo *root, RelOptInfo *input) {
    if (!count_scan_enabled())
        return "pg_gpu.enable_count_scan is off";
    if (root->parse->hasTargetSRFs)
        return "a function returns a set";
    if (root->parse->havingQual != nullptr)
        return "there is a HAVING";
    if (IS_JOIN_REL(input))
        return "tables are joined";
    if (input->reloptkind != RELOPT_BASEREL || input->rtekind != RTE_RELATION)
        return "what is counted isn't a table's rows";
    const RangeTblEntry *table = planner_rt_fetch(input->relid, root);
    if (table->inh)
        return "the table is partitioned, or others inherit from it";
    if (table->tablesample != nullptr)
        return "a sample is read";
    return IS_DUMMY_REL(input) ? "no row can pass the conditions" : nullptr;
}

// ---- the index path underneath ----------------------------------------------------------------------------

// Does the index answer every condition on the table, exactly?
static bool covers_all_conditions(const IndexPath *path) {
    ListCell *cell;
    foreach (cell, path->indexinfo->indrestrictinfo) {
        const auto *restriction = lfirst_node(RestrictInfo, cell);
        if (restriction->pseudoconstant || !has_exact_clause(path, restriction))
            return false;
    }
    return true;
}

// Returns the path over this index that answers every condition on the table, index-only where that can be,
// and whether or not it would have survived beside other paths; nullptr when there is none. It is made by the
// planner's own code for a table that has no other index.
static IndexPath *answering_path(PlannerInfo *root, RelOptInfo *table, const IndexOptInfo *index) {
    auto *only_index = makeNode(IndexOptInfo);
    *only_index = *index;
    only_index->amhasgetbitmap = false;
    // The scan is never executed, so it may be one that the access method doesn't have.
    only_index->amhasgettuple = true;
    auto *alone = makeNode(RelOptInfo);
    *alone = *table;
    alone->indexlist = list_make1(only_index);
    alone->pathlist = NIL;
    alone->partial_pathlist = NIL;
    create_index_paths(root, alone);
    ListCell *cell;
    foreach (cell, alone->pathlist) {
        auto *path = static_cast<::Path *>(lfirst(cell));
        if (IsA(path, IndexPath) && path->param_info == nullptr &&
            covers_all_conditions(reinterpret_cast<IndexPath *>(path)))
            return reinterpret_cast<IndexPath *>(path);
    }
    return nullptr;
}

static bool has_array_clause(const IndexPath *path) {
    ListCell *cell;
    foreach (cell, path->indexclauses)
        if (IsA(lfirst_node(IndexClause, cell)->rinfo->clause, ScalarArrayOpExpr))
            return true;
    return false;
}

// Returns the cost of counting by the path. Where all rows are visible to everyone, a range costs a search
// for each of its ends, which reads no page that the index scan would not read. Otherwise every entry is
// looked at, as in that scan, but no tuple is made of it.
static Cost count_cost(const IndexPath *path) {
    const IndexOptInfo *index = path->indexinfo;
    const double entries = clamp_row_est(path->indexselectivity * index->tuples);
    Cost heap = Max(path->path.total_cost - path->indextotalcost - entries * cpu_tuple_cost, 0);
    if (find_access_method(index)->fetches_all(path))
        return path->indextotalcost + heap;
    if (index->rel->allvisfrac >= 1.0 && !has_array_clause(path)) {
        const Cost pages = path->indextotalcost - path->path.startup_cost - entries * cpu_index_tuple_cost;
        // A scan that has done its work before its first row costs no more than the whole of it.
        return Min(2 * path->path.startup_cost + Min(Max(pages, 0), 2 * random_page_cost),
                   path->indextotalcost);
    }
    // An index-only scan's cost leaves out the pages that are all-visible already.
    if (path->path.pathtype == T_IndexScan)
        heap *= 1.0 - index->rel->allvisfrac;
    return path->indextotalcost + heap;
}

static void add_count_path(const Candidate &candidate, IndexPath *index_path) {
    RelOptInfo *output = candidate.output;
    auto *path = makeNode(CustomPath);
    path->path.pathtype = T_CustomScan;
    path->path.parent = output;
    path->path.pathtarget = output->reltarget;
    // A worker may run the whole count; there is no partial path, so that workers do not share it.
    path->path.parallel_safe = output->consider_parallel && index_path->path.parallel_safe;
    path->path.rows = 1;
    add_disabled_nodes(&path->path, &index_path->path);
    path->path.startup_cost = count_cost(index_path) + output->reltarget->cost.startup;
    path->path.total_cost = path->path.startup_cost + cpu_tuple_cost + output->reltarget->cost.per_tuple;
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    path->custom_paths = list_make1(index_path);
    path->methods = count_path_methods();
    note_offered(candidate, path);
    add_path(output, &path->path);
}

static void consider_count_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
                                 RelOptInfo *output, void *extra) {
    if (previous_hook != nullptr)
        previous_hook(root, stage, input, output, extra);
    if (stage != UPPERREL_GROUP_AGG || !has_one_group(root->parse))
        return;
    List *aggregates = pull_var_clause(reinterpret_cast<Node *>(output->reltarget->exprs),
                                       PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_PLACEHOLDERS);
    if (!are_counts(aggregates))
        return;
    note_other_paths(root, output);
    Candidate candidate = {count_path_methods()->CustomName, root, input, output, InvalidOid};
    if (const char *refused = refuse_statement(root, input)) {
        note_declined(candidate, refused);
        return;
    }
    ListCell *cell;
    foreach (cell, input->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        const Method *method = find_access_method(index);
        if ((index->hypothetical && !is_proposed(index)) || method == nullptr ||
            method->count_matching == nullptr)
            continue;
        candidate.index = index->indexoid;
        if (finds_roughly(*method, index->opcintype, index->nkeycolumns)) {
            note_declined(candidate, "the index finds values of a column only roughly");
            continue;
        }
        IndexPath *path = answering_path(root, input, index);
        if (path == nullptr)
            note_declined(candidate, "the index doesn't answer all conditions exactly");
        else if (!all_count_rows(aggregates, path))
            note_declined(candidate, "a count may pass over rows, by its own condition or by NULLs");
        else
            add_count_path(candidate, path);
    }
    if (!OidIsValid(candidate.index))
        note_declined(candidate, "the table has no index that counts");
}

void install_count_planner() {
    previous_hook = create_upper_paths_hook;
    create_upper_paths_hook = consider_count_paths;
}

}  // namespace pg_gpu::plan
