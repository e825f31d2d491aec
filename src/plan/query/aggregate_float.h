// Exact sums of floats, back as floats.
#pragma once

#include "plan/query/aggregate_numeric.h"

namespace pg_gpu::plan {

// number * 2^unit, rounded to the nearest float, of two that are equally near to the even one. Raises
// PostgreSQL's error where that is too large. The least numbers that floats can differ by are multiples of
// 2^unit.
double float8_of_sum(Int128 number, int unit);
float float4_of_sum(Int128 number, int unit);

}  // namespace pg_gpu::plan
