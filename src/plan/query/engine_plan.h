// How the engine could join a relation's tables, kept beside PostgreSQL's paths while it looks for the order
// of joins: for each relation that it makes, the cheapest by what the engine does for a row.
#pragma once

#include "plan/query/groups.h"
#include "plan/query/tree.h"

namespace pg_gpu::plan::query {

struct EnginePlan;

// Of a join, of a table with partitions or children, of a subquery, or of a union. nullptr: there is none,
// and *refused says why.
const EnginePlan *find_engine_plan(PlannerInfo *root, RelOptInfo *join, const char **refused);

// In operators.
double operators_of(const EnginePlan &plan);

// What it costs to find a row's group among so many, in operators.
double find_operators(double groups);

// Is it a subquery whose groups the engine computes, or a union of such rows as it computes?
bool is_nested(PlannerInfo *root, const RelOptInfo *relation);

// Remembers that the engine could compute these groups, which are a subquery's rows, for what is around it.
void keep_groups(const TableAggregate &groups);

void install_engine_planner();

}  // namespace pg_gpu::plan::query
