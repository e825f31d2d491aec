// Cost estimates, from the run list and column statistics. No server is asked.
#include <cmath>

#include "kary/kary.h"
#include "kary/lossy_cost.h"
#include "storage/storage.h"

namespace pg_gpu::kary {

// The processor's work on a page beyond its tuples, in operator costs. btree's cost estimate has the same
// number.
static constexpr double kPageOperators = 50.0;

// Returns the correlation of the column's order with the table's, 0 when it is unknown.
static double column_correlation(PlannerInfo *root, IndexOptInfo *index) {
    RangeTblEntry *table = planner_rt_fetch(index->rel->relid, root);
    const AttrNumber column = index->indexkeys[0];
    HeapTuple statistics = column != 0 ? SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table->relid),
                                                         Int16GetDatum(column), BoolGetDatum(table->inh))
                                       : SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(index->indexoid),
                                                         Int16GetDatum(1), BoolGetDatum(false));
    if (!HeapTupleIsValid(statistics))
        return 0;
    double correlation = 0;
    const Oid less = get_opfamily_member(index->opfamily[0], index->opcintype[0], index->opcintype[0],
                                         BTLessStrategyNumber);
    AttStatsSlot slot;
    if (OidIsValid(less) &&
        get_attstatsslot(&slot, statistics, STATISTIC_KIND_CORRELATION, less, ATTSTATSSLOT_NUMBERS)) {
        correlation =
            index->reverse_sort != nullptr && index->reverse_sort[0] ? -slot.numbers[0] : slot.numbers[0];
        free_attstatsslot(&slot);
    }
    ReleaseSysCache(statistics);
    return correlation;
}

// Says whether the clause leaves the column one value, or one of a set.
static bool is_equality(const IndexOptInfo *index, int column, const Expr *clause) {
    const Oid family = index->opfamily[column];
    switch (nodeTag(clause)) {
        case T_OpExpr:
            return get_op_opfamily_strategy(reinterpret_cast<const OpExpr *>(clause)->opno, family) ==
                   BTEqualStrategyNumber;
        case T_ScalarArrayOpExpr:
            return get_op_opfamily_strategy(reinterpret_cast<const ScalarArrayOpExpr *>(clause)->opno,
                                            family) == BTEqualStrategyNumber;
        case T_NullTest:
            return reinterpret_cast<const NullTest *>(clause)->nulltesttype == IS_NULL;
        default:
            return false;
    }
}

// The part of a scan that its place in the index decides. What the conditions on further columns leave out is
// read all the same.
struct Boundary {
    int count;      // number of conditions
    List *quals;    // conditions that select the entries read
    double probes;  // places the scan looks at: 1 for a range, the number of elements for `= ANY`
};

static Boundary boundary_of(PlannerInfo *root, const IndexPath *path) {
    Boundary boundary = {0, NIL, 1};
    int column = 0;
    bool equality = false;
    ListCell *cell;
    foreach (cell, path->indexclauses) {
        const auto *clause = lfirst_node(IndexClause, cell);
        if (clause->indexcol != column) {
            // Boundaries reach as far as the columns before have equalities, as btree's do.
            if (!equality || clause->indexcol != column + 1)
                break;
            column++;
            equality = false;
        }
        boundary.quals =
            list_concat(boundary.quals, found_quals(path->indexinfo, column, clause->indexquals));
        ListCell *qual_cell;
        foreach (qual_cell, clause->indexquals) {
            auto *info = lfirst_node(RestrictInfo, qual_cell);
            boundary.count++;
            if (!is_equality(path->indexinfo, column, info->clause))
                continue;
            equality = true;
            if (IsA(info->clause, ScalarArrayOpExpr))
                boundary.probes *=
                    Max(array_length(root, reinterpret_cast<const ScalarArrayOpExpr *>(info->clause)), 1);
        }
    }
    boundary.probes = Min(boundary.probes, 1e9);
    return boundary;
}

// Returns the conditions on all columns as the scan finds entries for them.
static List *all_found_quals(const IndexPath *path) {
    List *found = NIL;
    ListCell *cell;
    foreach (cell, path->indexclauses) {
        const auto *clause = lfirst_node(IndexClause, cell);
        found = list_concat(found, found_quals(path->indexinfo, clause->indexcol, clause->indexquals));
    }
    return found;
}

void estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
                   Selectivity *selectivity, double *correlation, double *pages) {
    IndexOptInfo *index = path->indexinfo;
    List *quals = get_quals_from_indexclauses(path->indexclauses);
    List *selective = add_predicate_to_index_quals(index, all_found_quals(path));

    const Selectivity shared = shared_key_selectivity(root, path);
    *selectivity = Min(shared + clauselist_selectivity(root, selective, static_cast<int>(index->rel->relid),
                                                       JOIN_INNER, nullptr),
                       1.0);
    // The entries that are read are those between the boundaries.
    const Boundary boundary = boundary_of(root, path);
    const Selectivity boundary_selectivity =
        boundary.count == list_length(quals)
            ? *selectivity
            : clauselist_selectivity(root, add_predicate_to_index_quals(index, boundary.quals),
                                     static_cast<int>(index->rel->relid), JOIN_INNER, nullptr);
    double tuples = rint(boundary_selectivity * index->rel->tuples);
    tuples = Min(Max(tuples, 1.0), Max(index->tuples, 1.0));

    const storage::Summary summary = storage::summary_for_planner(index, run_kind);
    const auto width = key_width(index->opcintype, index->opfamily, index->nkeycolumns);
    const double capacity =
        with_key_type(width, [](auto key) { return static_cast<double>(kLeafCapacity<decltype(key)>); });
    const double fanout =
        with_key_type(width, [](auto key) { return static_cast<double>(kSeparatorCapacity<decltype(key)>); });
    const double runs = Max(summary.runs, 1);
    const double per_run = Max(static_cast<double>(summary.entries) / runs, 2.0);
    const double leaves = Max(ceil(static_cast<double>(summary.entries) / capacity), runs);
    const double probes = boundary.probes;

    // The leaf pages that the probes of each run fall on, some of them on the same, and what follows them:
    // matches lie packed.
    const double hit = leaves * -expm1(-probes * runs / leaves);
    const double leaf_pages = Min(leaves, Max(hit, runs) + tuples / capacity);
    double spc_random;
    double spc_sequential;
    get_tablespace_page_costs(index->reltablespace, &spc_random, &spc_sequential);
    double page_cost;
    if (loop_count > 1) {
        const double index_pages = leaves + ceil(leaves / fanout) + 2;
        const double fetched = index_pages_fetched(leaf_pages * loop_count,
                                                   static_cast<BlockNumber>(index_pages), index_pages, root);
        page_cost = fetched * spc_random / loop_count;
    } else {
        // Pages are visited in the order of the file. As for bitmap heap scans: the smaller the gaps, the
        // more like a sequential read.
        const double jumps = Min(leaf_pages, Max(hit, runs));
        const double jump_cost =
            spc_random - (spc_random - spc_sequential) * (jumps > runs ? sqrt(jumps / leaves) : 0);
        page_cost = jumps * jump_cost + (leaf_pages - jumps) * spc_sequential;
    }

    // A probe descends each run's separator pages to a leaf page. An array is sorted once and walked together
    // with the leaf pages, galloping from one key to the next.
    const double separator_levels =
        per_run > capacity ? ceil(log(ceil(per_run / capacity)) / log(fanout)) : 0;
    const double descent =
        runs * (ceil(log2(per_run)) + (separator_levels + 1) * kPageOperators) * cpu_operator_cost;
    const double array_cost =
        probes > 1 ? probes * (log2(probes) / 2 + runs * log2(per_run / probes + 2)) * cpu_operator_cost +
                         (leaf_pages - Min(leaf_pages, runs)) * kPageOperators * cpu_operator_cost
                   : 0;
    // Entries between the boundaries are compared with the conditions on further columns.
    const double filters = tuples * (list_length(quals) - boundary.count) * cpu_operator_cost;
    const double operands = index_other_operands_eval_cost(root, quals);
    const double merge = runs > 1 ? log2(runs) * cpu_operator_cost : 0;

    *startup = operands + descent + array_cost;
    *total = *startup + page_cost + tuples * (cpu_index_tuple_cost + cpu_operator_cost + merge) + filters +
             recheck_cost(root, path, clamp_row_est(*selectivity * index->rel->tuples));
    *correlation = column_correlation(root, index);
    if (loop_count <= 1 && checks_rows(root, path)) {
        *total += table_order_cost(index, *selectivity);
        *correlation = 1;
    }
    *pages = leaf_pages;
}

}  // namespace pg_gpu::kary
