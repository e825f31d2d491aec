// What rows are sorted by: from ORDER BY's expressions to a program's keys.
#pragma once

#include "plan/query/aggregate_inputs.h"
#include "plan/query/aggregate_steps.h"

namespace pg_gpu::plan {

// Compiles the query's keys, and the row's place, which is what is wanted of a row.
void compile_sort_keys(Compiler *compiler, const AggregateQuery &query);

// Lays the keys out, once their inputs are made, so that rows compare as the words of their keys do. Returns
// nullptr, or why this can't be done.
const char *lay_out_sort_keys(const InputBuilder &builder, CompiledAggregate *compiled);

}  // namespace pg_gpu::plan
