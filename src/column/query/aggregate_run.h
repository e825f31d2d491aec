// The session's result of a request of aggregates: a program of gpu_engine/aggregate.h run over the parts of
// a view, in one thread, thousands of rows at a time.
#pragma once

#include "column/query/aggregate_groups.h"
#include "column/query/aggregate_parts.h"

namespace pg_gpu::column {

// Adds the parts' selected rows to the groups; inputs[part] are the inputs of a part. Maps have a place for
// each of count_places codes. Means nothing when a run is stale afterwards.
gpu_engine::AggregateOutcome aggregate_parts(const AggregateParts &parts,
                                             const gpu_engine::AggregateProgram &program,
                                             const gpu_engine::AggregateInput *const *inputs,
                                             AggregateGroups *groups);

// Takes the rows out of the parts' selections (selected[part], a bit a row) that don't pass a truth value of
// the program. False when a step failed (AggregateOutcome::failed).
bool select_by_step(const AggregateParts &parts, const gpu_engine::AggregateProgram &program, uint16 step,
                    const gpu_engine::AggregateInput *const *inputs, uint64 *const *selected);

// About how many rows of the parts anything is computed for, if the session does it: those that are only
// counted, or that a condition is known to keep out, take next to no time. kNothingKnown: of no condition it
// is known which rows pass (use_true_rows).
inline constexpr uint64 kNothingKnown = PG_UINT64_MAX;
uint64 count_computed_rows(const AggregateParts &parts, const gpu_engine::AggregateProgram &program);

}  // namespace pg_gpu::column
