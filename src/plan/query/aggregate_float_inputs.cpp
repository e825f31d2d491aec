#include "plan/query/aggregate_float_inputs.h"

#include "plan/query/aggregate_evaluation.h"

namespace pg_gpu::plan {

using column::AggregatePart;
using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;

static constexpr int kDoubleFraction = 52;
static constexpr int kSingleFraction = 23;
static constexpr int kDoubleExponents = 2047;  // the last of these is of infinities and NaN
static constexpr int kSingleExponents = 255;
static constexpr int64 kSingleZero = int64{1} << 31;  // the number of a float4 that is 0

static bool is_single(const InputSource &source) {
    return source.type.code == column::IntegerCode::Float4;
}

// Of positive floats their bits, of negative ones the complement of the magnitude's.
static int64 ordered_bits(bool single, int64 number) {
    return single ? number - kSingleZero : number;
}

static int64 biased_exponent(bool single, int64 ordered) {
    return (ordered < 0 ? ~ordered : ordered) >> (single ? kSingleFraction : kDoubleFraction);
}

int exponent_of_float(bool single, int64 number) {
    const int64 exponent = biased_exponent(single, ordered_bits(single, number));
    return static_cast<int>(Min(exponent, (single ? kSingleExponents : kDoubleExponents) - 1));
}

// ---- bounds -----------------------------------------------------------------------------------------------

static bool is_finite(bool single, int64 number) {
    return biased_exponent(single, ordered_bits(single, number)) <
           (single ? kSingleExponents : kDoubleExponents);
}

// The numbers of an input's codes or ranges.
static const int64 *numbers_of(const AggregateInput &input) {
    return static_cast<const int64 *>(input.values) +
           (input.kind == AggregateInputKind::ranges ? input.places : 0);
}

FloatBounds find_finite_floats(const InputBuilder &builder, uint16 number) {
    const InputSource &source = builder.compiled->input[number];
    const bool single = is_single(source);
    FloatBounds bounds = {PG_INT64_MAX, PG_INT64_MIN};
    const auto note = [&](int64 value) {
        if (!is_finite(single, value))
            return;
        bounds.least = Min(bounds.least, value);
        bounds.greatest = Max(bounds.greatest, value);
    };
    for (int i = 0; i < builder.parts->count; i++) {
        const AggregateInput &input = builder.inputs[i][number];
        if (input.kind == AggregateInputKind::code) {
            const column::ColumnType &type = builder.parts->format->types[source.column];
            uint64 least;
            uint64 greatest;
            if (column::find_finite_bounds(builder.parts->part[i], type, source.column, &least, &greatest)) {
                note(number_of_code(type, least));
                note(number_of_code(type, greatest));
            }
            continue;
        }
        for (uint64 place = 0; place < input.places; place++)
            note(numbers_of(input)[place]);
        if (!input.column_null_is_null)
            note(input.of_column_null);
    }
    return bounds;
}

// ---- floats that are cut to integers ----------------------------------------------------------------------

namespace {

// A double's integer is its bits, divided, and the base added; 0 of what is too small. A divisor of 0 makes
// the request fail.
struct Cut {
    int64 divisor;
    int64 base;
};

}  // namespace

// Integers count what a float with the exponent `unit` can differ by from another. A float4 has as many bits
// behind its fraction as make it as long as a double's.
static Cut cut_of(bool single, int unit, int64 ordered) {
    const int64 exponent = biased_exponent(single, ordered);
    if (exponent >= (single ? kSingleExponents : kDoubleExponents) || exponent > unit)
        return {0, 0};
    const int64 shift = unit - Max(exponent, int64{1});
    if (shift > kDoubleFraction)
        return {PG_INT64_MAX, 0};
    constexpr int64 one = int64{1} << kDoubleFraction;
    const int64 divisor = int64{1} << shift;
    const int64 base = ((exponent > 0 ? one : 0) - exponent * one) / divisor;
    return {divisor, ordered < 0 ? -base : base};
}

// What the steps of compile_cut_float compute.
static int64 cut_float(bool single, int unit, int64 number) {
    const int64 ordered = ordered_bits(single, number);
    const Cut cut = cut_of(single, unit, ordered);
    const int64 bits = ordered + (ordered < 0 ? 1 : 0);
    return bits * (single ? int64{1} << (kDoubleFraction - kSingleFraction) : 1) / cut.divisor + cut.base;
}

// As small a unit as leaves the squares of all rows room in 128 bits.
static void choose_unit(InputBuilder *builder, uint16 floats) {
    if (builder->cut_unit[floats] != 0)
        return;
    constexpr uint32 max_bits = 127;
    const bool single = is_single(builder->compiled->input[floats]);
    const uint32 row_bits = column::bits_for_range(column::count_rows(*builder->parts) + 1);
    const FloatBounds bounds = find_finite_floats(*builder, floats);
    int unit = 1;
    builder->cut_least[floats] = builder->cut_greatest[floats] = 0;
    if (bounds.least <= bounds.greatest) {
        unit =
            Max(Max(exponent_of_float(single, bounds.least), exponent_of_float(single, bounds.greatest)), 1);
        for (;; unit++) {
            const int64 least = cut_float(single, unit, bounds.least);
            const int64 greatest = cut_float(single, unit, bounds.greatest);
            builder->cut_least[floats] = least;
            builder->cut_greatest[floats] = greatest;
            // One half is the greater one by 1, perhaps.
            if (2 * column::bits_for_range(static_cast<uint64>((greatest - least) / 2 + 1)) + row_bits <=
                max_bits)
                break;
        }
    }
    builder->cut_unit[floats] = static_cast<int16>(unit);
}

int unit_of_cut_floats(const InputBuilder &builder, uint16 input) {
    const InputSource &source = builder.compiled->input[input];
    constexpr int single_unit = 127 + kDoubleFraction;
    constexpr int double_unit = 1023 + kDoubleFraction;
    return builder.cut_unit[source.scaled] - (is_single(source) ? single_unit : double_unit);
}

// Where the floats of one exponent begin, and those that are cut to 0, in ascending order.
static int list_starts(bool single, int unit, int64 *starts) {
    const int fraction = single ? kSingleFraction : kDoubleFraction;
    const int64 last = Min(unit, (single ? kSingleExponents : kDoubleExponents) - 1);
    const int64 first = Max(unit - kDoubleFraction, 0);
    int count = 0;
    starts[count++] = single ? -kSingleZero : PG_INT64_MIN;
    for (int64 exponent = last; exponent >= first; exponent--)
        starts[count++] = -((exponent + 1) << fraction);
    if (first > 0)
        starts[count++] = -(first << fraction);
    for (int64 exponent = first; exponent <= last + 1; exponent++)
        starts[count++] = exponent << fraction;
    return count;
}

static int64 part_of_cut(SourceKind kind, const Cut &cut) {
    return kind == SourceKind::FloatDivisor ? cut.divisor : cut.base;
}

// Of codes that are floats by themselves.
static bool make_ranges(InputBuilder *builder, const InputSource &source, const AggregatePart &part, int unit,
                        AggregateInput *input) {
    constexpr int max_starts = 2 * (kDoubleFraction + 2) + 2;
    const column::ColumnType &type = builder->parts->format->types[source.column];
    const bool single = is_single(source);
    const uint64 base = column::base_of_codes(part, source.column);
    int64 starts[max_starts];
    const int count = list_starts(single, unit, starts);
    auto *codes = static_cast<uint64 *>(take_memory(builder, 2 * max_starts * sizeof(uint64)));
    if (codes == nullptr)
        return false;
    int64 numbers[max_starts];
    uint64 places = 0;
    for (int i = 0; i < count; i++) {
        const uint64 code = code_of_number(type, single ? starts[i] + kSingleZero : starts[i]);
        // Of those that begin below all codes the last one counts.
        if (places > 0 && code <= base)
            places--;
        codes[places] = code <= base ? 0 : code - base;
        numbers[places++] = part_of_cut(source.kind, cut_of(single, unit, starts[i]));
    }
    memcpy(codes + places, numbers, places * sizeof(int64));
    input->kind = AggregateInputKind::ranges;
    input->places = places;
    input->values = codes;
    return true;
}

// Of numbers that are listed, by code or by range.
static bool make_list(InputBuilder *builder, const InputSource &source, const AggregateInput &other, int unit,
                      AggregateInput *input) {
    const bool single = is_single(source);
    const bool has_ranges = other.kind == AggregateInputKind::ranges;
    const auto cut = [&](int64 number) {
        return part_of_cut(source.kind, cut_of(single, unit, ordered_bits(single, number)));
    };
    auto *values =
        static_cast<int64 *>(take_memory(builder, (has_ranges ? 2 : 1) * other.places * sizeof(int64)));
    if (values == nullptr)
        return false;
    if (has_ranges)
        memcpy(values, other.values, other.places * sizeof(int64));
    for (uint64 place = 0; place < other.places; place++)
        values[(has_ranges ? other.places : 0) + place] = cut(numbers_of(other)[place]);
    input->kind = other.kind;
    input->places = other.places;
    input->values = values;
    input->nulls = other.nulls;
    input->of_column_null = other.column_null_is_null ? 0 : cut(other.of_column_null);
    return true;
}

bool make_float_input(InputBuilder *builder, uint32 number) {
    const InputSource &source = builder->compiled->input[number];
    choose_unit(builder, source.scaled);
    const int unit = builder->cut_unit[source.scaled];
    for (int i = 0; i < builder->parts->count; i++) {
        const AggregateInput &other = builder->inputs[i][source.scaled];
        AggregateInput *input = &builder->inputs[i][number];
        input->column_null_is_null = other.column_null_is_null;
        const bool is_made = other.kind == AggregateInputKind::code
                                 ? make_ranges(builder, source, builder->parts->part[i], unit, input)
                                 : make_list(builder, source, other, unit, input);
        if (!is_made)
            return false;
    }
    note_number(builder, number, builder->cut_least[source.scaled]);
    note_number(builder, number, builder->cut_greatest[source.scaled]);
    return true;
}

}  // namespace pg_gpu::plan
