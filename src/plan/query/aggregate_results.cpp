#include "plan/query/aggregate_results.h"

#include "plan/query/aggregate_float.h"
#include "plan/query/aggregate_layout.h"
#include "plan/query/aggregate_state.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateKey;

static uint64 code_of_key(const AggregateOutput &output, uint64 group, uint32 number) {
    return code_of_key(output.groups, group, output.compiled->program.key[number]);
}

// A result that parts have in common, by its number: the server's word, perhaps.
static Datum common_value(const CommonValues &common, uint64 number) {
    if (unlikely(number >= common.count))
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("a group has a value that no row has"),
                        errdetail("Its number is %llu of %u.", static_cast<unsigned long long>(number),
                                  common.count)));
    return common.values[number];
}

bool read_code(const AggregateOutput &output, uint64 group, const KeyResult &result, uint64 *code) {
    const AggregateKey &key = output.compiled->program.key[result.key];
    *code = code_of_key(output, group, result.key);
    if (result.has_null ? code_of_key(output, group, result.key + 1U) == 1 : key.may_be_null && *code == 0)
        return false;
    *code -= key.may_be_null ? 1 : 0;
    return true;
}

static Datum value_of_number(const KeyResult &result, int64 number) {
    if (!result.is_numeric)
        return column::decode_integer(result.type, code_of_number(result.type, number));
    return NumericGetDatum(make_numeric(number, result.digits, result.shown));
}

static Datum value_of_code(const AggregateOutput &output, const KeyResult &result, uint64 code) {
    if (result.input != UINT16_MAX)
        return common_value(output.common[result.input], code);
    const int64 least = output.compiled->program.key[result.key].least;
    return value_of_number(result, static_cast<int64>(code + static_cast<uint64>(least)));
}

static Datum read_key(const AggregateOutput &output, uint64 group, const KeyResult &result, bool *is_null) {
    uint64 code;
    *is_null = !read_code(output, group, result, &code);
    return *is_null ? Datum{0} : value_of_code(output, result, code);
}

uint32 count_common_values(const AggregateOutput &output, int key) {
    const uint16 input = output.compiled->key[key].input;
    return input == UINT16_MAX ? 0 : output.common[input].count;
}

void read_key_column(const AggregateOutput &output, int key, const KeyColumn &column) {
    constexpr uint64 groups_per_interrupt = 65536;
    // Copies, of which the compiler knows that what is written isn't part of them.
    const KeyResult result = output.compiled->key[key];
    const AggregateKey code_key = output.compiled->program.key[result.key];
    const gpu_engine::GroupTable groups = output.groups;
    const bool is_common = result.input != UINT16_MAX;
    const CommonValues common = is_common ? output.common[result.input] : CommonValues{};
    const auto least = static_cast<uint64>(code_key.least);
    const uint32 of_null = count_common_values(output, key);
    for (uint64 group = 0; group < groups.groups; group++) {
        if (group % groups_per_interrupt == 0)
            CHECK_FOR_INTERRUPTS();
        const size_t place = group * column.stride;
        uint64 code = code_of_key(groups, group, code_key);
        const bool is_null = result.has_null ? code_of_key(output, group, result.key + 1U) == 1
                                             : code_key.may_be_null && code == 0;
        code -= code_key.may_be_null ? 1 : 0;
        column.nulls[place] = is_null;
        column.values[place] = is_null     ? Datum{0}
                               : is_common ? common_value(common, code)
                                           : value_of_number(result, static_cast<int64>(code + least));
        if (column.codes != nullptr)
            column.codes[group] = is_null ? of_null : static_cast<uint32>(code);
    }
}

static Numeric divide_by_count(Numeric sum, uint64 count) {
    return DatumGetNumeric(DirectFunctionCall2(numeric_div, NumericGetDatum(sum),
                                               NumericGetDatum(int64_to_numeric(static_cast<int64>(count)))));
}

// The exponent of the power of 2 that a sum of floats counts.
static int unit_of_sum(const CompiledAggregate &compiled, const AggregateResult &result) {
    const gpu_engine::Accumulator *accumulator = compiled.program.accumulator;
    while (accumulator->word != result.value)
        accumulator++;
    constexpr int single_unit = 150;
    constexpr int double_unit = 1075;
    return accumulator->exponent -
           (result.type.code == column::IntegerCode::Float4 ? single_unit : double_unit);
}

