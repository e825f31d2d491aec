// Scans of a table's indexes, as the planner's own code finds them, by other indexes, conditions or an order
// than the statement's.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// Returns the paths over these indexes (a List of IndexOptInfo) by conditions on the relation alone. They are
// those of a table that has no other scans, without parallel ones, and check all of the relation's own
// conditions.
List *find_index_paths(PlannerInfo *root, const RelOptInfo *relation, List *indexes, List *conditions);

}  // namespace pg_gpu::plan
