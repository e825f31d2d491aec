// The first rows in the order of a program's keys.
#pragma once

#include <memory>

#include "gpu_engine/aggregate_merge.h"
#include "gpu_engine/column.h"
#include "host/column/aggregate/output.h"
#include "host/engine.h"

namespace gpu_engine::host {

// The first of all rows that several results of such a request have (gpu_engine/aggregate_merge.h). The
// result's plan is the request's. Throws Failure.
void merge_top_rows(MemoryBudget &budget, const AggregateMerge &merge, HostAggregateOutput *output);

// Answers a request with top_of_rows. Throws Failure.
std::unique_ptr<AggregateOutput> find_top_rows(HostEngine &engine, const Workers &workers,
                                               const AggregateRequest &request);

}  // namespace gpu_engine::host
