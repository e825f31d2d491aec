// Dates and timestamps. Infinities stay outside of arithmetic: columns that have some aren't added to.
#include "compat.h"
#include "plan/query/moments.h"
#include "plan/query/zone.h"

namespace pg_gpu::plan::query {

using engine::DateField;
using engine::TimeUnit;

static uint16 shift_step(Compiler *compiler, Operation operation, const Value &value) {
    return shift_step(compiler, operation, value, session_timezone);
}

// ---- units and fields -------------------------------------------------------------------------------------

namespace {

struct NamedUnit {
    const char *name;
    TimeUnit unit;
};

struct NamedField {
    const char *name;
    DateField field;
    int16 scale;     // of extract()'s result
    bool is_of_day;  // dates have it, too
    bool is_whole;   // so that date_part() gives it exactly
};

}  // namespace

static constexpr NamedUnit units[] = {
    {"microsecond", TimeUnit::microsecond},
    {"microseconds", TimeUnit::microsecond},
    {"millisecond", TimeUnit::millisecond},
    {"milliseconds", TimeUnit::millisecond},
    {"second", TimeUnit::second},
    {"minute", TimeUnit::minute},
    {"hour", TimeUnit::hour},
    {"day", TimeUnit::day},
    {"week", TimeUnit::week},
    {"month", TimeUnit::month},
    {"quarter", TimeUnit::quarter},
    {"year", TimeUnit::year},
    {"decade", TimeUnit::decade},
    {"century", TimeUnit::century},
    {"millennium", TimeUnit::millennium},
};

// Seconds and milliseconds are microseconds with a point.
static constexpr NamedField fields[] = {
    {"microseconds", DateField::microseconds, 0, false, true},
    {"milliseconds", DateField::microseconds, 3, false, false},
    {"second", DateField::second_micros, 6, false, false},
    {"minute", DateField::minute, 0, false, true},
    {"hour", DateField::hour, 0, false, true},
    {"day", DateField::day, 0, true, true},
    {"week", DateField::week, 0, true, true},
    {"month", DateField::month, 0, true, true},
    {"quarter", DateField::quarter, 0, true, true},
    {"year", DateField::year, 0, true, true},
    {"isoyear", DateField::isoyear, 0, true, true},
    {"decade", DateField::decade, 0, true, true},
    {"century", DateField::century, 0, true, true},
    {"millennium", DateField::millennium, 0, true, true},
    {"dow", DateField::day_of_week, 0, true, true},
    {"isodow", DateField::iso_day_of_week, 0, true, true},
    {"doy", DateField::day_of_year, 0, true, true},
    {"epoch", DateField::epoch_micros, 6, false, true},
};

// The text of a constant; nullptr: it isn't known.
static const char *read_name(const List *arguments) {
    const auto *node = static_cast<const Node *>(linitial(arguments));
    if (!IsA(node, Const) || reinterpret_cast<const Const *>(node)->constisnull)
        return nullptr;
    return TextDatumGetCString(reinterpret_cast<const Const *>(node)->constvalue);
}

template <typename Named, size_t count>
static const Named *find_named(const Named (&all)[count], const List *arguments) {
    const char *name = read_name(arguments);
    for (const Named &one : all)
        if (name != nullptr && pg_strcasecmp(one.name, name) == 0)
            return &one;
    return nullptr;
}

// ---- functions --------------------------------------------------------------------------------------------

// Without a zone for timestamps that have none.
static Value compile_truncation(Compiler *compiler, const List *arguments, pg_tz *zone) {
    const NamedUnit *named = find_named(units, arguments);
    const Value value = compile(compiler, static_cast<const Expr *>(lsecond(arguments)));
    if (is_refused(compiler))
        return {};
    if (named == nullptr || value.kind != Kind::Timestamp)
        return refuse_value(compiler, "a unit of time isn't known");
    const bool is_shifted = zone != nullptr && named->unit >= TimeUnit::minute;
    const uint16 local = is_shifted ? shift_step(compiler, Operation::shift_zone, value, zone) : value.step;
    engine::Step step = make_step(Operation::truncate_timestamp, ValueType::int64, local);
    step.detail = static_cast<uint32>(named->unit);
    uint16 cut = add_guarded(compiler, step, true);
    if (is_shifted && named->unit >= TimeUnit::day) {
        const Value local_cut = make_moment(Kind::Timestamp, cut, value.limit);
        cut = shift_step(compiler, Operation::unshift_zone, local_cut, zone);
    } else if (is_shifted) {
        // Within a day the offset stays that of the moment itself, which local time doesn't tell where clocks
        // are set back.
        const engine::Step less = make_step(Operation::subtract, ValueType::int64, local, cut);
        const engine::Step kept =
            make_step(Operation::subtract, ValueType::int64, value.step, add_guarded(compiler, less, true));
        cut = add_guarded(compiler, kept, true);
    }
    const double length = (named->unit <= TimeUnit::day    ? 2.0
                           : named->unit <= TimeUnit::year ? 2.0 * DAYS_PER_YEAR
                                                           : 1001.0 * DAYS_PER_YEAR) *
                          USECS_PER_DAY;
    return make_moment(Kind::Timestamp, cut, value.limit + length);
}

// date_trunc() by the clocks of a zone that is named.
static Value compile_truncation_in_zone(Compiler *compiler, const List *arguments) {
    const auto *name = static_cast<const Const *>(lthird(arguments));
    if (!IsA(name, Const))
        return compile_by_zone(compiler, F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, arguments, 2);
    pg_tz *zone = !name->constisnull ? zone_of_name(*name) : nullptr;
    return zone == nullptr
               ? refuse_value(compiler, "a time zone isn't a constant, or not a name of one", name)
               : compile_truncation(compiler, arguments, zone);
}

static Value field_value(uint16 step, int16 scale, double limit) {
    Value value = make_value(step, Kind::Decimal, ValueType::int64, limit);
    value.scale = value.shown = scale;
    return value;
}

Value add_number(Compiler *compiler, Operation operation, uint16 step, int64 number) {
    const engine::Step sum = make_step(operation, ValueType::int64, step,
                                       constant_step(compiler->program, number, ValueType::int64));
    return make_value(add_guarded(compiler, sum, true), Kind::Integer, ValueType::int64);
}

// A field as extract() gives it.
static Value compile_field(Compiler *compiler, const NamedField &named, const Value &value, bool has_zone) {
    // No field is greater, but years of timestamps and moments since 1970.
    constexpr double most = 1e9;
    const bool is_epoch = named.field == DateField::epoch_micros;
    if (value.kind == Kind::Date) {
        if (is_epoch) {
            const Value days =
                add_number(compiler, Operation::add, value.step, POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE);
            return value.limit > kMaxDays
                       ? refuse_value(compiler, "a date may be infinite")
                       : field_value(add_number(compiler, Operation::multiply, days.step, SECS_PER_DAY).step,
                                     0, 1e15);
        }
        if (!named.is_of_day)
            return refuse_value(compiler, "a date doesn't have a field");
    }
    const bool is_shifted = has_zone && !is_epoch;
    engine::Step step = make_step(
        value.kind == Kind::Date ? Operation::field_of_date : Operation::field_of_timestamp, ValueType::int64,
        is_shifted ? shift_step(compiler, Operation::shift_zone, value) : value.step);
    step.detail = static_cast<uint32>(named.field);
    return field_value(add_guarded(compiler, step, true), named.scale, is_epoch ? kMaxInt64 : most);
}

// ---- intervals --------------------------------------------------------------------------------------------

static Value divided(Compiler *compiler, Operation operation, uint16 step, int64 divisor, double limit) {
    const uint16 divisor_step = constant_step(compiler->program, divisor, ValueType::int64);
    return make_value(add_step(compiler->program, make_step(operation, ValueType::int64, step, divisor_step)),
                      Kind::Integer, ValueType::int64, limit);
}

// The microseconds that extract() gives as seconds: of a year they are those of 365.25 days.
static uint16 seconds_of_fields(Compiler *compiler, const IntervalFields &fields) {
    constexpr int64 micros_of_year = 31557600 * USECS_PER_SEC;
    const auto micros = [&](uint16 step, int64 each) {
        return add_number(compiler, Operation::multiply, step, each).step;
    };
    const auto part = [&](Operation operation) {
        return divided(compiler, operation, fields.months.step, MONTHS_PER_YEAR, kMaxInt64).step;
    };
    uint16 all = fields.time.step;
    for (const uint16 more : {micros(part(Operation::divide), micros_of_year),
                              micros(part(Operation::modulo), DAYS_PER_MONTH * USECS_PER_DAY),
                              micros(fields.days.step, USECS_PER_DAY)})
        all = add_guarded(compiler, make_step(Operation::add, ValueType::int64, all, more), true);
    return all;
}

// A field of an interval as extract() gives it.
static Value compile_interval_field(Compiler *compiler, const List *arguments) {
    const NamedField *named = find_named(fields, arguments);
    const Value value = compile_interval(compiler, static_cast<const Expr *>(lsecond(arguments)));
    if (is_refused(compiler))
        return {};
    if (named == nullptr)
        return refuse_value(compiler, "a field of an interval isn't known");
    const IntervalFields parts = fields_of_interval(compiler, value);
    const auto part = [&](int64 divisor, int64 modulus) {
        const Value quotient =
            divided(compiler, Operation::divide, parts.time.step, divisor, parts.time.limit / divisor);
        return divided(compiler, Operation::modulo, quotient.step, modulus, modulus).step;
    };
    const auto years = [&](int64 length) {
        const int64 months = length * MONTHS_PER_YEAR;
        const double limit = parts.months.limit / static_cast<double>(months);
        return field_value(divided(compiler, Operation::divide, parts.months.step, months, limit).step, 0,
                           limit);
    };
    switch (named->field) {
        case DateField::epoch_micros:
            return parts.has_months ? field_value(seconds_of_fields(compiler, parts), named->scale, kMaxInt64)
                                    : field_value(value.step, named->scale, value.limit);
        case DateField::millennium:
            return years(1000);
        case DateField::century:
            return years(100);
        case DateField::decade:
            return years(10);
        case DateField::year:
            return years(1);
        case DateField::month:
            return field_value(
                divided(compiler, Operation::modulo, parts.months.step, MONTHS_PER_YEAR, MONTHS_PER_YEAR)
                    .step,
                0, MONTHS_PER_YEAR);
        case DateField::day:
            return field_value(parts.days.step, 0, parts.days.limit);
        case DateField::hour:
            return field_value(
                divided(compiler, Operation::divide, parts.time.step, USECS_PER_HOUR, parts.time.limit).step,
                0, parts.time.limit / USECS_PER_HOUR);
        case DateField::minute:
            return field_value(part(USECS_PER_MINUTE, MINS_PER_HOUR), 0, MINS_PER_HOUR);
        case DateField::microseconds:
        case DateField::second_micros:
            return field_value(part(1, USECS_PER_MINUTE), named->scale, USECS_PER_MINUTE);
        default:
            return refuse_value(compiler, "a field of an interval isn't known");
    }
}

static Value to_real(Compiler *compiler, const Value &field) {
    engine::Step step = make_step(Operation::to_float, ValueType::float64, field.step);
    step.detail = static_cast<uint32>(field.scale);
    return make_value(add_guarded(compiler, step, true), Kind::Float, ValueType::float64);
}

// date_part(), which adds up seconds as floats.
static Value compile_interval_part(Compiler *compiler, const List *arguments) {
    const NamedField *named = find_named(fields, arguments);
    if (named == nullptr || !named->is_whole)
        return refuse_value(compiler, "a field of an interval isn't known");
    if (named->field != DateField::epoch_micros) {
        const Value field = compile_interval_field(compiler, arguments);
        return is_refused(compiler) ? Value{} : to_real(compiler, field);
    }
    const Value value = compile_interval(compiler, static_cast<const Expr *>(lsecond(arguments)));
    if (is_refused(compiler))
        return {};
    const IntervalFields parts = fields_of_interval(compiler, value);
    uint16 all = to_real(compiler, field_value(parts.time.step, named->scale, parts.time.limit)).step;
    const auto add_seconds = [&](uint16 step, int64 each) {
        const Value more = add_number(compiler, Operation::multiply, step, each);
        all = add_guarded(
            compiler, make_step(Operation::add, ValueType::float64, all, to_real(compiler, more).step), true);
    };
    const auto part = [&](Operation operation) {
        return divided(compiler, operation, parts.months.step, MONTHS_PER_YEAR, kMaxInt64).step;
    };
    if (parts.has_months) {
        add_seconds(part(Operation::divide), 31557600);
        add_seconds(part(Operation::modulo), int64{DAYS_PER_MONTH} * SECS_PER_DAY);
    }
    add_seconds(parts.days.step, SECS_PER_DAY);
    return make_value(all, Kind::Float, ValueType::float64);
}

// A field of a time of day, which is that of an interval as long.
static Value compile_field_of_time(Compiler *compiler, Oid function, const List *arguments) {
    const NamedField *named = find_named(fields, arguments);
    if (named == nullptr || (named->is_of_day && named->field != DateField::epoch_micros))
        return refuse_value(compiler, "a time of day doesn't have a field");
    FuncExpr *interval = makeFuncExpr(F_INTERVAL_TIME, INTERVALOID, list_make1(lsecond(arguments)),
                                      InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST);
    const List *of_interval = list_make2(linitial(arguments), interval);
    return function == F_EXTRACT_TEXT_TIME ? compile_interval_field(compiler, of_interval)
                                           : compile_interval_part(compiler, of_interval);
}

static Value compile_extract(Compiler *compiler, const List *arguments, bool has_zone) {
    const NamedField *named = find_named(fields, arguments);
    const Value value = compile(compiler, static_cast<const Expr *>(lsecond(arguments)));
    if (is_refused(compiler))
        return {};
    if (named == nullptr)
        return refuse_value(compiler, "a field of a moment isn't known");
    return compile_field(compiler, *named, value, has_zone);
}

// date_part() gives float8, of which a quotient of doubles may differ from the number itself.
static Value compile_part(Compiler *compiler, const List *arguments, bool has_zone) {
    constexpr double max_exact = 9.0e15;
    const NamedField *named = find_named(fields, arguments);
    const Value value = compile(compiler, static_cast<const Expr *>(lsecond(arguments)));
    if (is_refused(compiler))
        return {};
    if (named == nullptr || !named->is_whole ||
        (named->field == DateField::epoch_micros && value.limit > max_exact - 1e15))
        return refuse_value(compiler, "a field of a moment isn't known");
    const Value field = compile_field(compiler, *named, value, has_zone);
    return is_refused(compiler) ? Value{} : to_real(compiler, field);
}

static Value convert(Compiler *compiler, Operation operation, Kind kind, const Value &value) {
    const double limit = kind == Kind::Date ? value.limit / USECS_PER_DAY + 1 : value.limit * USECS_PER_DAY;
    return make_moment(kind, add_guarded(compiler, make_step(operation, ValueType::int64, value.step), true),
                       kind == Kind::Date && value.limit >= kMaxInt64 ? 2147483647.0 : Min(limit, kMaxInt64));
}

Value first_moment_of(Compiler *compiler, const Value &date) {
    return convert(compiler, Operation::timestamp_of_date, Kind::Timestamp, date);
}

static Value compile_conversion(Compiler *compiler, Oid function, const List *arguments) {
    const Value value = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    if (is_refused(compiler))
        return {};
    const auto shifted = [&](Operation operation, const Value &from) {
        return make_moment(Kind::Timestamp, shift_step(compiler, operation, from),
                           Min(from.limit + USECS_PER_DAY, kMaxInt64));
    };
    switch (function) {
        case F_DATE_TIMESTAMP:
            return convert(compiler, Operation::date_of_timestamp, Kind::Date, value);
        case F_DATE_TIMESTAMPTZ:
            return convert(compiler, Operation::date_of_timestamp, Kind::Date,
                           shifted(Operation::shift_zone, value));
        case F_TIMESTAMP_DATE:
            return first_moment_of(compiler, value);
        case F_TIMESTAMPTZ_DATE:
            return shifted(Operation::unshift_zone, first_moment_of(compiler, value));
        case F_TIMESTAMP_TIMESTAMPTZ:
            return shifted(Operation::shift_zone, value);
        default:
            return shifted(Operation::unshift_zone, value);
    }
}

// ---- arithmetic -------------------------------------------------------------------------------------------

static Value compile_days(Compiler *compiler, Oid function, const List *arguments) {
    const Value one = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    const Value other = compile(compiler, static_cast<const Expr *>(lsecond(arguments)));
    if (is_refused(compiler))
        return {};
    if (one.limit + other.limit > kMaxDays)
        return refuse_value(compiler, "a date may be infinite, or out of range");
    const engine::Step step = make_step(function == F_DATE_PLI ? Operation::add : Operation::subtract,
                                        ValueType::int64, one.step, other.step);
    Value value = make_moment(Kind::Date, add_step(compiler->program, step), one.limit + other.limit);
    if (function == F_DATE_MI)
        value.kind = Kind::Integer;
    return value;
}

// ---- periods ----------------------------------------------------------------------------------------------

namespace {

// From the lesser one of two moments to the greater one; a period of which one is NULL has no end.
struct Period {
    uint16 start;
    uint16 end;
};

}  // namespace

static Period compile_period(Compiler *compiler, const List *arguments, int number) {
    const uint16 one = compile(compiler, static_cast<const Expr *>(list_nth(arguments, number))).step;
    const uint16 other = compile(compiler, static_cast<const Expr *>(list_nth(arguments, number + 1))).step;
    if (is_refused(compiler))
        return {};
    const auto pair = [&](Operation operation) {
        return add_step(compiler->program, make_step(operation, ValueType::int64, one, other));
    };
    const uint16 lacks_one = logic(compiler, Operation::logical_or, logic(compiler, Operation::is_null, one),
                                   logic(compiler, Operation::is_null, other));
    const uint16 null = add_step(compiler->program, make_step(Operation::null, ValueType::int64));
    return {pair(Operation::lesser),
            add_step(compiler->program, make_step(Operation::choose, ValueType::int64, lacks_one, null,
                                                  pair(Operation::greater)))};
}

// OVERLAPS, as overlaps_timestamp() has it: what begins later must do so before the other one ends. Where
// that end isn't known, or the later one's own, so is the result.
static Value compile_overlaps(Compiler *compiler, const List *arguments) {
    const Period one = compile_period(compiler, arguments, 0);
    const Period other = compile_period(compiler, arguments, 2);
    if (is_refused(compiler))
        return {};
    const auto either = [&](uint16 left, uint16 right) {
        return logic(compiler, Operation::logical_or, left, right);
    };
    const auto is_less = [&](uint16 left, uint16 right) {
        return logic(compiler, Operation::less, left, right);
    };
    const auto choose = [&](uint16 condition, uint16 result, uint16 rest) {
        return add_step(compiler->program,
                        make_step(Operation::choose, ValueType::boolean, condition, result, rest));
    };
    const auto is_within = [&](const Period &later, const Period &earlier) {
        return either(is_less(later.start, earlier.end), is_less(later.end, earlier.end));
    };
    const uint16 are_known = either(logic(compiler, Operation::equal, one.end, other.end),
                                    logic(compiler, Operation::not_equal, one.end, other.end));
    return truth(choose(is_less(other.start, one.start), is_within(one, other),
                        choose(is_less(one.start, other.start), is_within(other, one), are_known)));
}

// isfinite()
static Value compile_finite(Compiler *compiler, const List *arguments) {
    const Value value = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    if (is_refused(compiler))
        return {};
    const uint16 is_infinite = is_infinite_step(compiler, value.step, value.kind == Kind::Date);
    return truth(logic(compiler, Operation::logical_not, is_infinite));
}

// ---- seconds since 1970 -----------------------------------------------------------------------------------

static constexpr int64 kUnixToPostgres =
    static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

// The integer that float8 is cast from, where to_timestamp() loses nothing of it; nullptr: there is none.
static const Expr *whole_seconds(const Expr *seconds) {
    if (!IsA(seconds, FuncExpr))
        return nullptr;
    const auto *cast = reinterpret_cast<const FuncExpr *>(seconds);
    return cast->funcid == F_FLOAT8_INT2 || cast->funcid == F_FLOAT8_INT4 || cast->funcid == F_FLOAT8_INT8
               ? static_cast<const Expr *>(linitial(cast->args))
               : nullptr;
}

// Fails beyond kMaxMicros: sums with what is left up to the greatest number then overflow.
uint16 within_limit(Compiler *compiler, uint16 micros) {
    constexpr int64 left = PG_INT64_MAX - static_cast<int64>(kMaxMicros);
    for (const Operation there : {Operation::add, Operation::subtract}) {
        const Operation back = there == Operation::add ? Operation::subtract : Operation::add;
        micros = add_number(compiler, there, micros, left).step;
        micros = add_number(compiler, back, micros, left).step;
    }
    return micros;
}

// to_timestamp(float8): the steps of float8_timestamptz(), or the same with integers where floats would have
// all digits.
static Value compile_seconds(Compiler *compiler, const List *arguments) {
    constexpr double max_exact = 9.0e15;
    const auto *seconds = static_cast<const Expr *>(linitial(arguments));
    const Expr *whole = whole_seconds(seconds);
    const Value value = compile(compiler, whole != nullptr ? whole : seconds);
    if (is_refused(compiler))
        return {};
    if (value.is_null)
        return null_value(compiler, TIMESTAMPTZOID);
    const double limit = (value.limit + kUnixToPostgres) * USECS_PER_SEC;
    if (whole != nullptr && limit > kMaxMicros)
        return refuse_value(compiler, "a timestamp may be infinite, or out of range");
    if (whole != nullptr && limit <= max_exact) {
        const Value moved = add_number(compiler, Operation::subtract, value.step, kUnixToPostgres);
        return make_moment(Kind::Timestamp,
                           add_number(compiler, Operation::multiply, moved.step, USECS_PER_SEC).step, limit);
    }
    const Value real = whole != nullptr ? to_real(compiler, value) : value;
    const auto with = [&](Operation operation, uint16 step, float8 number) {
        const uint16 constant = constant_step(compiler->program, number);
        return add_guarded(compiler, make_step(operation, ValueType::float64, step, constant), true);
    };
    const uint16 moved = with(Operation::subtract, real.step, kUnixToPostgres);
    engine::Step step = make_step(Operation::float_to_integer, ValueType::int64,
                                  with(Operation::multiply, moved, USECS_PER_SEC));
    step.width = 8;
    return make_moment(Kind::Timestamp, within_limit(compiler, add_guarded(compiler, step, true)),
                       kMaxMicros);
}

bool compile_moment_call(Compiler *compiler, Oid function, const List *arguments, Value *value) {
    switch (function) {
        case F_TO_TIMESTAMP_FLOAT8:
            *value = compile_seconds(compiler, arguments);
            return true;
        case F_DATE_TRUNC_TEXT_TIMESTAMP:
        case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
            *value = compile_truncation(
                compiler, arguments, function == F_DATE_TRUNC_TEXT_TIMESTAMPTZ ? session_timezone : nullptr);
            return true;
        case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
            *value = compile_truncation_in_zone(compiler, arguments);
            return true;
        case F_EXTRACT_TEXT_DATE:
        case F_EXTRACT_TEXT_TIMESTAMP:
        case F_EXTRACT_TEXT_TIMESTAMPTZ:
            *value = compile_extract(compiler, arguments, function == F_EXTRACT_TEXT_TIMESTAMPTZ);
            return true;
        case F_EXTRACT_TEXT_TIME:
        case F_DATE_PART_TEXT_TIME:
            *value = compile_field_of_time(compiler, function, arguments);
            return true;
        case F_ISFINITE_DATE:
        case F_ISFINITE_TIMESTAMP:
        case F_ISFINITE_TIMESTAMPTZ:
            *value = compile_finite(compiler, arguments);
            return true;
        case F_EXTRACT_TEXT_INTERVAL:
            *value = compile_interval_field(compiler, arguments);
            return true;
        case F_DATE_PART_TEXT_INTERVAL:
            *value = compile_interval_part(compiler, arguments);
            return true;
        case F_DATE_PART_TEXT_TIMESTAMP:
        case F_DATE_PART_TEXT_TIMESTAMPTZ:
            *value = compile_part(compiler, arguments, function == F_DATE_PART_TEXT_TIMESTAMPTZ);
            return true;
        case F_DATE_TIMESTAMP:
        case F_DATE_TIMESTAMPTZ:
        case F_TIMESTAMP_DATE:
        case F_TIMESTAMPTZ_DATE:
        case F_TIMESTAMP_TIMESTAMPTZ:
        case F_TIMESTAMPTZ_TIMESTAMP:
            *value = compile_conversion(compiler, function, arguments);
            return true;
        case F_OVERLAPS_TIMESTAMP_TIMESTAMP_TIMESTAMP_TIMESTAMP:
        case F_OVERLAPS_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ:
            *value = compile_overlaps(compiler, arguments);
            return true;
        case F_DATE_MI:
        case F_DATE_MII:
        case F_DATE_PLI:
            *value = compile_days(compiler, function, arguments);
            return true;
        default:
            return compile_interval_call(compiler, function, arguments, value);
    }
}

}  // namespace pg_gpu::plan::query
