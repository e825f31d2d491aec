// A query as it lies in the transfer buffer: arrays, one behind the other.
#pragma once

#include "column/query/engine_request.h"

namespace pg_gpu::column {

// How many tests of runs the message has.
uint64 count_tests(const EngineQuery &prepared);

uint64 bytes_of_query(const EngineQuery &prepared);
// Writes the query into the buffer, from `at` on, and where its parts are into the message.
void put_query(const EngineQuery &prepared, uint64 at, gpu_engine::protocol::RunQuery *message);

}  // namespace pg_gpu::column
