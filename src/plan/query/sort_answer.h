// The first rows in an order, found from an index.
#pragma once

#include "column/scan/mirror.h"
#include "plan/query/aggregate_answer.h"

namespace pg_gpu::plan {

// Puts them into the answer, once their keys' inputs are made. Returns nullptr, or why not.
const char *find_rows(const AggregateQuestion &question, const InputMaker &maker, CompiledAggregate *compiled,
                      AggregateAnswer *answer);

// Asks the server. Returns false when the session must look through the runs, and gpu.stat tells why.
bool find_rows_on_server(const AggregateQuestion &question, column::RemoteRows *rows, const InputMaker &maker,
                         CompiledAggregate *compiled, AggregateAnswer *answer);

}  // namespace pg_gpu::plan
