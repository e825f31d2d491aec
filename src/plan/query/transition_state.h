// Transition states as core's partial aggregates give them, for core's final ones to take.
#pragma once

#include "column/format/numeric.h"
#include "memory.h"

namespace pg_gpu::plan {

using column::Int128;

// What core's transition state of a variance says.
struct Deviation {
    uint64 count;
    Int128 sum;
    Int128 squares;
};

// All of them in the current memory context.
Datum state_of_deviation(const Deviation &deviation);  // as numeric_poly_serialize gives it
Datum state_of_squares(uint64 count, Numeric sum, Numeric squares, int scale,
                       uint64 nans);  // as numeric_serialize gives it

// Calls an aggregate's support function, which looks for the memory of its state there where an Agg node has
// it.
Datum call_support(Oid function, NullableDatum first, NullableDatum second, bool *is_null);

}  // namespace pg_gpu::plan
