// A program's steps, computed for some rows of a part at a time.
#pragma once

#include "column/query/aggregate_parts.h"
#include "gpu_engine/range_guide.h"

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
    const gpu_engine::RangeGuide **guides;  // by input; nullptr: it has none
    uint32 *ranges;                         // kBatch: room for those of rows
    PartCodes *codes;                       // by column; those without a part aren't used
    TidCursor *tids;                        // nullptr: no step asks for TIDs
    uint64 first;                           // group of rows
    uint32 count;                           // rows
    const uint16 *positions;                // of these rows; nullptr: the first `count`
    uint16 *chosen;                         // kBatch, and more (list_bits): room for positions
    uint64 choice;                          // a number of the rows: others have another one
    uint64 *places;                         // kBatch
    bool has_places;
    StepResult *results;  // by step
    bool has_failed;
};

// Allocates in the current memory context what batches of a part need.
void begin_steps(StepBatch *batch, const gpu_engine::AggregateProgram &program, const AggregatePart &part,
                 int columns, const gpu_engine::AggregateInput *inputs);

// Goes on to these groups of rows. The rows are all of them until `choose_rows`.
void begin_batch(StepBatch *batch, uint64 first, uint32 groups);

// Forgets what has been computed: other rows are looked at from now on.
void choose_rows(StepBatch *batch, const uint16 *positions, uint32 count);

// Chooses the selected rows, a bit each; false when there is none.
bool choose_selected(StepBatch *batch, const uint64 *selected, uint32 words);
// Leaves the chosen rows of which the truth value is true; false when there is none.
bool choose_passing(StepBatch *batch, uint16 filter);

// Leaves the chosen rows that `for_rows` tells to be left: it calls take(i, is_left) for each. False when
// there is none.
template <typename ForRows>
bool leave_rows(StepBatch *batch, ForRows for_rows) {
    const uint16 *before = batch->positions;
    uint32 count = 0;
    for_rows([&](uint32 i, bool is_left) {
        const uint16 position = before == nullptr ? static_cast<uint16>(i) : before[i];
        batch->chosen[count] = position;
        count += is_left ? 1 : 0;
    });
    if (count < batch->count)
        choose_rows(batch, batch->chosen, count);
    return count > 0;
}

// The step's results, computed with all that they need unless they are there.
const gpu_engine::StepValues &compute_step(StepBatch *batch, uint16 step);

// Calls work(first group, groups) for the batches that have selected rows, which are chosen then: one batch
// of every so many. It returns whether to go on.
template <typename Work>
bool for_batches(StepBatch *batch, const AggregatePart &part, uint64 every, Work work) {
    const uint64 words = groups_of(part.rows);
    for (uint64 first = 0; first < words; first += every * kBatchGroups) {
        const auto groups = static_cast<uint32>(Min(words - first, uint64{kBatchGroups}));
        if (!is_any_set(part.selected + first, groups))
            continue;
        CHECK_FOR_INTERRUPTS();
        begin_batch(batch, first, groups);
        if (choose_selected(batch, part.selected + first, groups) && !work(first, groups))
            return false;
    }
    return true;
}

}  // namespace pg_gpu::column
