// gpu.count between bounds, for where the parser has mistaken its call for one with a filter.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::functions {

// gpu.count(index, NULL, high) of a call whose NULL has been taken for a filter and `high`, an array, a
// record or NULL, for its value. ERROR when the index is one that filters are for.
Datum count_below_bound(FunctionCallInfo fcinfo);

}  // namespace pg_gpu::functions
