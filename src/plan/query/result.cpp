// From the words of a group's record to PostgreSQL's values. What is divided here is divided by PostgreSQL's
// own functions, so that results have the digits that it would give.
#include "plan/query/aggregates.h"
#include "plan/query/numbering.h"

namespace pg_gpu::plan::query {

RecordLayout lay_out_record(const CompiledQuery &compiled) {
    const uint32 columns = compiled.key_count + compiled.accumulator_count;
    auto *words = allocate<uint32>(size_t{columns} + 1);
    uint32 next = engine::null_words(columns);
    for (uint32 i = 0; i < columns; i++) {
        words[i] = next;
        next += engine::words_of(compiled.types[i]);
    }
    words[columns] = next;
    return {columns, words};
}

static bool is_null_column(const uint64 *record, uint32 column) {
    return (record[column / 64] >> (column % 64) & 1) != 0;
}

static Int128 number_of_column(const RecordLayout &layout, const uint64 *record, uint32 column) {
    const uint64 *words = record + layout.words[column];
    return layout.words[column + 1] - layout.words[column] == 2 ? column::wide_of_words(words[0], words[1])
                                                                : Int128{static_cast<int64>(words[0])};
}

static double real_of_column(const RecordLayout &layout, const uint64 *record, uint32 column) {
    return DatumGetFloat8(Int64GetDatum(static_cast<int64>(record[layout.words[column]])));
}

// For digits that are shown beyond the scale, all of them 0, there is room (is_known).
static Numeric make_shown(Int128 number, int scale, int shown) {
    column::multiply_by_power(&number, shown - scale);
    return column::make_numeric(number, Max(scale, shown), shown);
}

static int shown_of(const RecordLayout &layout, const Result &result, const uint64 *record) {
    return result.shown == no_step ? result.argument.shown
                                   : static_cast<int>(number_of_column(layout, record, result.shown));
}

// Of a group that has special numerics: what their sum is; 0: all are finite.
static int special_of_sum(const RecordLayout &layout, const Result &result, const uint64 *record) {
    if (result.least_special == no_step)
        return 0;
    const auto least = static_cast<int>(number_of_column(layout, record, result.least_special));
    const auto greatest = static_cast<int>(number_of_column(layout, record, result.greatest_special));
    return least == 0 ? greatest : greatest == 0 || least == greatest ? least : column::kNaN;
}

static Numeric read_numeric(const Value &meaning, Int128 number, int shown) {
    if (meaning.kind == Kind::Extended) {
        Int128 unit = 1;
        column::multiply_by_power(&unit, meaning.unit);
        if (number >= unit || number <= -unit)
            return column::make_special(static_cast<int>(number / unit));
    }
    return make_shown(number, meaning.scale, shown);
}

static Numeric read_sum(const RecordLayout &layout, const Result &result, const uint64 *record) {
    if (const int special = special_of_sum(layout, result, record); special != 0)
        return column::make_special(special);
    const bool is_decimal = result.argument.kind == Kind::Decimal;
    return make_shown(number_of_column(layout, record, result.value), is_decimal ? result.argument.scale : 0,
                      is_decimal ? shown_of(layout, result, record) : 0);
}

static Numeric times(Numeric one, Numeric other) {
    return DatumGetNumeric(DirectFunctionCall2(numeric_mul, NumericGetDatum(one), NumericGetDatum(other)));
}

static Numeric plus(Numeric one, Numeric other) {
    return DatumGetNumeric(DirectFunctionCall2(numeric_add, NumericGetDatum(one), NumericGetDatum(other)));
}

// The sum of squares, which shows twice as many digits as the numbers do.
static Numeric read_squares(const RecordLayout &layout, const Result &result, const uint64 *record,
                            int shown) {
    const int scale = 2 * result.argument.scale;
    const Int128 squares = number_of_column(layout, record, result.squares);
    if (result.part_products == no_step)
        return make_shown(squares, scale, shown);
    const auto whole = [&](uint16 column) {
        return column::make_numeric(number_of_column(layout, record, column), 0, 0);
    };
    const Numeric unit = int64_to_numeric(kLowerPart);
    const Numeric products = whole(result.part_products);
    const Numeric high = plus(times(whole(result.squares), unit), plus(products, products));
    const Numeric all = plus(times(high, unit), whole(result.lower_squares));
    // 10^-scale, of which one number has no room.
    const Numeric least = column::make_numeric(1, result.argument.scale, result.argument.scale);
    return DatumGetNumeric(DirectFunctionCall2(
        numeric_round, NumericGetDatum(times(all, times(least, least))), Int32GetDatum(shown)));
}

static Datum read_deviation(const RecordLayout &layout, const Result &result, const uint64 *record,
                            bool *is_null) {
    const auto count = static_cast<uint64>(number_of_column(layout, record, result.count));
    const Int128 sum = number_of_column(layout, record, result.value);
    const int scale = result.argument.scale;
    Datum state;
    if (result.is_wide) {
        const int shown = shown_of(layout, result, record);
        // One NaN more has the effect of any special ones.
        const uint64 special = special_of_sum(layout, result, record) != 0 ? 1 : 0;
        state = state_of_squares(count - special, make_shown(sum, scale, shown),
                                 read_squares(layout, result, record, 2 * shown), shown, special);
    } else {
        state = state_of_deviation({count, sum, number_of_column(layout, record, result.squares)});
    }
    return finish_deviation(result.functions, state, is_null);
}

static float8 real_of(Numeric number) {
    return DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(number)));
}

