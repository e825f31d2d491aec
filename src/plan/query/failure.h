// Errors that expressions may raise.
#pragma once

#include "memory.h"

namespace pg_gpu::plan {

// May the expression raise an error, with columns among a function's arguments or without?
bool may_fail(const void *expression);

// May one of these raise an error, if what is given of groups, as keys and aggregates, doesn't? No numeric is
// taken to have so many digits that there is no room for what is computed of it.
bool may_fail_of_groups(const List *expressions, const List *given);

// Sets what an expression without columns gives. False: it raised an error about a value, which PostgreSQL's
// plan may never meet, because it evaluates the expression for rows.
bool evaluate_without_columns(Expr *expression, ExprContext *context, Const *constant);

}  // namespace pg_gpu::plan
