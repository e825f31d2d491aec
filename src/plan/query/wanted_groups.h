// Groups that a join wants: where the other side of a join has few of a subquery's groups, rows of others
// needn't be grouped. A semi join with the other side, which is computed once more, leaves them out.
#pragma once

#include "plan/query/plan_nodes.h"

namespace pg_gpu::plan::query {

// The plan of a subquery's groups that leaves out, as soon as it can, rows of groups which no row of the
// other side equals. nullptr: it would leave most of them, or such groups are wanted, too.
const EnginePlan *leave_wanted_groups(const EnginePlan &groups, const EnginePlan &other,
                                      const RelOptInfo *join, JoinType type, bool is_probed,
                                      const List *clauses);

}  // namespace pg_gpu::plan::query
