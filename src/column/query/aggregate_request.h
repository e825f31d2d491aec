// What gpu_column asks the server process about groups of rows.
#pragma once

#include "column/scan/request.h"
#include "gpu_engine/aggregate.h"

namespace pg_gpu::column {

extern const client::RequestCost aggregate_cost;

// The groups that are computed of the live rows that pass all tests (gpu_engine/aggregate.h).
struct GroupsRequest {
    const gpu_engine::AggregateProgram *program;
    const gpu_engine::AggregateInput *const *inputs;  // by run of the set; of runs that aren't empty
    uint64 max_groups;                                // rows on unknown blocks among them
    gpu_engine::AggregateTop top;
    client::Request request;  // as it was chosen by
};

// Records lie one behind the other, each of `words`: a group's key and its accumulators. Those of unresolved
// rows, which lie on unknown blocks, have the row's TID (heap block << 16 | offset number) in one more. They
// are the caller's, in the current memory context. Without a result, of which the outcome is the reason,
// there are none.
struct GroupsResult {
    gpu_engine::AggregateOutcome outcome;
    uint32 words;
    uint64 groups;
    uint64 unresolved;
    uint64 counted;  // groups, where only their number was asked for and no row is unresolved
    uint64 *group_records;
    uint64 *unresolved_records;
};

bool aggregate_column(const client::RunSet &set, const client::Choice &choice, const RowTests &tests,
                      const GroupsRequest &prepared, const client::VisibleBlocks &visible,
                      GroupsResult *result);

}  // namespace pg_gpu::column
