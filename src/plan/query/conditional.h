// Conditional expressions: one of several values is taken.
#pragma once

#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

Value compile_case(Compiler *compiler, const CaseExpr *expression);

// Of the arguments from `first` on.
Value compile_coalesce(Compiler *compiler, const List *arguments, int first);

// GREATEST and LEAST.
Value compile_extreme(Compiler *compiler, const MinMaxExpr *expression);

}  // namespace pg_gpu::plan::query
