// The tree of a GpuQuery, made of the plan that was found for its joins (engine_plan.h).
#pragma once

#include "plan/query/engine_plan.h"

namespace pg_gpu::plan::query {

// What is read of the plan's tables, by number.
const ReadTables *tables_of_plan(const EnginePlan &plan);

// The tree over these tables. False, with the reason, when an expression can't be asked of their indexes.
bool make_tree(const EnginePlan &plan, const ReadTables &tables, QueryTree *tree, Refusal *refusal);

}  // namespace pg_gpu::plan::query
