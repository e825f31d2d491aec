// What a GpuAggregate costs.
#pragma once

#include "plan/query/aggregate_compile.h"
#include "plan/query/aggregate_path.h"

namespace pg_gpu::plan {

// Fills in the path's costs, those of its target list aside, for all tables that the node reads. With workers
// these are a worker's, and `groups` those of one range of rows.
void cost_aggregate(PlannerInfo *root, const AggregateSource *sources, int count, const AggregateQuery &query,
                    const CompiledAggregate &compiled, double groups, int workers, Path *path);

// Adds what it costs to make the bitmap of other indexes, and to find its rows in the index.
void add_bitmap_cost(Path *bitmap, Path *path);

}  // namespace pg_gpu::plan
