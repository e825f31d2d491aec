// Arithmetic of numerics over several columns: with integers, which are numerics without their points. How
// many digits are behind the point follows from the inputs, and is known once these are made (settle_step,
// aggregate_numeric_digits.cpp).
#pragma once

#include "plan/query/aggregate_inputs.h"
#include "plan/query/aggregate_steps.h"

namespace pg_gpu::plan {

// A comparison's constant has as many digits as 64 bits have room for. That others were rounded away is told
// by this bit of `right`.
inline constexpr uint16 kIsCut = 0x8000;

bool is_numeric(const Expr *expression);

// Compiles an expression that is evaluated for each entry of a column.
NumericSteps compile_numeric_input(Compiler *compiler, Expr *expression);

NumericSteps compile_numeric(Compiler *compiler, Expr *expression);

bool is_comparison_of_numerics(const OpExpr *comparison);
uint16 compile_numeric_comparison(Compiler *compiler, OpExpr *comparison);

// A cast to an integer, of a numeric over several columns.
bool is_cast_of_numeric(Oid function);
uint16 compile_integer_of_numeric(Compiler *compiler, Oid function, Expr *argument);

// The scale, and NULL where the number is NULL.
uint16 scale_of_numbers(Compiler *compiler, const NumericSteps &steps);

// Finds out how many digits of a step's integers are behind the point, and fills in the powers of 10 that it
// needs. All steps that it takes are settled. False: the maker's `problem` says why it can't be computed.
bool settle_step(InputBuilder *builder, uint16 step);

// The only number that a step can be where it isn't NULL, if that is known.
struct KnownNumber {
    enum class State : uint8 { Unknown, Known, AlwaysNull } state;
    int64 number;
};
// Tells of each step what is known of its number.
void find_known_numbers(const gpu_engine::AggregateProgram &program, KnownNumber *known);

}  // namespace pg_gpu::plan
