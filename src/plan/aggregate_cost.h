// What a GpuAggregate costs.
#pragma once

#include "column/aggregate_parts.h"
#include "plan/aggregate_compile.h"

namespace pg_gpu::plan {

// Fills in the path's costs, those of its target list aside.
void cost_aggregate(PlannerInfo *root, const RelOptInfo *input, const IndexOptInfo *index,
                    const AggregateQuery &query, const CompiledAggregate &compiled,
                    const column::IndexSummary &summary, double groups, Path *path);

}  // namespace pg_gpu::plan
