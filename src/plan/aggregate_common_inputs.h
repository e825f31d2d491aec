// Inputs whose numbers mean the same in all parts: groups of equal results, and results' ranks.
#pragma once

#include "plan/aggregate_inputs.h"

namespace pg_gpu::plan {

// Make an input of every part. They return false when there is a problem.
bool make_group_input(InputMaker *maker, uint32 number);
bool make_rank_input(InputMaker *maker, uint32 number);

}  // namespace pg_gpu::plan
