// What the table of number functions (number_functions.cpp) makes of its operands: steps of numbers.cpp.
#pragma once

#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

// No decimal shows more digits behind the point.
inline constexpr int kMaxShown = 63;

// Of floats; `other` is no_step for one operand.
Value compute_float(Compiler *compiler, Operation operation, const Value &one, uint16 other, uint8 width,
                    bool may_fail);

// Two numbers of any kinds, and one.
Value compute(Compiler *compiler, Operation operation, const Value &one, const Value &other, Oid result);
Value compute_one(Compiler *compiler, Operation operation, const Value &one);
Value compute_bits(Compiler *compiler, Operation operation, const Value &one, uint16 other);

// round, ceil, floor and trunc, with a number of digits or without.
Value compile_cut(Compiler *compiler, Operation of_decimals, Operation of_floats, const List *arguments);
// numeric(precision, scale)
Value compile_typmod(Compiler *compiler, const List *arguments);
Value cast_number(Compiler *compiler, const Value &value, Oid result);

}  // namespace pg_gpu::plan::query
