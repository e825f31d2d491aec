// The first rows in an order, found from an index.
#pragma once

#include "column/scan/mirror.h"
#include "plan/query/aggregate_output.h"

namespace pg_gpu::plan {

// Puts them into the answer, once their keys' inputs are made. Returns nullptr, or why not.
const char *find_rows(const AggregateRequest &request, const InputBuilder &builder,
                      CompiledAggregate *compiled, AggregateOutput *output);

// Asks the server. Returns false when the session must look through the runs, and gpu.stat reports why.
bool find_rows_on_server(const AggregateRequest &request, column::RemoteRows *rows,
                         const InputBuilder &builder, CompiledAggregate *compiled, AggregateOutput *output);

}  // namespace pg_gpu::plan
