// Parameters of prepared statements, of subqueries and of nested loops.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// The expressions with the values that parameters have now in place of them, in the current memory context.
List *bind_parameters(List *expressions, ExprContext *context);

}  // namespace pg_gpu::plan
