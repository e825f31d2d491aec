// Values as numbers: for histograms and sums.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::functions {

enum class NumberKind : uint8 { None, Integer, Float, Numeric, Instant };

NumberKind number_kind(Oid type);

// As SQL's cast to float8; dates and timestamps as epoch seconds, as date_part('epoch', …) gives them.
double number_as_double(Oid type, Datum value);

// The value itself for a numeric.
Datum number_as_numeric(Oid type, Datum value);

}  // namespace pg_gpu::functions
