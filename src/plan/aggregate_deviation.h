// Variances and standard deviations of integers, by core's final functions.
#pragma once

#include "plan/aggregate_numeric.h"

namespace pg_gpu::plan {

// How an aggregate ends: from its serialized state, and from its state.
struct FinalFunctions {
    Oid deserialize;
    Oid finish;
};

// What core's transition state of such an aggregate says.
struct Deviation {
    uint64 count;
    Int128 sum;
    Int128 squares;
};

// The aggregate's value, in the current memory context.
Datum finish_deviation(const FinalFunctions &functions, const Deviation &state, bool *is_null);

}  // namespace pg_gpu::plan
