// Expressions of a query: typed steps, each of which computes a value of every row from values of steps
// before it. Both engines compute them by the functions of common/query, so that they can't differ.
//
// A value is NULL or one of four types. Everything of SQL that is a number, a moment or a place in a
// dictionary is one of them: who makes the program knows what it means. A decimal is an integer of 64 or 128
// bits without its point; the program brings operands to the same number of digits.
#pragma once

#include <cstdint>

namespace gpu_engine::query {

enum class ValueType : std::uint8_t {
    boolean = 1,  // 0 or 1 in a word
    int64,
    int128,   // two words, the lower one first
    float64,  // of float4, too: each is the float8 that equals it
};
constexpr std::uint32_t words_of(ValueType type) noexcept {
    return type == ValueType::int128 ? 2 : 1;
}

// With a NULL operand the result is NULL, unless said otherwise. A step *fails* in a row where SQL's operator
// would raise an error; then the query's outcome is QueryOutcome::failed, if the row counts (Step::guard).
// `type` is the result's; operands have it too, unless said otherwise.
enum class Operation : std::uint16_t {
    // ---- sources: they have no guard ----
    column = 1,  // column number `left` of what the node reads
    constant,    // constant number `left` of the query
    null,

    // ---- numbers ----
    // int64 and int128: a result that doesn't fit `width` bytes (2, 4, 8, 16) fails, as does a divisor of 0.
    // Division cuts toward 0, and a remainder has the dividend's sign. float64: a result of `width` bytes (4,
    // 8)
    // is rounded to a float of that size; overflow, underflow and division by 0 fail as in PostgreSQL's
    // float.c.
    add = 16,
    subtract,
    multiply,
    divide,
    modulo,
    negate,
    absolute,
    sign,     // -1, 0, 1
    greater,  // of two, by SQL's order (NaN is the greatest): ignores NULL as GREATEST does
    lesser,
    // int64, int128: the quotient rounded to an integer: to the nearest with halves away from 0, up, down,
    // toward 0.
    divide_round,
    divide_ceiling,
    divide_floor,
    // The quotient of two decimals as PostgreSQL's numeric has it. `detail` is the dividend's scale, plus 256
    // times the divisor's, plus 65536 times the result's. A divisor of 0 fails in both.
    quotient_digits,  // int64, of two int128: how many digits select_div_scale of numeric.c gives, operands'
                      // display scales (which the program adds by `greater`) left out
    quotient,  // int128: rounded, halves away from 0, to as many digits behind the point as `third` says (an
               // int64), as an integer of the result's scale; fails where that is less, or has no room
    // float64 only
    round_even,  // rint
    ceiling,
    floor,
    truncate,
    square_root,  // fails below 0
    // What the product of two, rounded, lacks, 0 where it isn't finite; fails where no float is exactly that.
    product_rest,
    // Functions of the C library, which engines on processors compute, and devices, whose functions differ in
    // the
    // last bit, don't: they answer no query that has one. `detail` is the FloatFunction. They fail where
    // PostgreSQL's float.c raises an error.
    float_function,
    float_function_of_two,
    bit_and,  // int64 only, from here on
    bit_or,
    bit_xor,
    bit_not,
    shift_left,  // by right modulo 8 * width
    shift_right,

    // ---- casts ----
    widen = 64,        // int64 (or boolean) to int128
    narrow,            // int128 or int64 to int64 of `width` bytes; fails where there is no room
    to_float,          // int64 or int128 / 10^detail to float64 of `width` bytes, correctly rounded
    float_to_float,    // float64 to one of `width` bytes; fails on overflow
    float_to_integer,  // to int64 of `width` bytes: rint; fails out of range and for NaN
    to_boolean,        // int64: not 0
    is_negative,       // float64: is its sign that of -1? -0 has it, and equals 0
    // The decimal of so many digits that is nearest to a float64, as printf's %.15g finds it, and in turn
    // rounded to a scale, halves away from 0: an int128 of that scale. `detail` is the scale, plus 256 times
    // the number of digits, plus 65536 times how many digits the result may have, and 2^24 where nothing may
    // be rounded but the float. Fails where it has no room, and for what isn't finite.
    float_to_decimal,
    float_scale,  // int64: how many digits that decimal has behind the point; fails with it

