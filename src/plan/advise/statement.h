// Statements that are planned and never executed.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// Returns the statement that a query or subquery is planned for.
inline const Query *statement_of(const PlannerInfo *root) {
    while (root->parent_root != nullptr)
        root = root->parent_root;
    return root->parse;
}

// Checks the privileges that EXPLAIN would check, so that nobody learns more than by EXPLAIN. Nothing is
// executed, but partitions may be pruned by parameters' values.
void check_privileges(PlannedStmt *plan, const char *text, ParamListInfo parameters);

}  // namespace pg_gpu::plan
