#include "column/aggregate_steps.h"

namespace pg_gpu::column {

using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;
using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateStep;

// ---- batches ----------------------------------------------------------------------------------------------

void begin_steps(StepBatch *batch, const AggregateProgram &program, const AggregatePart &part, int columns,
                 const AggregateInput *inputs) {
    *batch = {};
    batch->program = &program;
    batch->part = &part;
    batch->inputs = inputs;
    batch->codes = allocate_zeroed<PartCodes>(columns);
    batch->results = allocate_zeroed<StepResult>(program.step_count + 1);
    for (uint32 i = 0; i < program.input_count; i++)
        if (batch->codes[inputs[i].column].part == nullptr)
            begin_part_codes(&batch->codes[inputs[i].column], part, static_cast<int>(inputs[i].column));
    for (uint32 i = 0; i < program.step_count; i++) {
        batch->results[i].values = allocate<int64>(kBatch);
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
    for (uint32 i = 0; i < batch->program->step_count; i++)
        batch->results[i].is_computed = false;
}

// ---- inputs -----------------------------------------------------------------------------------------------

// Calls set(i, row) for the batch's rows: the i-th is that many rows behind the first.
template <typename Set>
static inline void for_rows(const StepBatch &batch, Set set) {
    if (batch.positions == nullptr) {
        for (uint32 i = 0; i < batch.count; i++)
            set(i, i);
        return;
    }
    for (uint32 i = 0; i < batch.count; i++)
        set(i, uint32{batch.positions[i]});
}

template <typename Code>
static void load_values(const StepBatch &batch, const AggregateInput &input, const Code *codes,
                        int64 *values) {
    switch (input.kind) {
        case AggregateInputKind::code:
            for_rows(batch, [&](uint32 i, uint32 row) {
                values[i] = static_cast<int64>(codes[row] + input.offset);
            });
            break;
        case AggregateInputKind::map8: {
            const auto *map = static_cast<const uint8 *>(input.values);
            for_rows(batch, [&](uint32 i, uint32 row) { values[i] = map[codes[row]]; });
            break;
        }
        case AggregateInputKind::map32: {
            const auto *map = static_cast<const uint32 *>(input.values);
            for_rows(batch, [&](uint32 i, uint32 row) { values[i] = map[codes[row]]; });
            break;
        }
        case AggregateInputKind::map64: {
            const auto *map = static_cast<const int64 *>(input.values);
            for_rows(batch, [&](uint32 i, uint32 row) { values[i] = map[codes[row]]; });
            break;
        }
        case AggregateInputKind::map128:
            // Its place in the map: who adds it up looks there.
            for_rows(batch, [&](uint32 i, uint32 row) { values[i] = static_cast<int64>(codes[row]); });
            break;
    }
}

template <typename Code>
static void load_input(const StepBatch &batch, const AggregateInput &input, const Code *codes,
                       const uint64 *column_nulls, StepResult *result) {
    load_values(batch, input, codes, result->values);
    if (input.nulls != nullptr) {
        result->nulls = result->null_room;
        for_rows(batch,
                 [&](uint32 i, uint32 row) { result->nulls[i] = is_selected(input.nulls, codes[row]); });
    }
    if (column_nulls == nullptr)
        return;
    if (input.column_null_is_null && result->nulls == nullptr) {
        result->nulls = result->null_room;
        for_rows(batch, [&](uint32 i, uint32 row) { result->nulls[i] = is_selected(column_nulls, row); });
        return;
    }
    for_rows(batch, [&](uint32 i, uint32 row) {
        if (!is_selected(column_nulls, row))
            return;
        result->values[i] = input.of_column_null;
        if (result->nulls != nullptr)
            result->nulls[i] = input.column_null_is_null ? 1 : 0;
    });
}

static void compute_input(const StepBatch &batch, const AggregateStep &step, StepResult *result) {
    const AggregateInput &input = batch.inputs[step.left];
    PartCodes &codes = batch.codes[input.column];
    read_part_codes(&codes, batch.first);
    const uint64 *column_nulls = codes.null_bits == nullptr ? nullptr : codes.null_bits + batch.first;
    if (codes.is_wide)
        load_input(batch, input, codes.wide, column_nulls, result);
    else
        load_input(batch, input, codes.narrow, column_nulls, result);
}

// ---- TIDs -------------------------------------------------------------------------------------------------

// Batches come in order, so stretches before this one aren't needed any more.
static void read_places(StepBatch *batch) {
    TidCursor *cursor = batch->tids;
    const uint64 first = batch->first * kGroup;
    const uint64 end = first + kBatch;
    OffsetNumber offsets[MaxHeapTuplesPerPage];
    bool more = cursor->next_ordinal > 0 || next_stretch(cursor);
    while (more && cursor->next_ordinal <= first)
        more = next_stretch(cursor);
    while (more) {
        const uint32 count = stretch_offsets(cursor, offsets);
        for (uint32 i = 0; i < count; i++) {
            const uint64 row = cursor->ordinal + i;
            if (row >= first && row < end)
                batch->places[row - first] = uint64{cursor->block} << 16 | offsets[i];
        }
        // A stretch that goes on behind the batch is wanted again.
        more = cursor->next_ordinal < end && next_stretch(cursor);
    }
}

static void compute_places(StepBatch *batch, StepResult *result) {
    if (batch->tids == nullptr) {
        const uint64 *places = batch->part->places;
        for_rows(*batch, [&](uint32 i, uint32 row) {
            result->values[i] = static_cast<int64>(places[batch->first * kGroup + row]);
        });
        return;
    }
    if (!batch->has_places)
        read_places(batch);
    batch->has_places = true;
    for_rows(*batch,
             [&](uint32 i, uint32 row) { result->values[i] = static_cast<int64>(batch->places[row]); });
}

// ---- computing --------------------------------------------------------------------------------------------

static void join_nulls(const StepBatch &batch, const StepResult &left, const StepResult &right,
                       StepResult *result) {
    if (left.nulls == nullptr && right.nulls == nullptr)
        return;
    result->nulls = result->null_room;
    for (uint32 i = 0; i < batch.count; i++)
        result->nulls[i] =
            (left.nulls != nullptr ? left.nulls[i] : 0) | (right.nulls != nullptr ? right.nulls[i] : 0);
}

static inline bool fits(int64 value, uint8 width) {
    return width >= sizeof(int64) ||
           (width == sizeof(int32) ? value == static_cast<int32>(value) : value == static_cast<int16>(value));
}

// What PostgreSQL's operators of integers compute; false where they would raise an error.
static inline bool compute_integer(AggregateOperation operation, int64 left, int64 right, int64 *value) {
    switch (operation) {
        case AggregateOperation::add:
            return !__builtin_add_overflow(left, right, value);
        case AggregateOperation::subtract:
            return !__builtin_sub_overflow(left, right, value);
        case AggregateOperation::multiply:
            return !__builtin_mul_overflow(left, right, value);
        case AggregateOperation::divide:
            if (right == 0)
                return false;
            if (right == -1)
                return !__builtin_sub_overflow(int64{0}, left, value);
            *value = left / right;
            return true;
        default:
            if (right == 0)
                return false;
            *value = right == -1 ? 0 : left % right;
            return true;
    }
}

static void compute_integers(StepBatch *batch, const AggregateStep &step, const StepResult &left,
                             const StepResult &right, StepResult *result) {
    for (uint32 i = 0; i < batch->count; i++) {
        int64 value = 0;
        const bool is_null = result->nulls != nullptr && result->nulls[i] != 0;
        if (!is_null && unlikely(!compute_integer(step.operation, left.values[i], right.values[i], &value) ||
                                 !fits(value, step.width)))
            batch->has_failed = true;
        result->values[i] = value;
    }
}

template <typename Compare>
static void compare(const StepBatch &batch, const StepResult &left, const StepResult &right,
                    StepResult *result, Compare compare_values) {
    for (uint32 i = 0; i < batch.count; i++)
        result->values[i] = compare_values(left.values[i], right.values[i]) ? 1 : 0;
}

// Three-valued: `decisive` is the operand that decides alone.
static void join_truth(const StepBatch &batch, const StepResult &left, const StepResult &right,
                       int64 decisive, StepResult *result) {
    const auto is_null = [](const StepResult &operand, uint32 i) {
        return operand.nulls != nullptr && operand.nulls[i] != 0;
    };
    result->nulls = left.nulls != nullptr || right.nulls != nullptr ? result->null_room : nullptr;
    for (uint32 i = 0; i < batch.count; i++) {
        const bool decided = (!is_null(left, i) && left.values[i] == decisive) ||
                             (!is_null(right, i) && right.values[i] == decisive);
        result->values[i] = decided ? decisive : 1 - decisive;
        if (result->nulls != nullptr)
            result->nulls[i] = !decided && (is_null(left, i) || is_null(right, i)) ? 1 : 0;
    }
}

static void compute_of_one(const StepBatch &batch, const AggregateStep &step, const StepResult &left,
                           StepResult *result) {
    for (uint32 i = 0; i < batch.count; i++) {
        const bool is_null = left.nulls != nullptr && left.nulls[i] != 0;
        if (step.operation == AggregateOperation::is_null)
            result->values[i] = is_null ? 1 : 0;
        else if (step.operation == AggregateOperation::is_true)
            result->values[i] = !is_null && left.values[i] != 0 ? 1 : 0;
        else
            result->values[i] = left.values[i] == 0 ? 1 : 0;
    }
    if (step.operation == AggregateOperation::logical_not)
        result->nulls = left.nulls;
}

static void compute_of_two(StepBatch *batch, const AggregateStep &step, StepResult *result) {
    const StepResult &left = compute_step(batch, step.left);
    const StepResult &right = compute_step(batch, step.right);
    if (step.operation == AggregateOperation::logical_and ||
        step.operation == AggregateOperation::logical_or) {
        join_truth(*batch, left, right, step.operation == AggregateOperation::logical_or ? 1 : 0, result);
        return;
    }
    join_nulls(*batch, left, right, result);
    switch (step.operation) {
        case AggregateOperation::equal:
            compare(*batch, left, right, result, [](int64 a, int64 b) { return a == b; });
            break;
        case AggregateOperation::not_equal:
            compare(*batch, left, right, result, [](int64 a, int64 b) { return a != b; });
            break;
        case AggregateOperation::less:
            compare(*batch, left, right, result, [](int64 a, int64 b) { return a < b; });
            break;
        case AggregateOperation::less_or_equal:
            compare(*batch, left, right, result, [](int64 a, int64 b) { return a <= b; });
            break;
        default:
            compute_integers(batch, step, left, right, result);
    }
}

const StepResult &compute_step(StepBatch *batch, uint16 number) {
    StepResult *result = &batch->results[number];
    if (result->is_computed)
        return *result;
    const AggregateStep &step = batch->program->step[number];
    result->nulls = nullptr;
    switch (step.operation) {
        case AggregateOperation::input:
            compute_input(*batch, step, result);
            break;
        case AggregateOperation::constant:
        case AggregateOperation::null:
            for (uint32 i = 0; i < batch->count; i++)
                result->values[i] = step.constant;
            if (step.operation == AggregateOperation::null) {
                result->nulls = result->null_room;
                memset(result->nulls, 1, batch->count);
            }
            break;
        case AggregateOperation::place:
            compute_places(batch, result);
            break;
        case AggregateOperation::logical_not:
        case AggregateOperation::is_null:
        case AggregateOperation::is_true:
            compute_of_one(*batch, step, compute_step(batch, step.left), result);
            break;
        default:
            compute_of_two(batch, step, result);
    }
    result->is_computed = true;
    return *result;
}

}  // namespace pg_gpu::column
