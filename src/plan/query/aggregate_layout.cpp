#include "plan/query/aggregate_layout.h"

#include "plan/query/aggregate_bounds.h"
#include "plan/query/aggregate_float_inputs.h"
#include "plan/query/aggregate_numeric_steps.h"

namespace pg_gpu::plan {

using gpu_engine::AccumulatorKind;
using gpu_engine::AggregateKey;
using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateStep;
using gpu_engine::no_aggregate_step;

// ---- keys -------------------------------------------------------------------------------------------------

// Room for the numbers between these, and NULL. False: NULL can't be told from them.
static bool choose_codes(const InputBuilder &builder, const AggregateStep &step, uint16 number,
                         const NumberBounds &bounds, AggregateKey *key) {
    const bool any = bounds.least <= bounds.greatest;
    key->least = any ? bounds.least : 0;
    const uint64 range = any ? static_cast<uint64>(bounds.greatest) - static_cast<uint64>(bounds.least) : 0;
    key->bits = static_cast<uint8>(column::bits_for_range(range));
    // 2^64 of them become 0, which says as many as the bits can distinguish.
    key->codes = range + 1;
    if (!key->may_be_null)
        return true;
    if (range != PG_UINT64_MAX) {
        key->bits = static_cast<uint8>(column::bits_for_range(range + 1));
        key->codes = range + 2;
        return true;
    }
    // All codes are in use: NULL either doesn't come, or takes the code of a number that doesn't.
    if (is_never_null(builder, number)) {
        key->may_be_null = false;
        return true;
    }
    int64 absent;
    if (step.operation != AggregateOperation::input || !find_absent_number(builder, step.left, &absent))
        return false;
    key->least = static_cast<int64>(static_cast<uint64>(absent) + 1);
    return true;
}

bool lay_out_keys(const InputBuilder &builder, AggregateProgram *program) {
    NumberBounds bounds[gpu_engine::max_aggregate_steps];
    find_bounds(builder, *program, bounds);
    uint32 word = 0;
    uint32 shift = 0;
    for (uint32 i = 0; i < program->key_count; i++) {
        AggregateKey *key = &program->key[i];
        if (!choose_codes(builder, program->step[key->step], key->step, bounds[key->step], key))
            return false;
        if (shift + key->bits > 64) {
            word++;
            shift = 0;
        }
        key->word = static_cast<uint8>(word);
        key->shift = static_cast<uint8>(shift);
        shift += key->bits;
    }
    program->key_words = program->key_count == 0 ? 0 : word + 1;
    return true;
}

bool add_filter(AggregateProgram *program, uint16 filter) {
    if (filter == no_aggregate_step || program->filter == no_aggregate_step) {
        program->filter = filter == no_aggregate_step ? program->filter : filter;
        return true;
    }
    if (program->step_count == gpu_engine::max_aggregate_steps)
        return false;
    program->step[program->step_count] = {AggregateOperation::logical_and, 0, program->filter, filter, 0, 0};
    program->filter = static_cast<uint16>(program->step_count++);
    return true;
}

bool has_variants(const InputBuilder &builder) {
    const AggregateProgram &program = builder.compiled->program;
    for (uint32 i = 0; i < program.key_count; i++) {
        const AggregateStep &step = program.step[program.key[i].step];
        if (step.operation == AggregateOperation::input && builder.has_variants[step.left])
            return true;
    }
    return false;
}

// ---- accumulators -----------------------------------------------------------------------------------------

static uint64 count_rows(const InputBuilder &builder) {
    uint64 rows = 1;
    for (int part = 0; part < builder.parts->count; part++)
        rows += builder.parts->part[part].rows;
    return rows;
}

static uint64 magnitude_of(const NumberBounds &bounds) {
    const auto size = [](int64 number) {
        return number < 0 ? 0 - static_cast<uint64>(number) : static_cast<uint64>(number);
    };
    return bounds.least > bounds.greatest ? 0 : Max(size(bounds.least), size(bounds.greatest));
}

bool choose_centres(const InputBuilder &builder, AggregateProgram *program) {
    constexpr uint32 max_bits = 127;
    NumberBounds bounds[gpu_engine::max_aggregate_steps];
    find_bounds(builder, *program, bounds);
    for (uint32 i = 0; i < program->step_count; i++) {
        AggregateStep *step = &program->step[i];
        if (step->operation != AggregateOperation::constant || step->width != kCentreWidth)
            continue;
        const NumberBounds &around = bounds[step->left];
        const bool any = around.least <= around.greatest;
        step->constant = any ? static_cast<int64>((Int128{around.least} + around.greatest) / 2) : 0;
    }
    find_bounds(builder, *program, bounds);
    const uint32 row_bits = column::bits_for_range(count_rows(builder));
    for (uint32 i = 0; i < program->accumulator_count; i++) {
        const gpu_engine::Accumulator &accumulator = program->accumulator[i];
        if (accumulator.kind == AccumulatorKind::sum_squares &&
            2 * column::bits_for_range(magnitude_of(bounds[accumulator.step])) + row_bits > max_bits)
            return false;
    }
    return true;
}

// The biased exponent of the greatest finite float of an input; 1 when there is none.
static int greatest_exponent_of_input(const InputBuilder &builder, bool is_single, uint16 input) {
    const FloatBounds bounds = find_finite_floats(builder, input);
    if (bounds.least > bounds.greatest)
        return 1;
    return Max(Max(exponent_of_float(is_single, bounds.least), exponent_of_float(is_single, bounds.greatest)),
               1);
}

// Floats are those of inputs, constants, and what is chosen of either.
static int greatest_exponent(const InputBuilder &builder, bool is_single, const AggregateProgram &program,
                             uint16 number) {
    bool is_chosen[gpu_engine::max_aggregate_steps] = {};
    is_chosen[number] = true;
    int greatest = 1;
    // Operands come before the steps that take them.
    for (uint32 i = number + 1U; i-- > 0;) {
        const AggregateStep &step = program.step[i];
        if (!is_chosen[i])
            continue;
        switch (step.operation) {
            case AggregateOperation::input:
                greatest = Max(greatest, greatest_exponent_of_input(builder, is_single, step.left));
                break;
            case AggregateOperation::constant:
                greatest = Max(greatest, exponent_of_float(is_single, step.constant));
                break;
            case AggregateOperation::or_else:
                is_chosen[step.left] = true;
                is_chosen[step.right] = true;
                break;
            case AggregateOperation::only_where:
                is_chosen[step.right] = true;
                break;
            default:
                break;
        }
    }
    return greatest;
}

// Of integers of 128 bits magnitudes aren't known.
static bool is_wide(const InputBuilder &builder, const AggregateProgram &program, uint16 number) {
    const AggregateStep &step = program.step[number];
    return step.operation == AggregateOperation::input && builder.is_wide[step.left];
}

// How many bits the magnitudes of these numbers have.
static uint16 magnitude_bits(const NumberBounds &bounds) {
    if (bounds.least > bounds.greatest)
        return 1;
    const uint64 least = bounds.least < 0 ? ~static_cast<uint64>(bounds.least) + 1 : bounds.least;
    const uint64 greatest = bounds.greatest < 0 ? ~static_cast<uint64>(bounds.greatest) + 1 : bounds.greatest;
    return static_cast<uint16>(Max(column::bits_for_range(Max(least, greatest)), 1U));
}

void choose_exponents(const InputBuilder &builder, AggregateProgram *program) {
    NumberBounds bounds[gpu_engine::max_aggregate_steps];
    find_bounds(builder, *program, bounds);
    // Of 128 bits a sign takes one, and a fraction 53.
    constexpr int spare_bits = 73;
    const int row_bits = static_cast<int>(column::bits_for_range(count_rows(builder)));
    for (uint32 i = 0; i < program->accumulator_count; i++) {
        gpu_engine::Accumulator *accumulator = &program->accumulator[i];
        const bool is_square = accumulator->kind == AccumulatorKind::sum_squares;
        if (is_square || accumulator->kind == AccumulatorKind::sum)
            accumulator->exponent = is_wide(builder, *program, accumulator->step)
                                        ? 0
                                        : magnitude_bits(bounds[accumulator->step]) * (is_square ? 2 : 1);
        if (!gpu_engine::is_sum_of_floats(accumulator->kind))
            continue;
        const int greatest = greatest_exponent(builder, accumulator->kind == AccumulatorKind::sum_float32,
                                               *program, accumulator->step);
        accumulator->exponent = static_cast<uint16>(Max(greatest + row_bits - spare_bits, 1));
    }
}

void lay_out_deviations(const InputBuilder &builder, int results, CompiledAggregate *compiled) {
    for (int i = 0; i < results; i++)
        if (compiled->result[i].kind == ResultKind::DeviationOfFloats)
            compiled->result[i].deviation.unit =
                static_cast<int16>(unit_of_cut_floats(builder, compiled->result[i].input));
}

static bool is_value_of_any(const CompiledAggregate &compiled, int results, uint8 word) {
    for (int i = 0; i < results; i++)
        if (compiled.result[i].distinct == 0 && compiled.result[i].value == word)
            return true;
    return false;
}

// Where a column's numerics show different numbers of digits, a row tells (has_variants).
static bool lay_out_key(const InputBuilder &builder, const KnownNumber *known, KeyResult *key) {
    const AggregateProgram &program = builder.compiled->program;
    const uint16 step = program.key[key->key].step;
    key->digits = builder.digits[step];
    key->shown = key->digits;
    if (known[key->scale].state == KnownNumber::State::Known)
        key->shown = static_cast<int16>(known[key->scale].number);
    else if (known[key->scale].state == KnownNumber::State::Unknown &&
             program.step[step].operation != AggregateOperation::input)
        return false;
    return true;
}

const char *lay_out_numerics(const InputBuilder &builder, int results, CompiledAggregate *compiled) {
    AggregateProgram *program = &compiled->program;
    KnownNumber known[gpu_engine::max_aggregate_steps];
    find_known_numbers(*program, known);
    for (KeyResult &key : compiled->key)
        if (key.is_numeric && !lay_out_key(builder, known, &key))
            return "equal numerics of a group may show other scales";
    for (int i = 0; i < results; i++) {
        AggregateResult *result = &compiled->result[i];
        if (!result->is_numeric)
            continue;
        result->digits = builder.digits[result->step];
        const gpu_engine::Accumulator *accumulator = program->accumulator;
        while (accumulator->word != result->scale)
            accumulator++;
        if (known[accumulator->step].state == KnownNumber::State::Known)
            result->shown = static_cast<int16>(known[accumulator->step].number);
        else if (result->kind == ResultKind::ExtremeOfNumeric)
            return "the least of equal numerics may show another scale";
    }
    return nullptr;
}

// Has this accumulator scales that are known without looking at rows?
static bool is_known_scale(const CompiledAggregate &compiled, int results, uint8 word) {
    bool is_scale = false;
    for (int i = 0; i < results; i++) {
        const AggregateResult &result = compiled.result[i];
        if (!result.is_numeric || result.scale != word)
            continue;
        if (result.shown == kScaleOfGroup)
            return false;
        is_scale = true;
    }
    return is_scale && !is_value_of_any(compiled, results, word);
}

// Does a key, or an accumulator that stays, compute this step of all rows anyhow?
static bool is_computed_elsewhere(const AggregateProgram &program, uint16 step) {
    for (uint32 i = 0; i < program.key_count; i++)
        if (program.key[i].step == step)
            return true;
    for (uint32 i = 0; i < program.accumulator_count; i++) {
        const gpu_engine::Accumulator &other = program.accumulator[i];
        if (other.kind != AccumulatorKind::count && other.filter == no_aggregate_step && other.step == step)
            return true;
    }
    return false;
}

// Does an accumulator count nothing but the group's rows? What may fail has to be computed all the same.
static bool counts_rows(const InputBuilder &builder, const gpu_engine::Accumulator &accumulator) {
    const AggregateProgram &program = builder.compiled->program;
    return accumulator.kind == AccumulatorKind::count && accumulator.filter == no_aggregate_step &&
           is_never_null(builder, accumulator.step) &&
           (!may_fail_by_row(program, accumulator.step) || is_computed_elsewhere(program, accumulator.step));
}

void leave_out_accumulators(const InputBuilder &builder, bool has_place, int results,
                            CompiledAggregate *compiled) {
    AggregateProgram *program = &compiled->program;
    uint8 moved[UINT8_MAX + 1] = {};  // words' new places
    uint32 kept = 0;
    uint32 words = 0;
    for (uint32 i = 0; i < program->accumulator_count; i++) {
        gpu_engine::Accumulator accumulator = program->accumulator[i];
        const bool is_place = compiled->has_place && i == program->accumulator_count - 1;
        if ((is_place && !has_place) || (i > 0 && counts_rows(builder, accumulator)) ||
            is_known_scale(*compiled, results, accumulator.word))
            continue;  // word 0 has the group's rows
        const uint32 width = gpu_engine::accumulator_words(accumulator.kind);
        for (uint32 word = 0; word < width; word++)
            moved[accumulator.word + word] = static_cast<uint8>(words + word);
        accumulator.word = static_cast<uint8>(words);
        words += width;
        program->accumulator[kept++] = accumulator;
    }
    program->accumulator_count = kept;
    program->value_words = words;
    compiled->place = moved[compiled->place];
    for (int i = 0; i < results; i++) {
        AggregateResult *result = &compiled->result[i];
        result->count = moved[result->count];
        result->value = moved[result->value];
        result->scale = moved[result->scale];
        result->squares = moved[result->squares];
        if (result->distinct != 0) {
            const uint32 first = words + (result->distinct - 1U) * kDistinctWords;
            result->count = static_cast<uint8>(first + kDistinctCount);
            result->value = static_cast<uint8>(first + kDistinctSum);
            result->scale = static_cast<uint8>(first + kDistinctScale);
        }
    }
}

}  // namespace pg_gpu::plan
