#include "column/query/aggregate_run.h"

#include "column/query/aggregate_filters.h"
#include "column/query/aggregate_packed.h"
#include "column/query/aggregate_steps.h"
#include "column/format/packing.h"
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

// A filter of accumulators.
struct Filter {
    KnownFilter known;
    uint64 *passing;  // kBatchGroups: rows of the batch that pass as far as known
    uint32 count;     // of these rows; kMany: so many that steps are better computed for all
};

// What a part's batches are added up with.
struct Run {
    const AggregateProgram *program;
    StepBatch batch;
    AggregateGroups *groups;
    uint64 **keys;       // by word, kBatch
    uint32 *numbers;     // kBatch: each row's group
    uint8 *counted;      // kBatch: rows that an accumulator takes
    AggregatePart part;  // of the rows that are selected those that pass the program's filter as far as known
    KnownFilter where;   // that filter
    Filter *filters;     // of accumulators: those of which conditions are known by row
    uint32 filter_count;
    uint16 *places;  // kBatch, and more (list_bits): where rows are that pass one
    bool *is_added;  // of each accumulator: is it added up without steps?
};

constexpr uint32 kMany = PG_UINT32_MAX;

}  // namespace

// ---- groups -----------------------------------------------------------------------------------------------

// The groups of a single key are numbered by it if they are dense.
static void take_numbers(Run *run) {
    const gpu_engine::AggregateKey key = run->program->key[0];
    const StepValues &codes = compute_step(&run->batch, key.step);
    const int64 *values = codes.values;
    uint32 *numbers = run->numbers;
    if (codes.nulls == nullptr)
        for (uint32 i = 0; i < run->batch.count; i++)
            numbers[i] = static_cast<uint32>(gpu_engine::key_code(key, values[i], false));
    else
        for (uint32 i = 0; i < run->batch.count; i++)
            numbers[i] = static_cast<uint32>(gpu_engine::key_code(key, values[i], codes.nulls[i] != 0));
}

