// Aggregates and groups over one table, answered from a gpu_column index: a custom scan in place of
// PostgreSQL's aggregate over a scan of the table.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// Called from _PG_init. The planner then weighs a GpuAggregate wherever a query computes aggregates of one
// table, or groups it, and a gpu_column index has all columns that the query names.
void register_aggregate_scan();

// The answer of a GpuAggregate whose rows are groups by its keys and nothing else, all of which are in
// memory. Asks if that hasn't been done. nullptr: it is another node, or its rows must be taken one by one.
// What isn't passed by value lies in the node's memory until it is asked again. Whoever takes the groups
// counts them for EXPLAIN ANALYZE.
const struct AggregateOutput *whole_result(PlanState *plan);

// What that answer depends on. As long as the key is equal it is the same, under the settings of
// cached_results.h. nullptr: it may be another one each time, or what it depends on can't be told. A scan of
// the table would take the same predicate locks.
struct CacheableResult {
    Relation index;
    const Node *key;
};
CacheableResult describe_result(PlanState *plan);

}  // namespace pg_gpu::plan