// PostgreSQL's transition state: count, then of x and y sums and sums of squared differences from the mean,
// and of the differences' products. Nothing is rounded before a quotient.
static Datum read_regression(const RecordLayout &layout, const Result &result, const uint64 *record,
                             bool *is_null) {
    const auto count = static_cast<int64>(number_of_column(layout, record, result.count));
    const Numeric rows = int64_to_numeric(count);
    const auto sum = [&](uint16 column, int scale) {
        return column::make_numeric(number_of_column(layout, record, column), scale, scale);
    };
    const int x_scale = result.argument.scale;
    const int y_scale = result.other.scale;
    const Numeric x = sum(result.value, x_scale);
    const Numeric y = sum(result.other_sum, y_scale);
    const auto differences = [&](Numeric products, Numeric one, Numeric other) {
        const Datum less = DirectFunctionCall2(numeric_sub, NumericGetDatum(times(rows, products)),
                                               NumericGetDatum(times(one, other)));
        return Float8GetDatum(real_of(DatumGetNumeric(less)) / static_cast<float8>(count));
    };
    Datum state[] = {Float8GetDatum(static_cast<float8>(count)),
                     Float8GetDatum(real_of(x)),
                     differences(sum(result.squares, 2 * x_scale), x, x),
                     Float8GetDatum(real_of(y)),
                     differences(sum(result.other_squares, 2 * y_scale), y, y),
                     differences(sum(result.products, x_scale + y_scale), x, y)};
    ArrayType *array =
        construct_array(state, lengthof(state), FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
    return call_support(result.functions.finish, {PointerGetDatum(array), false}, {Datum{0}, true}, is_null);
}

static FloatSums read_float_sums(const RecordLayout &layout, const FloatColumns &columns,
                                 const uint64 *record) {
    FloatSums sums = {};
    const auto read = [&](const uint16 *from, uint32 count, double *to) {
        for (uint32 i = 0; i < count; i++)
            to[i] = real_of_column(layout, record, from[i]);
    };
    read(columns.x, engine::sum_parts, sums.x);
    read(columns.xx, 2 * engine::sum_parts, sums.xx);
    if (columns.has_y) {
        read(columns.y, engine::sum_parts, sums.y);
        read(columns.yy, 2 * engine::sum_parts, sums.yy);
        read(columns.xy, 2 * engine::sum_parts, sums.xy);
    }
    return sums;
}

static bool find_float_moments(const RecordLayout &layout, const Result &result, const uint64 *record,
                               double *state) {
    return find_moments(read_float_sums(layout, *result.floats, record),
                        static_cast<double>(number_of_column(layout, record, result.count)),
                        result.floats->has_y, state);
}

static Datum read_float_moments(const RecordLayout &layout, const Result &result, const uint64 *record,
                                bool *is_null) {
    double state[kMaxMoments];
    find_float_moments(layout, result, record, state);
    const int count = result.floats->has_y ? kMaxMoments : 3;
    Datum values[kMaxMoments];
    for (int i = 0; i < count; i++)
        values[i] = Float8GetDatum(state[i]);
    ArrayType *array =
        construct_array(values, count, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
    return call_support(result.functions.finish, {PointerGetDatum(array), false}, {Datum{0}, true}, is_null);
}

static Datum make_interval(Int128 days, Int128 time, Int128 months = 0) {
    auto *interval = allocate_zeroed<Interval>(1);
    interval->month = static_cast<int32>(months);
    interval->day = static_cast<int32>(days);
    interval->time = static_cast<TimeOffset>(time);
    return IntervalPGetDatum(interval);
}

static Datum interval_of_micros(Int128 micros) {
    return make_interval(micros / USECS_PER_DAY, micros % USECS_PER_DAY);
}

// By how it looks (look_of_interval).
static Datum interval_of_look(Int128 micros, Int128 look) {
    const auto days = static_cast<int32>(static_cast<uint32>(look));
    const Int128 months = (look - days) >> 32;
    return make_interval(days, micros - (months * DAYS_PER_MONTH + days) * USECS_PER_DAY, months);
}

static Int128 months_of_sum(const RecordLayout &layout, const Result &result, const uint64 *record) {
    return result.months == no_step ? 0 : number_of_column(layout, record, result.months);
}

static Datum read_interval_sum(const RecordLayout &layout, const Result &result, const uint64 *record) {
    const Datum sum =
        make_interval(number_of_column(layout, record, result.value),
                      number_of_column(layout, record, result.rest), months_of_sum(layout, result, record));
    const auto count = static_cast<float8>(number_of_column(layout, record, result.count));
    return result.kind == ResultKind::IntervalSum
               ? sum
               : DirectFunctionCall2(interval_div, sum, Float8GetDatum(count));
}

// As interval_lerp of orderedsetaggs.c.
static Datum read_between(const RecordLayout &layout, const Result &result, const uint64 *record) {
    const auto last = static_cast<float8>(number_of_column(layout, record, result.count)) - 1;
    const float8 place = result.fraction * last;
    const Datum below = interval_of_micros(number_of_column(layout, record, result.value));
    if (std::floor(place) == std::ceil(place))
        return below;
    const Datum above = interval_of_micros(number_of_column(layout, record, result.rest));
    const Datum difference = DirectFunctionCall2(interval_mi, above, below);
    const Datum part =
        DirectFunctionCall2(interval_mul, difference, Float8GetDatum(place - std::floor(place)));
    return DirectFunctionCall2(interval_pl, part, below);
}

static Datum read_array(const CompiledQuery &compiled, const RecordLayout &layout, const Result &result,
                        const uint64 *record) {
    const int dimensions = ARR_NDIM(result.shape);
    const int count = ArrayGetNItems(dimensions, ARR_DIMS(result.shape));
    auto *values = allocate<Datum>(static_cast<size_t>(count) + 1);
    auto *nulls = allocate<bool>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++) {
        nulls[i] = true;
        if (result.elements[i].value != no_step)
            read_result(compiled, layout, result.elements[i], record, &values[i], &nulls[i]);
    }
    const Oid type = get_element_type(result.type);
    int16 length;
    bool by_value;
    char alignment;
    get_typlenbyvalalign(type, &length, &by_value, &alignment);
    return PointerGetDatum(construct_md_array(values, nulls, dimensions, ARR_DIMS(result.shape),
                                              ARR_LBOUND(result.shape), type, length, by_value, alignment));
}

static constexpr int kShownBits = 6;

static int shown_of_bits(Int128 number) {
    return static_cast<int>(number & ((1 << kShownBits) - 1));
}

static Datum value_of_words(Kind kind, uint8 width, Int128 number, double real) {
    switch (kind) {
        case Kind::Boolean:
            return BoolGetDatum(number != 0);
        case Kind::Float:
            return width == 4 ? Float4GetDatum(static_cast<float4>(real)) : Float8GetDatum(real);
        case Kind::Date:
            return DateADTGetDatum(static_cast<DateADT>(number));
        case Kind::Timestamp:
            return TimestampGetDatum(static_cast<Timestamp>(number));
        case Kind::Interval:
            return interval_of_micros(number);
        default:
            return width == 2   ? Int16GetDatum(static_cast<int16>(number))
                   : width == 4 ? Int32GetDatum(static_cast<int32>(number))
                                : Int64GetDatum(static_cast<int64>(number));
    }
}

static Datum value_of_group(const CompiledQuery &compiled, const Result &result, uint64 number) {
    const Value &meaning = result.argument;
    if (meaning.numbering == no_numbering) {
        const column::ColumnType type = column::describe_type(meaning.coded, InvalidOid);
        return column::decode_integer(type,
                                      (number - offset_of_code(type)) & column::low_bits(type.width * 8U));
    }
    const Numbering &numbering = compiled.program->numberings[meaning.numbering];
    const Datum value = value_of_number(numbering, number);
    return result.padded != 0 && numbering.values != nullptr && numbering.values->has_variants
               ? DirectFunctionCall3(bpchar, value, Int32GetDatum(result.padded), BoolGetDatum(true))
               : value;
}

// 0 and -0 are equal, and PostgreSQL shows the one of its first row.
static bool is_zero_known(const RecordLayout &layout, const Result &result, const uint64 *record) {
    return !result.argument.may_be_minus_0 || real_of_column(layout, record, result.value) != 0 ||
           (result.least_sign != no_step && number_of_column(layout, record, result.least_sign) ==
                                                number_of_column(layout, record, result.greatest_sign));
}

// Are there enough digits for those that are shown?
static bool has_room(const RecordLayout &layout, const Result &result, const uint64 *record) {
    const int more = shown_of(layout, result, record) - result.argument.scale;
    Int128 number = number_of_column(layout, record, result.value);
    if (!column::multiply_by_power(&number, more))
        return false;
    if (result.kind != ResultKind::Deviation || result.part_products != no_step)
        return true;
    number = number_of_column(layout, record, result.squares);
    return column::multiply_by_power(&number, 2 * more);
}

// nullptr, or why PostgreSQL alone knows it.
static const char *find_problem_of(const RecordLayout &layout, const Result &result, const uint64 *record) {
    if (is_null_column(record, result.value))
        return nullptr;
    if (result.distinct_values != no_step && number_of_column(layout, record, result.distinct_values) !=
                                                 number_of_column(layout, record, result.distinct_looks))
        return "equal numerics show different digits";
    bool is_known = true;
    switch (result.kind) {
        case ResultKind::Integer: {
            const Int128 sum = number_of_column(layout, record, result.value);
            is_known = sum == static_cast<int64>(sum);
            break;
        }
        case ResultKind::FloatSum:
        case ResultKind::FloatAverage: {
            // Where finite numbers' sum isn't, PostgreSQL raises an error.
            const double sum = real_of_column(layout, record, result.value);
            is_known = !std::isinf(result.type == FLOAT4OID ? static_cast<float4>(sum) : sum);
            break;
        }
        case ResultKind::Regression:
        case ResultKind::BetweenIntervals:
            break;
        case ResultKind::FloatMoments: {
            double state[kMaxMoments];
            is_known = find_float_moments(layout, result, record, state);
            break;
        }
        case ResultKind::ShownExtreme: {
            constexpr int most = (1 << kShownBits) - 1;
            const Int128 number = number_of_column(layout, record, result.value);
            const int shown = shown_of_bits(number);
            if (result.rest != no_step &&
                shown + shown_of_bits(number_of_column(layout, record, result.rest)) != most)
                return "equal numerics show different digits";
            Int128 whole = number >> kShownBits;
            is_known = column::multiply_by_power(&whole, shown - result.argument.scale);
            break;
        }
        case ResultKind::IntervalExtreme: {
            const Int128 most = UINT64_MAX;
            const Int128 both = (number_of_column(layout, record, result.value) & most) +
                                (number_of_column(layout, record, result.rest) & most);
            return both == most ? nullptr : "equal intervals look different";
        }
        case ResultKind::IntervalSum:
        case ResultKind::IntervalAverage: {
            const Int128 days = number_of_column(layout, record, result.value);
            const Int128 time = number_of_column(layout, record, result.rest);
            const Int128 months = months_of_sum(layout, result, record);
            is_known = days == static_cast<int32>(days) && time == static_cast<int64>(time) &&
                       months == static_cast<int32>(months);
            break;
        }
        case ResultKind::Array: {
            const int count = ArrayGetNItems(ARR_NDIM(result.shape), ARR_DIMS(result.shape));
            for (int i = 0; i < count; i++)
                if (const char *problem = result.elements[i].value == no_step
                                              ? nullptr
                                              : find_problem_of(layout, result.elements[i], record))
                    return problem;
            break;
        }
        default:
            if (result.argument.kind == Kind::Float && !is_zero_known(layout, result, record))
                return "there is a 0 that may be -0";
            if (result.least_shown != no_step && number_of_column(layout, record, result.least_shown) !=
                                                     number_of_column(layout, record, result.shown))
                return "equal grouping columns look different";
            is_known = !is_numeric(result.argument) || has_room(layout, result, record);
    }
    return is_known ? nullptr : "a result is out of range";
}

const char *find_unknown_result(const CompiledQuery &compiled, const RecordLayout &layout,
                                column::QueryResult *records) {
    const uint64 *record;
    while (uint64 count = column::next_records(records->records, &record)) {
        CHECK_FOR_INTERRUPTS();
        for (; count > 0; count--, record += records->record_words) {
            for (uint32 i = 0; i < compiled.result_count; i++)
                if (const char *problem = find_problem_of(layout, compiled.results[i], record))
                    return problem;
        }
    }
    column::rewind_records(records->records);
    return nullptr;
}

void read_result(const CompiledQuery &compiled, const RecordLayout &layout, const Result &result,
                 const uint64 *record, Datum *value, bool *is_null) {
    *value = Datum{0};
    *is_null = is_null_column(record, result.value);
    if (*is_null)
        return;
    const Value &meaning = result.argument;
    const auto count = [&] { return static_cast<int64>(number_of_column(layout, record, result.count)); };
    double real = real_of_column(layout, record, result.value);
    if (meaning.kind == Kind::Float && real == 0 && result.least_sign != no_step)
        real = number_of_column(layout, record, result.least_sign) != 0 ? -0.0 : 0.0;
    switch (result.kind) {
        case ResultKind::Integer:
            *value = Int64GetDatum(static_cast<int64>(number_of_column(layout, record, result.value)));
            return;
        case ResultKind::Sum:
            *value = NumericGetDatum(read_sum(layout, result, record));
            return;
        case ResultKind::Average:
            *value = DirectFunctionCall2(numeric_div, NumericGetDatum(read_sum(layout, result, record)),
                                         NumericGetDatum(int64_to_numeric(count())));
            return;
        case ResultKind::FloatSum:
            *value =
                result.type == FLOAT4OID ? Float4GetDatum(static_cast<float4>(real)) : Float8GetDatum(real);
            return;
        case ResultKind::FloatAverage:
            // PostgreSQL adds to 0, which -0 becomes by that.
            *value = Float8GetDatum((0.0 + real) / static_cast<double>(count()));
            return;
        case ResultKind::Deviation:
            *value = read_deviation(layout, result, record, is_null);
            return;
        case ResultKind::Regression:
            *value = read_regression(layout, result, record, is_null);
            return;
        case ResultKind::FloatMoments:
            *value = read_float_moments(layout, result, record, is_null);
            return;
        case ResultKind::ShownExtreme: {
            const Int128 number = number_of_column(layout, record, result.value);
            *value = NumericGetDatum(read_numeric(meaning, number >> kShownBits, shown_of_bits(number)));
            return;
        }
        case ResultKind::IntervalExtreme: {
            const Int128 number = number_of_column(layout, record, result.value);
            *value = interval_of_look(number >> 64, static_cast<uint64>(number) - (Int128{1} << 63));
            return;
        }
        case ResultKind::IntervalSum:
        case ResultKind::IntervalAverage:
            *value = read_interval_sum(layout, result, record);
            return;
        case ResultKind::BetweenIntervals:
            *value = read_between(layout, result, record);
            return;
        case ResultKind::Array:
            *value = read_array(compiled, layout, result, record);
            return;
        default:
            break;
    }
    if (is_numeric(meaning)) {
        *value = NumericGetDatum(read_numeric(meaning, number_of_column(layout, record, result.value),
                                              shown_of(layout, result, record)));
    } else if (meaning.kind == Kind::Group) {
        *value = value_of_group(compiled, result, record[layout.words[result.value]]);
    } else if (meaning.kind == Kind::Interval && result.shown != no_step) {
        *value = interval_of_look(number_of_column(layout, record, result.value),
                                  number_of_column(layout, record, result.shown));
    } else {
        *value = value_of_words(meaning.kind, width_of_type(result.type),
                                number_of_column(layout, record, result.value), real);
    }
}

}  // namespace pg_gpu::plan::query
