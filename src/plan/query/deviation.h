// Variances and standard deviations, by core's final functions.
#pragma once

#include "plan/query/transition_state.h"

namespace pg_gpu::plan {

// How an aggregate ends: from its serialized state, and from its state.
struct FinalFunctions {
    Oid deserialize;
    Oid finish;
};

Datum finish_deviation(const FinalFunctions &functions, Datum serialized, bool *is_null);

}  // namespace pg_gpu::plan
