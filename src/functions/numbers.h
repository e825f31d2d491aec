// Values as numbers: for histograms and sums.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::functions {

enum class NumberKind : uint8 { None, Integer, Float, Numeric, Instant };

NumberKind number_kind(Oid type);

// Converts a value as SQL's cast to float8 does, and dates and timestamps to epoch seconds, as
// date_part('epoch', …) gives them.
double number_as_double(Oid type, Datum value);

// Returns the value itself where it is a numeric.
Datum number_as_numeric(Oid type, Datum value);

}  // namespace pg_gpu::functions
