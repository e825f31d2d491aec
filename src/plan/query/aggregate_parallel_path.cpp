#include "plan/query/aggregate_parallel_path.h"

#include "cost/cost.h"
#include "compat.h"
#include "plan/query/aggregate_members.h"
#include "plan/query/aggregate_parallel.h"
#include "table/table.h"

namespace pg_gpu::plan {

// ---- which queries ----------------------------------------------------------------------------------------

// May the result depend on who adds up which rows, or on who is first? Sums of floats do once they are added
// up above the node, and of equal values that look different any of them is shown.
static const char *refuse_result(const Aggref *aggregate, const AggregateResult &result) {
    switch (result.kind) {
        case ResultKind::SumOfFloats:
        case ResultKind::AverageOfFloats:
        case ResultKind::DeviationOfFloats:
            return "workers' sums of floats would be rounded once more";
        case ResultKind::Extreme:
        case ResultKind::ExtremeOfNumeric:
        case ResultKind::Ranked:
            break;
        default:
            return nullptr;
    }
    auto *argument = reinterpret_cast<Node *>(linitial_node(TargetEntry, aggregate->args)->expr);
    const Oid type = exprType(argument);
    if (getBaseType(type) == NUMERICOID && exprTypmod(argument) >= 0)
        return nullptr;
    const Oid equality = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
    return has_one_image(type, equality, aggregate->inputcollid)
               ? nullptr
               : "equal values of different workers may look different";
}

const char *refuse_sharing(const AggregateQuery &query, const CompiledAggregate &compiled) {
    if (compiled.has_place)
        return "equal grouping columns of different workers may look different";
    if (needs_guard(compiled))
        return "several expressions may raise an error, and no subtransaction can be started beside workers";
    for (List *expressions : {query.conditions, query.keys, query.aggregates})
        if (contain_subplans(reinterpret_cast<Node *>(expressions)))
            return "each worker would read a subquery's rows";
    for (int i = 0; i < list_length(query.aggregates); i++) {
        const char *refused = refuse_result(list_nth_node(Aggref, query.aggregates, i), compiled.result[i]);
        if (refused != nullptr)
            return refused;
    }
    return nullptr;
}

// ---- paths ------------------------------------------------------------------------------------------------

static bool is_heap(const TableAggregate &table) {
    Relation heap = table_open(planner_rt_fetch(table.input->relid, table.root)->relid, NoLock);
    const bool is = table::is_heap_table(heap);
    table_close(heap, NoLock);
    return is;
}

// How many workers PostgreSQL would have scan the table; 0 where it wouldn't use any, or the rows can't be
// shared out.
static int choose_workers(const TableAggregate &table, const GroupPathExtraData *extra) {
    const RelOptInfo *input = table.input;
    if (input->reloptkind != RELOPT_BASEREL || table.members != NIL || !input->consider_parallel ||
        !table.output->consider_parallel || (extra->flags & GROUPING_CAN_PARTIAL_AGG) == 0 ||
        client::is_server_expected())
        return 0;
    const int workers =
        compute_parallel_worker(table.input, input->pages, -1, max_parallel_workers_per_gather);
    List *keys = get_sortgrouplist_exprs(table.clauses, table.columns);
    return workers > 0 && is_heap(table) && is_parallel_safe(table.root, reinterpret_cast<Node *>(keys))
               ? workers
               : 0;
}

void consider_workers(const TableAggregate &table, const GroupPathExtraData *extra) {
    const int workers = choose_workers(table, extra);
    if (workers == 0)
        return;
    PlannerInfo *root = table.root;
    auto *having = reinterpret_cast<List *>(extra->havingQual);
    PathTarget *partial =
        make_partial_target(root, table.output->reltarget, reinterpret_cast<Node *>(having));
    TableAggregate shared = table;
    shared.output = make_groups(table.input, partial);
    shared.having = NIL;
    shared.split = AGGSPLIT_INITIAL_SERIAL;
    shared.workers = workers;
    if (!consider_table(shared))
        return;
    set_cheapest(shared.output);
    Path *share = shared.output->cheapest_total_path;
    double rows = share->rows * count_processes(workers);
    auto *states =
        reinterpret_cast<Path *>(create_gather_path(root, shared.output, share, partial, nullptr, &rows));
    add_final_paths(root, table.input, table.output, having, shared.output, states,
                    (extra->flags & GROUPING_CAN_USE_SORT) != 0);
}

}  // namespace pg_gpu::plan
