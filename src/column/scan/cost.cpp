// Cost estimates, from the run list: a condition reads its column's codes, and what matches its TIDs.
#include "column/column.h"
#include "storage/storage.h"

namespace pg_gpu::column {

// The processor's work on a row's code, unpacked and compared in bulk, and on a row's TID, in operator costs.
static constexpr double kCodeOperators = 0.1;
static constexpr double kTidOperators = 0.02;
// The cost of looking at a run's headers and dictionaries, in operators.
static constexpr double kRunOperators = 500.0;

static int bound_columns(const IndexPath *path) {
    uint64 bound = 0;
    ListCell *cell;
    foreach (cell, path->indexclauses)
        bound |= UINT64CONST(1) << lfirst_node(IndexClause, cell)->indexcol;
    return __builtin_popcountll(bound);
}

// Returns the cost of one condition on all values of a column that have a dictionary, as strings have. That
// is work before the first row, and a session that has done it keeps the result, but with a pattern that it
// hasn't seen it does it anew.
static Cost dictionary_cost(PlannerInfo *root, Node *clause, double rows) {
    if (!IsA(clause, OpExpr) && !IsA(clause, ScalarArrayOpExpr))
        return 0;
    auto *column =
        static_cast<Node *>(IsA(clause, OpExpr) ? linitial(castNode(OpExpr, clause)->args)
                                                : linitial(castNode(ScalarArrayOpExpr, clause)->args));
    const Oid type = getBaseType(exprType(column));
    // Numbers are compared by their codes.
    if (get_typbyval(type) || type == NUMERICOID)
        return 0;
    VariableStatData statistics;
    examine_variable(root, column, 0, &statistics);
    bool is_default;
    const double values = Min(get_variable_numdistinct(&statistics, &is_default), rows);
    ReleaseVariableStats(statistics);
    QualCost evaluation;
    cost_qual_eval_node(&evaluation, clause, root);
    return values * evaluation.per_tuple;
}

void estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
                   Selectivity *selectivity, double *correlation, double *pages) {
    IndexOptInfo *index = path->indexinfo;
    List *quals = get_quals_from_indexclauses(path->indexclauses);
    List *selective = add_predicate_to_index_quals(index, quals);
    *selectivity =
        clauselist_selectivity(root, selective, static_cast<int>(index->rel->relid), JOIN_INNER, nullptr);
    const double tuples = clamp_row_est(*selectivity * index->rel->tuples);

    const storage::Summary summary = storage::summary_for_planner(index, [](Relation) { return run_kind(); });
    const double rows = Max(static_cast<double>(summary.entries), 1.0);
    const double runs = Max(summary.runs, 1);
    const int bound = bound_columns(path);
    // TIDs count as half a column.
    const double share = (bound + 0.5) / (index->nkeycolumns + 0.5);
    *pages = Max(static_cast<double>(summary.pages) * share, runs);

    double spc_random;
    double spc_sequential;
    get_tablespace_page_costs(index->reltablespace, &spc_random, &spc_sequential);
    // Areas are read from end to end.
    double page_cost = runs * spc_random + *pages * spc_sequential;
    if (loop_count > 1) {
        const double fetched = index_pages_fetched(*pages * loop_count, index->pages, index->pages, root);
        page_cost = fetched * spc_sequential / loop_count;
    }
    const double work =
        rows * (bound * kCodeOperators + kTidOperators) + runs * Max(list_length(quals), 1) * kRunOperators;
    *startup = index_other_operands_eval_cost(root, quals) + page_cost + work * cpu_operator_cost;
    ListCell *cell;
    foreach (cell, quals)
        *startup +=
            dictionary_cost(root, reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause), rows);
    *total = *startup + tuples * 0.1 * cpu_operator_cost;
    *correlation = 0;
}

}  // namespace pg_gpu::column
