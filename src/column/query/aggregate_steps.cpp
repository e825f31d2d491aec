#include "column/query/aggregate_steps.h"

#include "column/format/packing.h"
#include "gpu_engine/aggregate_sums.h"

namespace pg_gpu::column {

using gpu_engine::AggregateInput;
using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateStep;
using gpu_engine::StepValues;

// ---- batches ----------------------------------------------------------------------------------------------

static void make_guides(StepBatch *batch) {
    const uint32 count = batch->program->input_count;
    batch->guides = allocate_zeroed<const gpu_engine::RangeGuide *>(count + 1);
    for (uint32 i = 0; i < count; i++) {
        if (!gpu_engine::wants_range_guide(batch->inputs[i], batch->part->rows))
            continue;
        auto *guide = allocate<gpu_engine::RangeGuide>(1);
        gpu_engine::make_range_guide(batch->inputs[i], guide);
        batch->guides[i] = guide;
        if (batch->ranges == nullptr)
            batch->ranges = allocate<uint32>(kBatch);
    }
}

void begin_steps(StepBatch *batch, const AggregateProgram &program, const AggregatePart &part, int columns,
                 const AggregateInput *inputs) {
    *batch = {};
    batch->program = &program;
    batch->part = &part;
    batch->inputs = inputs;
    batch->chosen = allocate<uint16>(kBatch + kMorePlaces);
    make_guides(batch);
    batch->codes = allocate_zeroed<PartCodes>(columns);
    batch->results = allocate_zeroed<StepResult>(program.step_count + 1);
    for (uint32 i = 0; i < program.input_count; i++)
        if (batch->codes[inputs[i].column].part == nullptr)
            begin_part_codes(&batch->codes[inputs[i].column], part, static_cast<int>(inputs[i].column));
    for (uint32 i = 0; i < program.step_count; i++) {
        batch->results[i].room = allocate<int64>(kBatch);
        batch->results[i].null_room = allocate<uint8>(kBatch);
        if (program.step[i].operation != AggregateOperation::place || batch->places != nullptr)
            continue;
        batch->places = allocate<uint64>(kBatch);
        if (part.reader != nullptr) {
            batch->tids = allocate<TidCursor>(1);
            begin_tid_cursor(batch->tids, part.reader);
        }
    }
}

void begin_batch(StepBatch *batch, uint64 first, uint32 groups) {
    batch->first = first;
    batch->has_places = false;
    choose_rows(batch, nullptr, groups * kGroup);
}

void choose_rows(StepBatch *batch, const uint16 *positions, uint32 count) {
    batch->positions = positions;
    batch->count = count;
    batch->choice++;
    for (uint32 i = 0; i < batch->program->step_count; i++)
        batch->results[i].is_computed = false;
}

bool choose_selected(StepBatch *batch, const uint64 *selected, uint32 words) {
    uint64 all = PG_UINT64_MAX;
    uint64 any = 0;
    for (uint32 word = 0; word < words; word++) {
        all &= selected[word];
        any |= selected[word];
    }
    if (all != PG_UINT64_MAX && any != 0)
        choose_rows(batch, batch->chosen, list_bits(selected, words, batch->chosen));
    return any != 0;
}

// Leaves the chosen rows of which a condition is true.
static bool choose_true(StepBatch *batch, uint16 condition) {
    const StepValues &truth = compute_step(batch, condition);
    return leave_rows(batch, [&](auto take) {
        for (uint32 i = 0; i < batch->count; i++)
            take(i, gpu_engine::is_true_at(truth, i));
    });
}

bool choose_passing(StepBatch *batch, uint16 filter) {
    uint16 conditions[gpu_engine::max_aggregate_steps];
    const uint32 count = gpu_engine::list_conditions(*batch->program, filter, conditions);
    for (uint32 i = 0; i < count; i++)
        if (!choose_true(batch, conditions[i]))
            return false;
    return true;
}

// ---- inputs -----------------------------------------------------------------------------------------------

static StepValues load_truth(const StepBatch &batch, uint32 number, const uint64 *true_rows,
                             const StepResult &result) {
    const AggregateInput &input = batch.inputs[number];
    const uint64 *null_bits = batch.codes[input.column].null_bits;
    gpu_engine::for_tile_rows(batch.positions, batch.count, [&](uint32 i, uint32 row) {
        result.room[i] = gpu_engine::bit_at(true_rows + batch.first, row) ? 1 : 0;
    });
    return gpu_engine::load_column_nulls(input, null_bits == nullptr ? nullptr : null_bits + batch.first,
                                         batch.positions, batch.count, {result.room, nullptr},
                                         result.null_room);
}

static StepValues load_input(const StepBatch &batch, uint32 number, const StepResult &result) {
    const AggregateInput &input = batch.inputs[number];
    if (const uint64 *true_rows = true_rows_of(*batch.part, number))
        return load_truth(batch, number, true_rows, result);
    const gpu_engine::RangeGuide *guide = batch.guides[number];
    PartCodes &codes = batch.codes[input.column];
    if (batch.positions == nullptr)
        read_part_codes(&codes, batch.first);
    else
        read_codes_of_rows(&codes, batch.first, batch.positions, batch.count, batch.choice);
    const uint64 *column_nulls = codes.null_bits == nullptr ? nullptr : codes.null_bits + batch.first;
    const auto load = [&](const auto *values) {
        return guide != nullptr
                   ? gpu_engine::load_range_tile(input, *guide, values, column_nulls, batch.positions,
                                                 batch.count, result.room, result.null_room, batch.ranges)
                   : gpu_engine::load_input_tile(input, values, column_nulls, batch.positions, batch.count,
                                                 result.room, result.null_room);
    };
    return codes.is_wide ? load(codes.wide) : load(codes.narrow);
}

// ---- TIDs -------------------------------------------------------------------------------------------------

// Batches come in order, so spans before this one aren't needed any more.
static void read_places(StepBatch *batch) {
    TidCursor *cursor = batch->tids;
    const uint64 first = batch->first * kGroup;
    const uint64 end = first + kBatch;
    OffsetNumber offsets[MaxHeapTuplesPerPage];
    bool more = cursor->next_ordinal > 0 || next_span(cursor);
    while (more && cursor->next_ordinal <= first)
        more = next_span(cursor);
    while (more) {
        const uint32 count = span_offsets(cursor, offsets);
        for (uint32 i = 0; i < count; i++) {
            const uint64 row = cursor->ordinal + i;
            if (row >= first && row < end)
                batch->places[row - first] = uint64{cursor->block} << 16 | offsets[i];
        }
        // A span that goes on behind the batch is wanted again.
        more = cursor->next_ordinal < end && next_span(cursor);
    }
}

static StepValues compute_places(StepBatch *batch, const StepResult &result) {
    if (batch->tids != nullptr && !batch->has_places) {
        read_places(batch);
        batch->has_places = true;
    }
    const uint64 *places =
        batch->tids == nullptr ? batch->part->places + batch->first * kGroup : batch->places;
    gpu_engine::for_tile_rows(batch->positions, batch->count, [&](uint32 i, uint32 row) {
        result.room[i] = static_cast<int64>(places[row]);
    });
    return {result.room, nullptr};
}

// ---- computing --------------------------------------------------------------------------------------------

static StepValues compute_from_operands(StepBatch *batch, const AggregateStep &step,
                                        const StepResult &result) {
    constexpr StepValues none = {nullptr, nullptr};
    const bool two = gpu_engine::takes_two(step.operation);
    const StepValues left =
        two || gpu_engine::takes_one(step.operation) ? compute_step(batch, step.left) : none;
    const StepValues right = two ? compute_step(batch, step.right) : none;
    StepValues found;
    if (!gpu_engine::compute_tile(step, batch->count, left, right, result.room, result.null_room, &found))
        batch->has_failed = true;
    return found;
}

const StepValues &compute_step(StepBatch *batch, uint16 number) {
    StepResult *result = &batch->results[number];
    if (result->is_computed)
        return result->found;
    const AggregateStep &step = batch->program->step[number];
    switch (step.operation) {
        case AggregateOperation::input:
            result->found = load_input(*batch, step.left, *result);
            break;
        case AggregateOperation::place:
            result->found = compute_places(batch, *result);
            break;
        default:
            result->found = compute_from_operands(batch, step, *result);
    }
    result->is_computed = true;
    return result->found;
}

}  // namespace pg_gpu::column
