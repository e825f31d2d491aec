// Statements that are planned and never executed.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// A statement that is planned in another way than it is written in.
struct Way {
    const Query *query;
    const Query *statement;
};
// Sets it, and returns the former one.
Way set_way(const Way &way);

// Returns the statement that a query or subquery is planned for.
const Query *statement_of(const PlannerInfo *root);

// Checks the privileges that EXPLAIN would check, so that nobody learns more than by EXPLAIN. Nothing is
// executed, but partitions may be pruned by parameters' values.
void check_privileges(PlannedStmt *plan, const char *text, ParamListInfo parameters);

}  // namespace pg_gpu::plan
