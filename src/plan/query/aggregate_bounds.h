// Between which numbers the results of a program's steps lie, once its inputs are made.
#pragma once

#include "plan/query/aggregate_inputs.h"

namespace pg_gpu::plan {

struct NumberBounds {
    int64 least;  // above `greatest`: there is no number, but NULL at most
    int64 greatest;
};

// Finds the bounds of each step but those whose inputs aren't made. Rows for which a step fails don't matter.
void find_bounds(const InputBuilder &builder, const gpu_engine::AggregateProgram &program,
                 NumberBounds *bounds);

// Might the step's results be any number of 64 bits, so that none is left to stand for NULL? Without looking
// at inputs; that of an input is found when it is known (find_absent_number).
bool may_be_any_number(const gpu_engine::AggregateProgram &program, uint16 step);

// A number that the input never is, though it is both the least and the greatest of 64 bits. False: none is
// known.
bool find_absent_number(const InputBuilder &builder, uint16 input, int64 *absent);

}  // namespace pg_gpu::plan
