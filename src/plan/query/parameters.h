// Parameters of prepared statements, of subqueries and of nested loops.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// The expressions with the values that parameters have now in place of them, in the current memory context.
List *bind_parameters(List *expressions, ExprContext *context);

// A walker: is there a parameter that another part of the plan sets?
bool has_parameter_of_plan(Node *node, void *context);

// Has the statement a subquery with effects, or with another value each time? PostgreSQL evaluates one that
// doesn't depend on rows at the first row that wants it. A node would do so also where no row does.
bool has_volatile_subquery(const PlannerInfo *root);

}  // namespace pg_gpu::plan
