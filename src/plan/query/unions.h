// UNION ALL in FROM, which PostgreSQL reads as one relation with members: the engine computes the rows of
// each member, and joins members fully by a key that is NULL on one side. So each row comes once, without
// anything of the others, and a column is the first of the members' that isn't NULL.
#pragma once

#include "plan/query/plan_nodes.h"

namespace pg_gpu::plan::query {

// nullptr: it is something else, or the engine can't compute a member.
const EnginePlan *plan_union(PlannerInfo *root, RelOptInfo *relation);

// Gives members of unions in FROM the columns' common types themselves, without which PostgreSQL reads the
// members one after the other. True: there was something to do.
bool unify_union_types(Query *query);

// Sets what a member gives, whose tables are those of the scope.
bool add_member_columns(const EnginePlan &member, const ReadTables &tables, int scope, TreeNode *node,
                        Refusal *refusal);

}  // namespace pg_gpu::plan::query
