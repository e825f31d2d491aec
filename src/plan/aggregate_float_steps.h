// Comparisons of floats as steps of a program.
#pragma once

#include "plan/aggregate_steps.h"

namespace pg_gpu::plan {

bool is_comparison_of_floats(const OpExpr *comparison);

// A truth value. Two columns must be of the same type.
uint16 compile_float_comparison(Compiler *compiler, OpExpr *comparison);

}  // namespace pg_gpu::plan
