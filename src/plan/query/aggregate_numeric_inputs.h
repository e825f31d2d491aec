// Inputs that are numerics: read as integers of 128 bits, scaled alike in all parts, and brought into 64 bits
// where they have room there or are less by one in the middle.
#pragma once

#include "plan/query/aggregate_inputs.h"

namespace pg_gpu::plan {

// Makes the input of every part. Returns false when there is a problem.
bool make_wide_input(InputBuilder *builder, uint32 number);

}  // namespace pg_gpu::plan
