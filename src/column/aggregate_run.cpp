#include "column/aggregate_run.h"

#include "column/aggregate_steps.h"

namespace pg_gpu::column {

using gpu_engine::Accumulator;
using gpu_engine::AccumulatorKind;
using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;
using gpu_engine::AggregateKey;
using gpu_engine::AggregateOutcome;
using gpu_engine::AggregateProgram;
using gpu_engine::no_aggregate_step;

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UnsignedInt128;

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

static inline bool is_true(const StepResult &truth, uint32 i) {
    return truth.values[i] != 0 && (truth.nulls == nullptr || truth.nulls[i] == 0);
}

// Leaves the chosen rows that pass; false when there is none.
static bool choose_passing(Run *run, uint16 filter) {
    const StepResult &truth = compute_step(&run->batch, filter);
    const uint16 *before = run->batch.positions;
    uint32 count = 0;
    for (uint32 i = 0; i < run->batch.count; i++) {
        const uint16 position = before == nullptr ? static_cast<uint16>(i) : before[i];
        run->positions[count] = position;
        count += is_true(truth, i) ? 1 : 0;
    }
    if (count < run->batch.count)
        choose_rows(&run->batch, run->positions, count);
    return count > 0;
}

// ---- groups -----------------------------------------------------------------------------------------------

static void add_key(Run *run, const AggregateKey &key) {
    const StepResult &step = compute_step(&run->batch, key.step);
    // Damaged codes stay within their bits, too.
    const uint64 mask = low_bits(key.bits);
    const auto least = static_cast<uint64>(key.least);
    const uint64 first = key.may_be_null ? 1 : 0;
    uint64 *words = run->keys[key.word];
    for (uint32 i = 0; i < run->batch.count; i++) {
        const bool is_null = step.nulls != nullptr && step.nulls[i] != 0;
        const uint64 code = is_null ? 0 : (static_cast<uint64>(step.values[i]) - least + first) & mask;
        words[i] |= key.bits == 0 ? 0 : code << key.shift;
    }
}

static bool find_numbers(Run *run) {
    for (uint32 word = 0; word < run->program->key_words; word++)
        memset(run->keys[word], 0, run->batch.count * sizeof(uint64));
    for (uint32 i = 0; i < run->program->key_count; i++)
        add_key(run, run->program->key[i]);
    return find_groups(run->groups, run->keys, run->batch.count, run->numbers);
}

// ---- accumulators -----------------------------------------------------------------------------------------

// Which rows an accumulator takes; nullptr: all.
static const uint8 *find_counted(Run *run, const Accumulator &accumulator, const StepResult *argument) {
    const uint8 *nulls = argument == nullptr ? nullptr : argument->nulls;
    if (nulls == nullptr && accumulator.filter == no_aggregate_step)
        return nullptr;
    const StepResult *filter =
        accumulator.filter == no_aggregate_step ? nullptr : &compute_step(&run->batch, accumulator.filter);
    for (uint32 i = 0; i < run->batch.count; i++)
        run->counted[i] =
            (nulls == nullptr || nulls[i] == 0) && (filter == nullptr || is_true(*filter, i)) ? 1 : 0;
    return run->counted;
}

// Calls add(words, i) for the rows that count, with the place of the accumulator's words.
template <typename Add>
static inline void for_counted(const Run &run, const Accumulator &accumulator, const uint8 *counted,
                               Add add) {
    uint64 *values = run.groups->values + accumulator.word;
    const uint64 stride = run.groups->value_words;
    for (uint32 i = 0; i < run.batch.count; i++)
        if (counted == nullptr || counted[i] != 0)
            add(values + run.numbers[i] * stride, i);
}

static inline void add_wide(uint64 *words, UnsignedInt128 value) {
    const UnsignedInt128 sum = ((UnsignedInt128{words[1]} << 64) | words[0]) + value;
    words[0] = static_cast<uint64>(sum);
    words[1] = static_cast<uint64>(sum >> 64);
}

// All rows are of the first group: what they add up to stays in registers.
static void accumulate_all(Run *run, const Accumulator &accumulator, const int64 *values,
                           const uint8 *counted) {
    uint64 *words = run->groups->values + accumulator.word;
    const uint32 count = run->batch.count;
    switch (accumulator.kind) {
        case AccumulatorKind::count: {
            uint64 rows = counted == nullptr ? count : 0;
            for (uint32 i = 0; counted != nullptr && i < count; i++)
                rows += counted[i];
            words[0] += rows;
            return;
        }
        case AccumulatorKind::sum: {
            Int128 sum = 0;
            for (uint32 i = 0; i < count; i++)
                sum += counted == nullptr || counted[i] != 0 ? values[i] : 0;
            add_wide(words, static_cast<UnsignedInt128>(sum));
            return;
        }
        case AccumulatorKind::sum_squares: {
            Int128 sum = 0;
            for (uint32 i = 0; i < count; i++)
                sum += counted == nullptr || counted[i] != 0 ? Int128{values[i]} * values[i] : 0;
            add_wide(words, static_cast<UnsignedInt128>(sum));
            return;
        }
        case AccumulatorKind::least: {
            auto least = static_cast<int64>(words[0]);
            for (uint32 i = 0; i < count; i++)
                least = counted == nullptr || counted[i] != 0 ? Min(least, values[i]) : least;
            words[0] = static_cast<uint64>(least);
            return;
        }
        case AccumulatorKind::greatest: {
            auto greatest = static_cast<int64>(words[0]);
            for (uint32 i = 0; i < count; i++)
                greatest = counted == nullptr || counted[i] != 0 ? Max(greatest, values[i]) : greatest;
            words[0] = static_cast<uint64>(greatest);
            return;
        }
    }
}

static void accumulate_by_group(Run *run, const Accumulator &accumulator, const int64 *values,
                                const uint8 *counted) {
    switch (accumulator.kind) {
        case AccumulatorKind::count:
            for_counted(*run, accumulator, counted, [](uint64 *words, uint32) { words[0]++; });
            return;
        case AccumulatorKind::sum:
            for_counted(*run, accumulator, counted, [values](uint64 *words, uint32 i) {
                add_wide(words, static_cast<UnsignedInt128>(Int128{values[i]}));
            });
            return;
        case AccumulatorKind::sum_squares:
            for_counted(*run, accumulator, counted, [values](uint64 *words, uint32 i) {
                add_wide(words, static_cast<UnsignedInt128>(Int128{values[i]} * values[i]));
            });
            return;
        case AccumulatorKind::least:
            for_counted(*run, accumulator, counted, [values](uint64 *words, uint32 i) {
                words[0] = static_cast<uint64>(Min(static_cast<int64>(words[0]), values[i]));
            });
            return;
        case AccumulatorKind::greatest:
            for_counted(*run, accumulator, counted, [values](uint64 *words, uint32 i) {
                words[0] = static_cast<uint64>(Max(static_cast<int64>(words[0]), values[i]));
            });
            return;
    }
}

// The map whose places a step's results are; nullptr: they are numbers.
static const uint64 *wide_map(const Run &run, uint16 step) {
    if (step == no_aggregate_step ||
        run.program->step[step].operation != gpu_engine::AggregateOperation::input)
        return nullptr;
    const AggregateInput &input = run.batch.inputs[run.program->step[step].left];
    return input.kind == AggregateInputKind::map128 ? static_cast<const uint64 *>(input.values) : nullptr;
}

static void accumulate_wide(Run *run, const Accumulator &accumulator, const int64 *places, const uint64 *map,
                            const uint8 *counted) {
    for_counted(*run, accumulator, counted, [places, map](uint64 *words, uint32 i) {
        const uint64 *value = map + 2 * static_cast<uint64>(places[i]);
        add_wide(words, UnsignedInt128{value[1]} << 64 | value[0]);
    });
}

static void accumulate(Run *run, const Accumulator &accumulator) {
    const StepResult *argument =
        accumulator.step == no_aggregate_step ? nullptr : &compute_step(&run->batch, accumulator.step);
    const uint8 *counted = find_counted(run, accumulator, argument);
    const int64 *values = argument == nullptr ? nullptr : argument->values;
    const uint64 *map =
        accumulator.kind == AccumulatorKind::count ? nullptr : wide_map(*run, accumulator.step);
    if (map != nullptr)
        accumulate_wide(run, accumulator, values, map, counted);
    else if (run->program->key_count == 0)
        accumulate_all(run, accumulator, values, counted);
    else
        accumulate_by_group(run, accumulator, values, counted);
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
    run->numbers = allocate_zeroed<uint32>(kBatch);
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