    // ---- truth ----
    // Comparisons of two operands of one type give boolean. Floats: NaN equals NaN and is greater than all
    // others, -0 equals 0.
    equal = 96,
    not_equal,
    less,
    less_or_equal,
    logical_and,  // three-valued
    logical_or,
    logical_not,
    is_null,  // of any type; never NULL
    is_true,  // never NULL
    is_false,
    is_distinct,  // never NULL
    in_list,      // is `left` among the `right` constants from number `third` on, which ascend? `detail` is 1
                  // where the
                  // list has a NULL, too: then what isn't among them is NULL

    // ---- choices ----
    // A result of either is of `type`.
    choose = 128,   // `left` true? `right`, else `third` (NULL counts as not true)
    coalesce,       // `left`, and `right` where that is NULL
    null_if_equal,  // `left`, NULL where it equals `right`; NULL if `left` is
    // int64: what a table has for `left`; fails where that is nothing. The table is constants from number
    // `detail` on: how many entries there are, and behind it, by ascending `low`, entries of what is looked
    // up (low) and what is found (high).
    look_up,

    // ---- moments ----
    // Of int64. `detail` says which. Days count from 2000-01-01, timestamps are microseconds from then on.
    // The
    // infinities of dates (INT32_MIN, INT32_MAX) and timestamps (INT64_MIN, INT64_MAX) stay as they are in
    // truncations, fail in fields and zones.
    date_of_timestamp = 160,  // days, rounded down
    timestamp_of_date,
    truncate_days,       // a date to the first day of a CalendarUnit
    truncate_timestamp,  // likewise, or of a TimeUnit
    field_of_date,       // a CalendarField
    field_of_timestamp,
    shift_zone,    // microseconds, plus the offset that zone `detail` of the query has at that UTC moment
    unshift_zone,  // from local time to UTC, as timestamp2timestamptz does
    months_added,  // a timestamp or date (`detail` 1) plus `right` months, cut to the month's last day
};

enum class TimeUnit : std::uint32_t {
    microsecond = 1,
    millisecond,
    second,
    minute,
    hour,
    day,
    week,  // from Monday
    month,
    quarter,
    year,
    decade,
    century,
    millennium,
};

enum class DateField : std::uint32_t {
    microseconds = 1,  // within the minute: seconds and their fraction, as an integer of microseconds
    second_micros,     // the same; EXTRACT(second) shows six digits of it
    milliseconds,
    minute,
    hour,
    day,
    week,  // ISO
    month,
    quarter,
    year,
    isoyear,
    decade,
    century,
    millennium,
    day_of_week,      // 0 to 6 from Sunday
    iso_day_of_week,  // 1 to 7 from Monday
    day_of_year,
    epoch_micros,  // since 1970
    julian_day,
};

enum class FloatFunction : std::uint32_t {
    exponential = 1,
    natural_logarithm,
    decimal_logarithm,
    cube_root,
    sine,
    cosine,
    tangent,
    cotangent,
    arc_sine,
    arc_cosine,
    arc_tangent,
    hyperbolic_sine,
    hyperbolic_cosine,
    hyperbolic_tangent,
    area_sine,
    area_cosine,
    area_tangent,
    power,  // of two, from here on
    arc_tangent_of_two,
};

inline constexpr std::uint16_t no_step = UINT16_MAX;

struct Step {
    Operation operation;
    ValueType type;
    std::uint8_t width;
    std::uint16_t left;
    std::uint16_t right;
    std::uint16_t third;
    // Where it isn't no_step, an earlier truth value: the step fails only in rows of which that is true, and
    // gives NULL elsewhere. A branch of a CASE is guarded by its condition.
    std::uint16_t guard;
    std::uint32_t detail;
};
static_assert(sizeof(Step) == 16);

struct Constant {
    std::uint64_t low;  // all of a value of one word
    std::uint64_t high;
};

// A time zone: offset[i] microseconds east of UTC from from[i] on (microseconds UTC, ascending; the first one
// is INT64_MIN).
struct ZoneTransition {
    std::int64_t from;
    std::int64_t offset;
};

}  // namespace gpu_engine::query
