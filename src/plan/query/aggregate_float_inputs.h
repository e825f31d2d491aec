// Floats as a program's inputs.
#pragma once

#include "plan/query/aggregate_inputs.h"

namespace pg_gpu::plan {

// The biased exponent of a float's number. Of NaN and infinities it is that of the greatest finite float.
int exponent_of_float(bool is_single, int64 number);

// Floats' numbers; none where the least is above the greatest.
struct FloatBounds {
    int64 least;
    int64 greatest;
};

// Of all finite floats of an input that has been made.
FloatBounds find_finite_floats(const InputBuilder &builder, uint16 input);

// Where floats are cut to integers (compile_cut_float): what an input of kind FloatDivisor or FloatBase has
// for the floats of the other one. Chooses the integers' unit with the first of the two.
bool make_float_input(InputBuilder *builder, uint32 number);

// The power of 2 that such integers count, once they are made.
int unit_of_cut_floats(const InputBuilder &builder, uint16 input);

}  // namespace pg_gpu::plan