static bool find_numbers(Run *run) {
    if (run->groups->is_dense && run->program->key_count == 1) {
        take_numbers(run);
        return true;
    }
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

static void accumulate(Run *run, const Accumulator &accumulator, uint16 filter) {
    const auto computed = [run](uint16 step) {
        return step == no_aggregate_step ? nullptr : &compute_step(&run->batch, step);
    };
    const gpu_engine::AccumulatorTile tile = {computed(accumulator.step), computed(filter),
                                              wide_map(*run, accumulator.step)};
    const gpu_engine::TileGroups groups = {run->groups->values, run->groups->value_words,
                                           run->program->key_count == 0 ? nullptr : run->numbers};
    if (!gpu_engine::accumulate_tile(accumulator, tile, run->batch.count, groups, run->counted))
        run->batch.has_failed = true;
}

// ---- filters ----------------------------------------------------------------------------------------------

static void begin_where(Run *run) {
    run->where = read_filter(*run->program, run->part, run->program->filter);
    if (run->where.row_count == 0)
        return;
    const uint64 groups = groups_of(run->part.rows);
    auto *selected = allocate<uint64>(groups + 1);
    memcpy(selected, run->part.selected, groups * sizeof(uint64));
    apply_known(run->where, 0, groups, selected);
    run->part.selected = selected;
}

static void add_filter(Run *run, uint16 step) {
    for (uint32 i = 0; i < run->filter_count; i++)
        if (run->filters[i].known.step == step)
            return;
    const KnownFilter known = read_filter(*run->program, run->part, step);
    if (known.row_count > 0)
        run->filters[run->filter_count++] = {known, allocate<uint64>(kBatchGroups), 0};
}

static void begin_filters(Run *run) {
    run->filters = allocate<Filter>(run->program->accumulator_count + 1);
    run->places = allocate<uint16>(kBatch + kMorePlaces);
    for (uint32 i = 0; run->part.true_rows != nullptr && i < run->program->accumulator_count; i++)
        if (!run->is_added[i] && run->program->accumulator[i].filter != no_aggregate_step)
            add_filter(run, run->program->accumulator[i].filter);
}

static const Filter *find_filter(const Run &run, uint16 step) {
    for (uint32 i = 0; i < run.filter_count; i++)
        if (run.filters[i].known.step == step)
            return &run.filters[i];
    return nullptr;
}

// Finds the batch's rows that pass, among those that are chosen.
static void apply_filters(Run *run, uint64 first, uint32 groups) {
    constexpr uint32 rows_per_passing = 4;
    uint64 chosen[kBatchGroups];
    if (run->filter_count == 0)
        return;
    memcpy(chosen, run->part.selected + first, groups * sizeof(uint64));
    if (run->where.other_count > 0 && run->batch.positions != nullptr) {
        memset(chosen, 0, sizeof(chosen));
        for (uint32 i = 0; i < run->batch.count; i++)
            chosen[run->batch.positions[i] / kGroup] |= UINT64CONST(1) << (run->batch.positions[i] % kGroup);
    }
    for (uint32 i = 0; i < run->filter_count; i++) {
        Filter *filter = &run->filters[i];
        memcpy(filter->passing, chosen, groups * sizeof(uint64));
        apply_known(filter->known, first, groups, filter->passing);
        const uint32 count = count_bits(filter->passing, groups);
        filter->count = count > run->batch.count / rows_per_passing ? kMany : count;
    }
}

// Leaves the chosen rows that pass the conditions that aren't known by row; false when there is none.
static bool choose_passing(StepBatch *batch, const KnownFilter &filter) {
    for (uint32 i = 0; i < filter.other_count; i++)
        if (!choose_passing(batch, filter.others[i]))
            return false;
    return true;
}

// Adds up what is filtered by it. Nothing is computed for other rows.
static bool accumulate_passing(Run *run, const Filter &filter, uint32 groups) {
    StepBatch *batch = &run->batch;
    uint16 *chosen = batch->chosen;
    batch->chosen = run->places;
    choose_rows(batch, run->places, list_bits(filter.passing, groups, run->places));
    const bool any = choose_passing(batch, filter.known);
    const bool has_room = !any || run->program->key_count == 0 || find_numbers(run);
    for (uint32 i = 0; i < run->program->accumulator_count && any && has_room; i++)
        if (!run->is_added[i] && run->program->accumulator[i].filter == filter.known.step)
            accumulate(run, run->program->accumulator[i], no_aggregate_step);
    batch->chosen = chosen;
    return has_room;
}

// Adds up the chosen rows. False: there is no room for their groups.
static bool accumulate_batch(Run *run, uint64 first, uint32 groups) {
    if (run->program->key_count > 0 && !find_numbers(run))
        return false;
    apply_filters(run, first, groups);
    for (uint32 i = 0; i < run->program->accumulator_count; i++) {
        const Accumulator &accumulator = run->program->accumulator[i];
        const Filter *filter = find_filter(*run, accumulator.filter);
        if (!run->is_added[i] && (filter == nullptr || filter->count == kMany))
            accumulate(run, accumulator, accumulator.filter);
    }
    for (uint32 i = 0; i < run->filter_count; i++) {
        const Filter &filter = run->filters[i];
        if (filter.count > 0 && filter.count != kMany && !accumulate_passing(run, filter, groups))
            return false;
    }
    return true;
}

// ---- parts ------------------------------------------------------------------------------------------------

static void begin_run(Run *run, const AggregateParts &parts, const AggregateProgram &program, int part,
                      const AggregateInput *inputs, AggregateGroups *groups) {
    *run = {};
    run->program = &program;
    run->groups = groups;
    run->part = parts.part[part];
    begin_steps(&run->batch, program, run->part, parts.format->columns, inputs);
    run->keys = allocate<uint64 *>(program.key_words + 1);
    for (uint32 word = 0; word < program.key_words; word++)
        run->keys[word] = allocate<uint64>(kBatch);
    run->numbers = allocate<uint32>(kBatch);
    run->counted = allocate<uint8>(kBatch);
    run->is_added = allocate_zeroed<bool>(size_t{program.accumulator_count} + 1);
    begin_where(run);
}

static bool is_all_added(const Run &run) {
    const uint32 count = run.program->accumulator_count;
    return count > 0 && memchr(run.is_added, 0, count) == nullptr;
}

// False: there is no room for the groups.
static bool aggregate_part(Run *run, const AggregateInput *inputs) {
    if (run->where.other_count == 0 &&
        !add_packed(run->part, *run->program, inputs, run->groups, run->is_added))
        return false;
    if (is_all_added(*run))
        return true;
    begin_filters(run);
    return for_batches(&run->batch, run->part, 1, [run](uint64 first, uint32 groups) {
        if (!choose_passing(&run->batch, run->where))
            return true;
        return accumulate_batch(run, first, groups) && !run->batch.has_failed;
    });
}

AggregateOutcome aggregate_parts(const AggregateParts &parts, const AggregateProgram &program,
                                 const AggregateInput *const *inputs, AggregateGroups *groups) {
    for (int part = 0; part < parts.count; part++) {
        MemoryContext context =
            AllocSetContextCreate(CurrentMemoryContext, "gpu_column aggregate", ALLOCSET_DEFAULT_SIZES);
        MemoryContext caller = MemoryContextSwitchTo(context);
        Run run;
        begin_run(&run, parts, program, part, inputs[part], groups);
        const bool has_room = aggregate_part(&run, inputs[part]);
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
        const KnownFilter filter = read_filter(program, run.part, step);
        apply_known(filter, 0, groups_of(run.part.rows), selected[part]);
        for_batches(&run.batch, parts.part[part], 1, [&](uint64 first, uint32 groups) {
            const bool any = choose_passing(&run.batch, filter);
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

// ---- how much there is to do ------------------------------------------------------------------------------

static uint64 count_passing(const AggregatePart &part, const KnownFilter &filter) {
    uint64 fewest = part.rows;
    for (uint32 i = 0; i < filter.row_count; i++) {
        uint64 count = 0;
        for (uint64 group = 0; group < groups_of(part.rows); group += kBatchGroups)
            count += pg_popcount(
                reinterpret_cast<const char *>(filter.rows[i] + group),
                static_cast<int>(Min(groups_of(part.rows) - group, uint64{kBatchGroups}) * sizeof(uint64)));
        fewest = Min(fewest, count);
    }
    return fewest;
}

static uint64 count_computed_in_part(const AggregatePart &part, const AggregateProgram &program,
                                     bool *is_any_known) {
    const KnownFilter where = read_filter(program, part, program.filter);
    const uint64 rows = count_passing(part, where);
    bool are_all_computed = program.key_count > 0 || where.other_count > 0;
    uint64 filtered = 0;
    *is_any_known = *is_any_known || where.row_count > 0;
    for (uint32 i = 0; i < program.accumulator_count; i++) {
        const Accumulator &accumulator = program.accumulator[i];
        const KnownFilter filter = read_filter(program, part, accumulator.filter);
        *is_any_known = *is_any_known || filter.row_count > 0;
        are_all_computed =
            are_all_computed ||
            (filter.row_count == 0 && (filter.other_count > 0 || accumulator.step != no_aggregate_step));
        filtered += filter.row_count == 0 ? 0 : count_passing(part, filter);
    }
    return are_all_computed ? rows : Min(rows, filtered);
}

uint64 count_computed_rows(const AggregateParts &parts, const AggregateProgram &program) {
    uint64 count = 0;
    bool is_any_known = false;
    for (int part = 0; part < parts.count; part++)
        count += count_computed_in_part(parts.part[part], program, &is_any_known);
    return is_any_known ? count : kNothingKnown;
}

}  // namespace pg_gpu::column
