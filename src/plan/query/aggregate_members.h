// Aggregates over a table's members: its partitions, or itself and its inheritance children.
#pragma once

#include "plan/query/aggregate_path.h"

namespace pg_gpu::plan {

// The query's target list over this table, which may be a member of the one that the query names.
List *columns_over(PlannerInfo *root, const RelOptInfo *table);

// Adds to `output`, which holds the groups of `table`, a path that finalizes what is aggregated of each
// member by itself, by a GpuQuery where there can be one. Returns nullptr, or why this can't be done with
// these aggregates.
const char *consider_members(PlannerInfo *root, RelOptInfo *table, RelOptInfo *output,
                             const GroupPathExtraData *extra);

}  // namespace pg_gpu::plan
