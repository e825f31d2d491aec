// Cost estimates, from the run list and column statistics. No server is asked (S6).
#include <cmath>

#include "kary/kary.h"

namespace pg_gpu::kary {

// As for btree: the processor's work on a page beyond its tuples, in operator costs.
static constexpr double kPageOperators = 50.0;

// Correlation of the column's order with the table's, 0 when unknown.
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

// How many places a scan looks at: 1 for a range, the number of elements for `= ANY`.
static double probes_of(PlannerInfo *root, List *quals) {
    double probes = 1;
    ListCell *cell;
    foreach (cell, quals) {
        auto *info = lfirst_node(RestrictInfo, cell);
        if (IsA(info->clause, ScalarArrayOpExpr)) {
            auto *array = reinterpret_cast<ScalarArrayOpExpr *>(info->clause);
#if PG_VERSION_NUM >= 170000
            probes = Max(probes, estimate_array_length(root, static_cast<Node *>(lsecond(array->args))));
#else
            (void)root;
            probes = Max(probes, estimate_array_length(static_cast<Node *>(lsecond(array->args))));
#endif
        }
    }
    return probes;
}

void estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
                   Selectivity *selectivity, double *correlation, double *pages) {
    IndexOptInfo *index = path->indexinfo;
    List *quals = get_quals_from_indexclauses(path->indexclauses);
    List *selective = add_predicate_to_index_quals(index, quals);

    *selectivity =
        clauselist_selectivity(root, selective, static_cast<int>(index->rel->relid), JOIN_INNER, nullptr);
    double tuples = rint(*selectivity * index->rel->tuples);
    tuples = Min(Max(tuples, 1.0), Max(index->tuples, 1.0));

    storage::Summary summary = {};
    if (!index->hypothetical) {
        Relation relation = index_open(index->indexoid, NoLock);
        summary = storage::summarise(relation, run_kind(relation));
        index_close(relation, NoLock);
    }
    const double capacity = index->opcintype[0] == INT8OID ? kLeafCapacity<uint64> : kLeafCapacity<uint32>;
    const double runs = Max(summary.runs, 1);
    const double leaves = Max(ceil(static_cast<double>(summary.entries) / capacity), 1.0);
    const double probes = Min(probes_of(root, quals), 1e9);

    // Every run is descended to once a probe, until its leaves are all touched anyway; what matches lies
    // packed.
    const double leaf_pages = Min(leaves + runs, probes * runs + tuples / capacity);
    double spc_random;
    double spc_sequential;
    get_tablespace_page_costs(index->reltablespace, &spc_random, &spc_sequential);
    double page_cost;
    if (loop_count > 1) {
        const double fetched = index_pages_fetched(leaf_pages * loop_count, index->pages,
                                                   static_cast<double>(index->pages), root);
        page_cost = fetched * spc_random / loop_count;
    } else {
        // A range's leaves follow one another in the file.
        const double jumps = Min(leaf_pages, probes * runs);
        page_cost = jumps * spc_random + (leaf_pages - jumps) * spc_sequential;
    }

    const double per_run = Max(static_cast<double>(summary.entries) / runs, 2.0);
    const double levels = ceil(log(per_run) / log(static_cast<double>(kSeparatorCapacity<uint64>))) + 1;
    const double descent = runs * (ceil(log2(per_run)) + levels * kPageOperators) * cpu_operator_cost +
                           kPageOperators * cpu_operator_cost;
    // An array is sorted once and walked together with the leaves.
    const double array_cost =
        probes > 1 ? probes * (log2(probes) + ceil(log2(per_run)) * 0.25) * cpu_operator_cost : 0;
    const double operands = index_other_operands_eval_cost(root, quals);
    const double merge = runs > 1 ? log2(runs) * cpu_operator_cost : 0;

    *startup = operands + descent + array_cost;
    *total = *startup + page_cost + tuples * (cpu_index_tuple_cost + cpu_operator_cost + merge) +
             leaf_pages * kPageOperators * cpu_operator_cost;
    *correlation = column_correlation(root, index);
    *pages = leaf_pages;
}

}  // namespace pg_gpu::kary
