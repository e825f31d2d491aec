// Joins with tables of which a row may have several, or which are joined by more than one column: PostgreSQL
// joins groups of the index's table with them, instead of its rows.
#pragma once

#include "plan/query/join_path.h"

namespace pg_gpu::plan {

// Adds a path to `join.output`: a GpuAggregate gives transition states of groups, PostgreSQL joins these with
// the tables that aren't in the tree, and finalizes what comes of that. `grown` are the rows of the tree,
// which is part of the join. Returns nullptr, or why this can't be done.
const char *consider_states(const TableAggregate &join, const JoinTree *tree, RelOptInfo *grown,
                            const List *members);

}  // namespace pg_gpu::plan
