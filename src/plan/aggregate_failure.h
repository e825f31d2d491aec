// Errors that expressions of a GpuAggregate may raise.
#pragma once

#include "memory.h"

namespace pg_gpu::plan {

// May the expression raise an error, with columns among a function's arguments or without?
bool may_fail(const void *expression);

// Sets what an expression without columns gives. False: it raised an error about a value, which PostgreSQL's
// plan may never meet, because it evaluates the expression for rows.
bool evaluate_without_columns(Expr *expression, ExprContext *context, Const *constant);

}  // namespace pg_gpu::plan
