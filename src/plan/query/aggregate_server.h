// Asking the server for the groups of all of a request's tables.
#pragma once

#include "plan/query/aggregate_inputs.h"
#include "plan/query/aggregate_views.h"

namespace pg_gpu::plan {

// A program, and what its groups may take.
struct ServerRequest {
    const AllRows *rows;
    const column::AggregateParts *parts;
    const gpu_engine::AggregateProgram *program;
    const gpu_engine::AggregateInput *const *inputs;
    size_t memory;
    uint64 expected;
    gpu_engine::AggregateTop top;  // of a single member's groups
    uint64 *counted;               // with top_only_counts; see aggregate_on_server
};

// All members' groups together, in the current memory context: those of members that the session reads itself
// are added. False: gpu.stat reports why not.
bool find_groups_on_server(const ServerRequest &requested, gpu_engine::GroupTable *groups);

// Lets gpu.stat tell why the server isn't asked after all; returns false.
bool decline(const AllRows &rows, const char *problem);

// Is it processors that the server would look through runs with?
bool uses_host(const AllRows &rows);

// Does the session have so little to do, because it knows which rows pass conditions, that it is done before
// those processors are, which look up each row's codes, but with more threads?
bool is_local_faster(const InputBuilder &builder, const CompiledAggregate &compiled);

// How many entries the runs that the server looks through have, and one more.
uint64 count_entries(const AllRows &rows);

// Tells of each part whom to ask which codes it has, in the current memory context.
const PartOnServer *find_parts_on_server(const AllRows &rows, const column::AggregateParts &parts);

}  // namespace pg_gpu::plan
