// Variances and standard deviations of integers, by core's final functions.
#pragma once

#include "plan/aggregate_state.h"

namespace pg_gpu::plan {

// How an aggregate ends: from its serialized state, and from its state.
struct FinalFunctions {
    Oid deserialize;
    Oid finish;
};

// The aggregate's value, in the current memory context.
Datum finish_deviation(const FinalFunctions &functions, const Deviation &deviation, bool *is_null);

}  // namespace pg_gpu::plan
