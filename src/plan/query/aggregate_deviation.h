// Variances and standard deviations, by core's final functions.
#pragma once

#include "plan/query/aggregate_state.h"

namespace pg_gpu::plan {

// How an aggregate ends: from its serialized state, and from its state.
struct FinalFunctions {
    Oid deserialize;
    Oid finish;
};

// Which of the variances of floats. What is added up are integers that count the power of 2 `unit`.
struct FloatDeviation {
    bool of_sample;
    bool is_root;  // a standard deviation
    int16 unit;
};

// Sums of numbers that are 10^scale times the aggregate's arguments, less `centre`. The arguments show so
// many digits behind the point.
struct WideDeviation {
    uint64 count;
    Int128 sum;
    Int128 squares;
    Int128 centre;
    int scale;
    int shown;
};

// As numeric_serialize gives it; in the current memory context, like the aggregate's value.
Datum state_of_wide_deviation(const WideDeviation &deviation);

// By count, sum and sum of squares of integers, of which there is at least one. Raises PostgreSQL's error
// where the sum of squared differences is too large.
float8 deviation_of_floats(const FloatDeviation &deviation, const Deviation &sums, bool *is_null);

Datum finish_deviation(const FinalFunctions &functions, Datum serialized, bool *is_null);

}  // namespace pg_gpu::plan
