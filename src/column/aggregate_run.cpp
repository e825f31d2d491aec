#include "column/aggregate_run.h"

#include "column/aggregate_steps.h"
#include "gpu_engine/aggregate_sums.h"

namespace pg_gpu::column {

using gpu_engine::Accumulator;
using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;
using gpu_engine::AggregateOutcome;
using gpu_engine::AggregateProgram;
using gpu_engine::no_aggregate_step;
using gpu_engine::StepValues;

namespace {

// What a part's batches are added up with.
struct Run {
    const AggregateProgram *program;
    StepBatch batch;
    AggregateGroups *groups;
    uint64 **keys;    // by word, kBatch
    uint32 *numbers;  // kBatch: each row's group
    uint8 *counted;   // kBatch: rows that an accumulator takes
};

}  // namespace

// ---- groups -----------------------------------------------------------------------------------------------

static bool find_numbers(Run *run) {
    for (uint32 word = 0; word < run->program->key_words; word++)
        memset(run->keys[word], 0, run->batch.count * sizeof(uint64));
    for (uint32 i = 0; i < run->program->key_count; i++)
        gpu_engine::add_key_tile(run->program->key[i], compute_step(&run->batch, run->program->key[i].step),
                                 run->batch.count, run->keys[run->program->key[i].word]);
    return find_groups(run->groups, run->keys, run->batch.count, run->numbers);
}

// ---- accumulators -----------------------------------------------------------------------------------------

// The map whose places a step's results are; nullptr: they are numbers.
static const uint64 *wide_map(const Run &run, uint16 step) {
    if (step == no_aggregate_step ||
        run.program->step[step].operation != gpu_engine::AggregateOperation::input)
        return nullptr;
    const AggregateInput &input = run.batch.inputs[run.program->step[step].left];
    return input.kind == AggregateInputKind::map128 ? static_cast<const uint64 *>(input.values) : nullptr;
}

static void accumulate(Run *run, const Accumulator &accumulator) {
    const auto computed = [run](uint16 step) {
        return step == no_aggregate_step ? nullptr : &compute_step(&run->batch, step);
    };
    const gpu_engine::AccumulatorTile tile = {computed(accumulator.step), computed(accumulator.filter),
                                              wide_map(*run, accumulator.step)};
    const gpu_engine::TileGroups groups = {run->groups->values, run->groups->value_words,
                                           run->program->key_count == 0 ? nullptr : run->numbers};
    if (!gpu_engine::accumulate_tile(accumulator, tile, run->batch.count, groups, run->counted))
        run->batch.has_failed = true;
}

// ---- parts ------------------------------------------------------------------------------------------------

static void begin_run(Run *run, const AggregateParts &parts, const AggregateProgram &program, int part,
                      const AggregateInput *inputs, AggregateGroups *groups) {
    *run = {};
    run->program = &program;
    run->groups = groups;
    begin_steps(&run->batch, program, parts.part[part], parts.format->columns, inputs);
    run->keys = allocate<uint64 *>(program.key_words + 1);
    for (uint32 word = 0; word < program.key_words; word++)
        run->keys[word] = allocate<uint64>(kBatch);
    run->numbers = allocate<uint32>(kBatch);
    run->counted = allocate<uint8>(kBatch);
}

AggregateOutcome aggregate_parts(const AggregateParts &parts, const AggregateProgram &program,
                                 const AggregateInput *const *inputs, AggregateGroups *groups) {
    for (int part = 0; part < parts.count; part++) {
        MemoryContext context =
            AllocSetContextCreate(CurrentMemoryContext, "gpu_column aggregate", ALLOCSET_DEFAULT_SIZES);
        MemoryContext caller = MemoryContextSwitchTo(context);
        Run run;
        begin_run(&run, parts, program, part, inputs[part], groups);
        const bool has_room = for_batches(&run.batch, parts.part[part], 1, [&](uint64, uint32) {
            if (program.filter != no_aggregate_step && !choose_passing(&run.batch, program.filter))
                return true;
            if (program.key_count > 0 && !find_numbers(&run))
                return false;
            for (uint32 i = 0; i < program.accumulator_count; i++)
                accumulate(&run, program.accumulator[i]);
            return !run.batch.has_failed;
        });
        const bool has_failed = run.batch.has_failed;
        MemoryContextSwitchTo(caller);
        MemoryContextDelete(context);
        if (has_failed)
            return AggregateOutcome::failed;
        if (!has_room)
            return AggregateOutcome::too_many_groups;
    }
    return AggregateOutcome::answered;
}

bool select_by_step(const AggregateParts &parts, const AggregateProgram &program, uint16 step,
                    const AggregateInput *const *inputs, uint64 *const *selected) {
    bool has_failed = false;
    for (int part = 0; part < parts.count && !has_failed; part++) {
        MemoryContext context =
            AllocSetContextCreate(CurrentMemoryContext, "gpu_column filter", ALLOCSET_DEFAULT_SIZES);
        MemoryContext caller = MemoryContextSwitchTo(context);
        Run run;
        begin_run(&run, parts, program, part, inputs[part], nullptr);
        for_batches(&run.batch, parts.part[part], 1, [&](uint64 first, uint32 groups) {
            const bool any = choose_passing(&run.batch, step);
            if (any && run.batch.positions == nullptr)
                return true;
            uint64 passing[kBatchGroups] = {};
            for (uint32 i = 0; any && i < run.batch.count; i++)
                passing[run.batch.positions[i] / kGroup] |= UINT64CONST(1)
                                                            << (run.batch.positions[i] % kGroup);
            memcpy(selected[part] + first, passing, groups * sizeof(uint64));
            return true;
        });
        has_failed = run.batch.has_failed;
        MemoryContextSwitchTo(caller);
        MemoryContextDelete(context);
    }
    return !has_failed;
}

}  // namespace pg_gpu::column
