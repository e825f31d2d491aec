// Comparisons of floats as steps of a program.
#pragma once

#include "plan/query/aggregate_steps.h"

namespace pg_gpu::plan {

bool is_comparison_of_floats(const OpExpr *comparison);

// A truth value. Two columns must be of the same type.
uint16 compile_float_comparison(Compiler *compiler, OpExpr *comparison);

// A float's number, with that of 0 in place of that of -0: equal floats have the same.
uint16 compile_one_zero(Compiler *compiler, const column::ColumnType &type, uint16 number);

// Compiles a column of floats to integers, which are multiples of a power of 2 that depends on the greatest
// of them and the number of rows; what is left is cut off toward 0. *base: the last input that they are made
// of.
uint16 compile_cut_float(Compiler *compiler, uint16 number, const column::ColumnType &type, uint16 *base);

}  // namespace pg_gpu::plan
