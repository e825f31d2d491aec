// The session's result of a request of the first rows in an order (gpu_engine/top_rows.h).
#pragma once

#include "column/query/aggregate_parts.h"
#include "column/scan/mirror.h"
#include "gpu_engine/top_rows.h"

namespace pg_gpu::column {

// Rows with the memory that they lie in, of which at most `memory` bytes are taken.
struct KeptRows {
    gpu_engine::TopRows rows;
    size_t memory;
};

// Allocates in the current memory context.
KeptRows begin_cached_rows(const gpu_engine::AggregateProgram &program, const gpu_engine::AggregateTop &top,
                           size_t memory);

// Adds the parts' selected rows to `kept`, which has none, and leaves those that may be among the first.
// Means nothing when a run is stale afterwards. The outcome too_many_groups says that memory has no room for
// the rows.
gpu_engine::AggregateOutcome add_top_rows(const AggregateParts &parts,
                                          const gpu_engine::AggregateProgram &program,
                                          const gpu_engine::AggregateInput *const *inputs,
                                          const gpu_engine::AggregateTop &top, KeptRows *kept);

// Adds the view's rows that pass its tests and the program's filter, as aggregate_on_server does groups. So
// many are expected to come.
bool find_top_rows_on_server(RemoteRows *rows, const AggregateParts &parts,
                             const gpu_engine::AggregateProgram &program,
                             const gpu_engine::AggregateInput *const *inputs,
                             const gpu_engine::AggregateTop &top, uint64 expected, KeptRows *kept);

}  // namespace pg_gpu::column
