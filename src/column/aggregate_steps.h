// A program's steps, computed for some rows of a part at a time.
#pragma once

#include "column/aggregate_parts.h"
#include "gpu_engine/aggregate_steps.h"

namespace pg_gpu::column {

// A step's results for the rows of a batch, and the room for them.
struct StepResult {
    bool is_computed;
    gpu_engine::StepValues found;
    int64 *room;
    uint8 *null_room;
};

// The rows that are looked at together: some of kBatch neighbours.
struct StepBatch {
    const gpu_engine::AggregateProgram *program;
    const AggregatePart *part;
    const gpu_engine::AggregateInput *inputs;
    PartCodes *codes;         // by column; those without a part aren't used
    TidCursor *tids;          // nullptr: no step asks for TIDs
    uint64 first;             // group of rows
    uint32 count;             // rows
    const uint16 *positions;  // of these rows; nullptr: the first `count`
    uint64 *places;           // kBatch
    bool has_places;
    StepResult *results;  // by step
    bool has_failed;
};

// In the current memory context, for batches of a part.
void begin_steps(StepBatch *batch, const gpu_engine::AggregateProgram &program, const AggregatePart &part,
                 int columns, const gpu_engine::AggregateInput *inputs);

// Goes on to these groups of rows. The rows are all of them until `choose_rows`.
void begin_batch(StepBatch *batch, uint64 first, uint32 groups);

// Forgets what has been computed: other rows are looked at from now on.
void choose_rows(StepBatch *batch, const uint16 *positions, uint32 count);

// The step's results, computed with all that they need unless they are there.
const gpu_engine::StepValues &compute_step(StepBatch *batch, uint16 step);

}  // namespace pg_gpu::column
