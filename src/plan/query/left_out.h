// Rows of a join's side that the join leaves out anyway: a semi join with the other side, which is computed
// once more, leaves them out before they are grouped, or put into a hash table.
#pragma once

#include "plan/query/plan_nodes.h"

namespace pg_gpu::plan::query {

// The plan of one side of the join that leaves out, as soon as it can, rows that equal no row of the other
// side. nullptr: there is none, or it takes the engine longer.
const EnginePlan *leave_out_unmatched(const EnginePlan &join, bool is_probed);

}  // namespace pg_gpu::plan::query