static Datum read_result(const AggregateOutput &output, uint64 group, const AggregateResult &result,
                         bool *is_null) {
    const auto word = [&](uint32 place) { return output.groups.value(group, place); };
    const uint64 count = word(result.count);
    const bool is_array = result.form == StateForm::Average || result.form == StateForm::Floats;
    *is_null = count == 0 && result.kind != ResultKind::Count && !is_array;
    if (*is_null)
        return Datum{0};
    const auto sum = [&] { return wide_of_words(word(result.value), word(result.value + 1U)); };
    const auto shown = [&] {
        return result.is_numeric && result.shown != kScaleOfGroup ? int{result.shown}
                                                                  : static_cast<int>(word(result.scale));
    };
    const auto numeric_of = [&](Int128 number) {
        return make_numeric(number, result.is_numeric ? result.digits : output.scale[result.input], shown());
    };
    const auto numeric_sum = [&] { return numeric_of(sum()); };
    const auto float8_sum = [&] { return float8_of_sum(sum(), unit_of_sum(*output.compiled, result)); };
    const auto squares = [&] { return wide_of_words(word(result.squares), word(result.squares + 1U)); };
    const auto wide_deviation = [&] {
        const bool by_entry = result.centre == gpu_engine::no_aggregate_step;
        return state_of_wide_deviation(
            {count, sum(), squares(),
             by_entry ? wide_of_words(output.centre[2 * result.input], output.centre[2 * result.input + 1])
                      : Int128{output.compiled->program.step[result.centre].constant},
             by_entry ? output.scale[result.input] : result.digits, result.is_numeric ? shown() : 0});
    };
    switch (result.form) {
        case StateForm::Value:
            break;
        case StateForm::Average:
            return state_of_average(count, static_cast<int64>(sum()));
        case StateForm::Integers:
            return state_of_integers(count, sum());
        case StateForm::Deviation:
            return state_of_deviation({count, sum(), squares()});
        case StateForm::WideDeviation:
            return wide_deviation();
        case StateForm::Numerics:
            return state_of_numerics(count, numeric_sum());
        case StateForm::Floats:
            return state_of_floats(count, float8_sum());
    }
    switch (result.kind) {
        case ResultKind::Count:
            return Int64GetDatum(static_cast<int64>(count));
        case ResultKind::SumOfIntegers:
            return Int64GetDatum(static_cast<int64>(sum()));
        case ResultKind::SumOfLong:
            return NumericGetDatum(make_numeric(sum(), 0, 0));
        case ResultKind::AverageOfLong:
            return NumericGetDatum(column::average_of_integers(sum(), count));
        case ResultKind::SumOfNumeric:
            return NumericGetDatum(numeric_sum());
        case ResultKind::AverageOfNumeric:
            return NumericGetDatum(divide_by_count(numeric_sum(), count));
        case ResultKind::SumOfFloats:
            return result.type.code == column::IntegerCode::Float4
                       ? Float4GetDatum(float4_of_sum(sum(), unit_of_sum(*output.compiled, result)))
                       : Float8GetDatum(float8_sum());
        case ResultKind::AverageOfFloats:
            return Float8GetDatum(float8_sum() / static_cast<double>(count));
        case ResultKind::DeviationOfFloats: {
            const float8 value = deviation_of_floats(result.deviation, {count, sum(), squares()}, is_null);
            return Float8GetDatum(value);
        }
        case ResultKind::Deviation:
            return finish_deviation(result.functions, state_of_deviation({count, sum(), squares()}), is_null);
        case ResultKind::WideDeviation:
            return finish_deviation(result.functions, wide_deviation(), is_null);
        case ResultKind::ExtremeOfNumeric:
            return NumericGetDatum(numeric_of(static_cast<int64>(word(result.value))));
        case ResultKind::Extreme:
        case ResultKind::Bits:
            return column::decode_integer(
                result.type, code_of_number(result.type, static_cast<int64>(word(result.value))));
        default:
            return common_value(output.common[result.input], word(result.value));
    }
}

void read_group(const AggregateOutput &output, uint64 group, Datum *values, bool *nulls) {
    for (int i = 0; i < output.key_count; i++)
        values[i] = read_key(output, group, output.compiled->key[i], &nulls[i]);
    for (int i = 0; i < output.aggregate_count; i++) {
        const int place = output.key_count + i;
        values[place] = read_result(output, group, output.compiled->result[i], &nulls[place]);
    }
}

}  // namespace pg_gpu::plan
