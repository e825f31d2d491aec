#include "plan/aggregate_layout.h"

namespace pg_gpu::plan {

using gpu_engine::AccumulatorKind;
using gpu_engine::AggregateKey;
using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateStep;
using gpu_engine::no_aggregate_step;

// ---- keys -------------------------------------------------------------------------------------------------

bool lay_out_keys(const InputMaker &maker, AggregateProgram *program) {
    uint32 word = 0;
    uint32 shift = 0;
    for (uint32 i = 0; i < program->key_count; i++) {
        AggregateKey *key = &program->key[i];
        const AggregateStep &step = program->step[key->step];
        uint32 bits = 64;
        key->least = 0;
        if (step.operation == AggregateOperation::is_null) {
            bits = 1;
        } else if (step.operation == AggregateOperation::input) {
            const bool any = maker.least[step.left] <= maker.greatest[step.left];
            key->least = any ? maker.least[step.left] : 0;
            const uint64 range =
                any ? static_cast<uint64>(maker.greatest[step.left]) - static_cast<uint64>(key->least) : 0;
            if (range == PG_UINT64_MAX)
                return false;
            bits = column::bits_for_range(range + (key->may_be_null ? 1 : 0));
        }
        if (shift + bits > 64) {
            word++;
            shift = 0;
        }
        key->bits = static_cast<uint8>(bits);
        key->word = static_cast<uint8>(word);
        key->shift = static_cast<uint8>(shift);
        shift += bits;
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

bool has_variants(const InputMaker &maker) {
    const AggregateProgram &program = maker.compiled->program;
    for (uint32 i = 0; i < program.key_count; i++) {
        const AggregateStep &step = program.step[program.key[i].step];
        if (step.operation == AggregateOperation::input && maker.has_variants[step.left])
            return true;
    }
    return false;
}

// ---- accumulators -----------------------------------------------------------------------------------------

// The biased exponent of a float's number.
static int exponent_of(AccumulatorKind kind, int64 number) {
    const bool is_single = kind == AccumulatorKind::sum_float32;
    const int64 ordered = is_single ? number - (int64{1} << 31) : number;
    const int exponent = static_cast<int>((ordered < 0 ? ~ordered : ordered) >> (is_single ? 23 : 52));
    // Of NaN and infinities there are no sums: if a row has one, no exponent helps.
    return Min(exponent, is_single ? 254 : 2046);
}

void choose_exponents(const InputMaker &maker, AggregateProgram *program) {
    // Of 128 bits a sign takes one, and a fraction 53.
    constexpr int spare_bits = 73;
    uint64 rows = 1;
    for (int part = 0; part < maker.parts->count; part++)
        rows += maker.parts->part[part].rows;
    const int row_bits = static_cast<int>(column::bits_for_range(rows));
    for (uint32 i = 0; i < program->accumulator_count; i++) {
        gpu_engine::Accumulator *accumulator = &program->accumulator[i];
        if (!gpu_engine::is_sum_of_floats(accumulator->kind))
            continue;
        const uint16 input = program->step[accumulator->step].left;
        int greatest = 1;
        if (maker.least[input] <= maker.greatest[input])
            greatest = Max(exponent_of(accumulator->kind, maker.least[input]),
                           exponent_of(accumulator->kind, maker.greatest[input]));
        accumulator->exponent = static_cast<uint16>(Max(greatest + row_bits - spare_bits, 1));
    }
}

void leave_out_accumulators(const InputMaker &maker, bool has_place, int results,
                            CompiledAggregate *compiled) {
    AggregateProgram *program = &compiled->program;
    uint8 moved[UINT8_MAX + 1] = {};  // words' new places
    uint32 kept = 0;
    uint32 words = 0;
    for (uint32 i = 0; i < program->accumulator_count; i++) {
        gpu_engine::Accumulator accumulator = program->accumulator[i];
        const bool is_place = compiled->has_place && i == program->accumulator_count - 1;
        const bool counts_rows = i > 0 && accumulator.kind == AccumulatorKind::count &&
                                 accumulator.filter == no_aggregate_step &&
                                 is_never_null(maker, accumulator.step);
        if ((is_place && !has_place) || counts_rows)
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
