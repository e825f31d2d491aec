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
    uint16 *positions;  // kBatch
    uint64 **keys;      // by word, kBatch
    uint32 *numbers;    // kBatch: each row's group
    uint8 *counted;     // kBatch: rows that an accumulator takes
};

}  // namespace

// ---- rows -------------------------------------------------------------------------------------------------

// The places of set bits; their number.
static uint32 list_bits(const uint64 *bits, uint32 words, uint16 *positions) {
    uint32 count = 0;
    for (uint32 word = 0; word < words; word++)
        for (uint64 left = bits[word]; left != 0; left &= left - 1)
            positions[count++] =
                static_cast<uint16>(word * kGroup + static_cast<uint32>(__builtin_ctzll(left)));
    return count;
}

// Chooses the selected rows; false when there is none.
static bool choose_selected(Run *run, const uint64 *selected, uint32 words) {
    uint64 all = PG_UINT64_MAX;
    uint64 any = 0;
    for (uint32 word = 0; word < words; word++) {
        all &= selected[word];
        any |= selected[word];
    }
    if (all != PG_UINT64_MAX && any != 0)
        choose_rows(&run->batch, run->positions, list_bits(selected, words, run->positions));
    return any != 0;
}

// Leaves the chosen rows that pass; false when there is none.
static bool choose_passing(Run *run, uint16 filter) {
    const StepValues &truth = compute_step(&run->batch, filter);
    const uint16 *before = run->batch.positions;
    uint32 count = 0;
    for (uint32 i = 0; i < run->batch.count; i++) {
        const uint16 position = before == nullptr ? static_cast<uint16>(i) : before[i];
        run->positions[count] = position;
        count += gpu_engine::is_true_at(truth, i) ? 1 : 0;
    }
    if (count < run->batch.count)
        choose_rows(&run->batch, run->positions, count);
    return count > 0;
}

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
    run->positions = allocate<uint16>(kBatch);
    run->keys = allocate<uint64 *>(program.key_words + 1);
    for (uint32 word = 0; word < program.key_words; word++)
        run->keys[word] = allocate<uint64>(kBatch);
    run->numbers = allocate<uint32>(kBatch);
    run->counted = allocate<uint8>(kBatch);
}

// Calls work(first group, groups) for the batches that have selected rows, which are chosen then. It returns
// whether to go on.
template <typename Work>
static bool for_batches(Run *run, const AggregatePart &part, Work work) {
    const uint64 words = groups_of(part.rows);
    for (uint64 first = 0; first < words; first += kBatchGroups) {
        const auto groups = static_cast<uint32>(Min(words - first, uint64{kBatchGroups}));
        bool any = false;
        for (uint32 i = 0; i < groups && !any; i++)
            any = part.selected[first + i] != 0;
        if (!any)
            continue;
        CHECK_FOR_INTERRUPTS();
        begin_batch(&run->batch, first, groups);
        if (choose_selected(run, part.selected + first, groups) && !work(first, groups))
            return false;
    }
    return true;
}

AggregateOutcome aggregate_parts(const AggregateParts &parts, const AggregateProgram &program,
                                 const AggregateInput *const *inputs, AggregateGroups *groups) {
    for (int part = 0; part < parts.count; part++) {
        MemoryContext context =
            AllocSetContextCreate(CurrentMemoryContext, "gpu_column aggregate", ALLOCSET_DEFAULT_SIZES);
        MemoryContext caller = MemoryContextSwitchTo(context);
        Run run;
        begin_run(&run, parts, program, part, inputs[part], groups);
        const bool has_room = for_batches(&run, parts.part[part], [&](uint64, uint32) {
            if (program.filter != no_aggregate_step && !choose_passing(&run, program.filter))
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
        for_batches(&run, parts.part[part], [&](uint64 first, uint32 groups) {
            const bool any = choose_passing(&run, step);
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
