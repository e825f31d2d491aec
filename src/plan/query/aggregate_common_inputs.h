// Inputs whose numbers mean the same in all parts: groups of equal results, and results' ranks.
#pragma once

#include "plan/query/aggregate_inputs.h"

namespace pg_gpu::plan {

// Make an input of every part. They return false when there is a problem.
bool make_group_input(InputBuilder *builder, uint32 number);
bool make_rank_input(InputBuilder *builder, uint32 number);

// The number of a constant among the values of a family of groups. The maker has a problem when memory has no
// room for it.
uint32 number_of_constant(InputBuilder *builder, uint16 family, const Const *constant);

}  // namespace pg_gpu::plan
