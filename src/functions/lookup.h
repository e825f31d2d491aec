// gpu.lookup, as the function and as the planner's lookup join.
#pragma once

#include "functions/index_access.h"
#include "kary/gpu_kary.h"

extern "C" PGDLLEXPORT Datum pg_gpu_lookup(PG_FUNCTION_ARGS);

namespace pg_gpu::functions {

// Finds the entries of all keys of an array, after it has checked that the array's elements can be compared
// with the index's keys.
kary::LookupResult look_up_array(const OpenIndex &open, ArrayType *array, Snapshot snapshot);

}  // namespace pg_gpu::functions
