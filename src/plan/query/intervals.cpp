// Intervals. Those between moments are microseconds alone; others have months and days besides, which are
// steps of their own.
#include "compat.h"
#include "plan/query/moments.h"
#include "plan/query/zone.h"

namespace pg_gpu::plan::query {

// ---- fields -----------------------------------------------------------------------------------------------

static uint16 number_step(Compiler *compiler, int64 number) {
    return constant_step(compiler->program, number, ValueType::int64);
}

static Value make_number(uint16 step, double limit) {
    return make_value(step, Kind::Integer, ValueType::int64, limit);
}

// A step that can't fail.
static uint16 add_sure(Compiler *compiler, Operation operation, uint16 one, uint16 other) {
    return add_step(compiler->program, make_step(operation, ValueType::int64, one, other));
}

static uint16 choose_number(Compiler *compiler, uint16 condition, uint16 one, uint16 other) {
    return add_step(compiler->program, make_step(Operation::choose, ValueType::int64, condition, one, other));
}

IntervalFields fields_of_interval(Compiler *compiler, const Value &interval) {
    if (interval.month_step != no_step)
        return {make_number(interval.month_step, kMaxInt64), make_number(interval.day_step, kMaxInt64),
                make_number(interval.time_step, kMaxInt64), true};
    if (interval.interval != nullptr) {
        const Interval &constant = *DatumGetIntervalP(interval.interval->constvalue);
        const auto field = [&](int64 number) {
            return make_number(number_step(compiler, number), std::fabs(static_cast<double>(number)));
        };
        return {field(constant.month), field(constant.day), field(constant.time), constant.month != 0};
    }
    const uint16 day = number_step(compiler, USECS_PER_DAY);
    // Months are NULL where the interval is.
    return {make_number(add_sure(compiler, Operation::subtract, interval.step, interval.step), 0),
            make_number(add_sure(compiler, Operation::divide, interval.step, day),
                        interval.limit / USECS_PER_DAY + 1),
            make_number(add_sure(compiler, Operation::modulo, interval.step, day), USECS_PER_DAY), false};
}

// Intervals compare by their microseconds, of which a month has 30 days.
Value value_of_fields(Compiler *compiler, uint16 months, uint16 days, uint16 time) {
    const auto sum = [&](uint16 one, uint16 other) {
        return add_guarded(compiler, make_step(Operation::add, ValueType::int64, one, other), true);
    };
    const uint16 days_of_months = add_number(compiler, Operation::multiply, months, DAYS_PER_MONTH).step;
    const uint16 all_days = sum(days_of_months, days);
    const uint16 micros = sum(add_number(compiler, Operation::multiply, all_days, USECS_PER_DAY).step, time);
    Value value = make_value(micros, Kind::Interval, ValueType::int64, kMaxInt64);
    value.shown = kShownByRow;
    value.month_step = months;
    value.day_step = days;
    value.time_step = time;
    return value;
}

void forget_fields(Value *interval) {
    interval->interval = nullptr;
    interval->month_step = interval->day_step = interval->time_step = no_step;
}

static bool are_fields_known(const Value &interval) {
    return interval.shown != kShownByRow || has_fields(interval);
}

void choose_fields(Compiler *compiler, uint16 condition, const Value &one, const Value &other,
                   Value *chosen) {
    chosen->shown = Min(one.shown, other.shown);
    forget_fields(chosen);
    if (chosen->shown != kShownByRow || !are_fields_known(one) || !are_fields_known(other))
        return;
    const IntervalFields fields = fields_of_interval(compiler, one);
    const IntervalFields others = fields_of_interval(compiler, other);
    chosen->month_step = choose_number(compiler, condition, fields.months.step, others.months.step);
    chosen->day_step = choose_number(compiler, condition, fields.days.step, others.days.step);
    chosen->time_step = choose_number(compiler, condition, fields.time.step, others.time.step);
}

uint16 look_of_interval(Compiler *compiler, const Value &interval) {
    const IntervalFields fields = fields_of_interval(compiler, interval);
    const uint16 months =
        add_number(compiler, Operation::multiply, fields.months.step, INT64CONST(1) << 32).step;
    return add_guarded(compiler, make_step(Operation::add, ValueType::int64, months, fields.days.step), true);
}

uint16 append_look(Compiler *compiler, const Value &interval, bool is_turned) {
    const auto wide = [&](uint16 step) {
        return add_step(compiler->program, make_step(Operation::widen, ValueType::int128, step));
    };
    const auto constant = [&](Int128 number) {
        return constant_step(compiler->program, number, ValueType::int128);
    };
    const auto compute = [&](Operation operation, uint16 one, uint16 other) {
        engine::Step step = make_step(operation, ValueType::int128, one, other);
        step.width = 16;
        return add_guarded(compiler, step, true);
    };
    const Int128 half = Int128{1} << 63;
    const uint16 look = wide(look_of_interval(compiler, interval));
    const uint16 own = is_turned ? compute(Operation::subtract, constant(half - 1), look)
                                 : compute(Operation::add, look, constant(half));
    return compute(Operation::add, compute(Operation::multiply, wide(interval.step), constant(half * 2)),
                   own);
}

// An interval whose fields are known.
Value compile_interval(Compiler *compiler, const Expr *expression) {
    const bool before = compiler->has_fields;
    compiler->has_fields = true;
    const Value value = compile(compiler, expression);
    compiler->has_fields = before;
    if (is_refused(compiler) || (value.kind == Kind::Interval && are_fields_known(value)))
        return value;
    return refuse_value(compiler, "an interval's fields aren't known", expression);
}

// ---- differences ------------------------------------------------------------------------------------------

// A moment that fails where it is infinite, or so far away that a difference may have no room.
static Value compile_finite(Compiler *compiler, const List *arguments, int number) {
    Value value = compile(compiler, static_cast<const Expr *>(list_nth(arguments, number)));
    if (!is_refused(compiler) && value.limit > kMaxMicros) {
        value.step = within_limit(compiler, value.step);
        value.limit = kMaxMicros;
    }
    return value;
}

// The time between two moments. Its days are 24 hours each, as timestamp_mi has it.
static Value compile_difference(Compiler *compiler, const List *arguments) {
    const Value one = compile_finite(compiler, arguments, 0);
    const Value other = compile_finite(compiler, arguments, 1);
    if (is_refused(compiler))
        return {};
    return make_moment(Kind::Interval, add_sure(compiler, Operation::subtract, one.step, other.step),
                       one.limit + other.limit);
}

// ---- age --------------------------------------------------------------------------------------------------

namespace {

// A moment of local time as age() looks at it.
struct Calendar {
    uint16 months;  // since year 0
    uint16 day;
    uint16 time;
};

}  // namespace

static uint16 part_of_moment(Compiler *compiler, Operation operation, uint16 moment, uint32 detail) {
    engine::Step step = make_step(operation, ValueType::int64, moment);
    step.detail = detail;
    return add_guarded(compiler, step, true);
}

static uint16 truncated(Compiler *compiler, uint16 moment, engine::TimeUnit unit) {
    return part_of_moment(compiler, Operation::truncate_timestamp, moment, static_cast<uint32>(unit));
}

// Fields call the year before year 1 -1.
static Calendar calendar_of(Compiler *compiler, uint16 moment) {
    const auto field = [&](engine::DateField named) {
        return part_of_moment(compiler, Operation::field_of_timestamp, moment, static_cast<uint32>(named));
    };
    const uint16 one = number_step(compiler, 1);
    const uint16 shown = field(engine::DateField::year);
    const uint16 is_before = logic(compiler, Operation::less, shown, one);
    const uint16 year =
        choose_number(compiler, is_before, add_sure(compiler, Operation::add, shown, one), shown);
    const uint16 months =
        add_sure(compiler, Operation::multiply, year, number_step(compiler, MONTHS_PER_YEAR));
    return {
        add_sure(compiler, Operation::add, months, field(engine::DateField::month)),
        field(engine::DateField::day),
        add_sure(compiler, Operation::subtract, moment, truncated(compiler, moment, engine::TimeUnit::day))};
}

static uint16 days_of_month(Compiler *compiler, uint16 moment) {
    const uint16 first = truncated(compiler, moment, engine::TimeUnit::month);
    const uint16 next = add_guarded(
        compiler, make_step(Operation::months_added, ValueType::int64, first, number_step(compiler, 1)),
        true);
    return add_sure(compiler, Operation::divide, add_sure(compiler, Operation::subtract, next, first),
                    number_step(compiler, USECS_PER_DAY));
}

// The steps of timestamp_age(): the earlier moment's fields are taken from those of the later one. A time
// below 0 takes a day, and a day below 0 takes a month, which is as long as that of the earlier moment. The
// two don't change places by local time, where clocks are set back between them.
static Value compile_age(Compiler *compiler, const List *arguments, bool has_zone) {
    Value one = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    Value other = compile(compiler, static_cast<const Expr *>(lsecond(arguments)));
    if (is_refused(compiler))
        return {};
    // What the age of an infinite moment is, versions of PostgreSQL decide.
    if (one.limit > kMaxMicros || other.limit > kMaxMicros)
        return refuse_value(compiler, "a timestamp may be infinite");
    const uint16 is_less = logic(compiler, Operation::less, one.step, other.step);
    if (has_zone)
        for (Value *value : {&one, &other})
            value->step = shift_step(compiler, Operation::shift_zone, *value, session_timezone);
    const uint16 earlier = choose_number(compiler, is_less, one.step, other.step);
    const Calendar from = calendar_of(compiler, earlier);
    const Calendar to = calendar_of(compiler, choose_number(compiler, is_less, other.step, one.step));
    const uint16 zero = number_step(compiler, 0);
    const uint16 single = number_step(compiler, 1);
    // A field that is below 0 with what it then takes of the next one.
    const auto borrow = [&](uint16 *field, uint16 *next, uint16 taken) {
        const uint16 is_below = logic(compiler, Operation::less, *field, zero);
        *field = choose_number(compiler, is_below, add_sure(compiler, Operation::add, *field, taken), *field);
        *next =
            choose_number(compiler, is_below, add_sure(compiler, Operation::subtract, *next, single), *next);
    };
    const auto difference = [&](uint16 later, uint16 before) {
        return add_sure(compiler, Operation::subtract, later, before);
    };
    uint16 months = difference(to.months, from.months);
    uint16 days = difference(to.day, from.day);
    uint16 time = difference(to.time, from.time);
    borrow(&time, &days, number_step(compiler, USECS_PER_DAY));
    borrow(&days, &months, days_of_month(compiler, earlier));
    const auto turned = [&](uint16 field) {
        return choose_number(compiler, is_less, difference(zero, field), field);
    };
    return value_of_fields(compiler, turned(months), turned(days), turned(time));
}

// ---- sums -------------------------------------------------------------------------------------------------

// Moves a moment in the calendar by so many months or days, as local time has them where there is a zone.
template <typename Move>
static void move_in_calendar(Compiler *compiler, Value *value, uint16 count, bool has_zone, Move move) {
    if (!has_zone) {
        value->step = move(value->step);
        return;
    }
    Value local = *value;
    local.step = shift_step(compiler, Operation::shift_zone, local, session_timezone);
    local.step = move(local.step);
    local.step = shift_step(compiler, Operation::unshift_zone, local, session_timezone);
    // What isn't moved stays as it is where clocks show a time twice.
    const uint16 is_there = logic(compiler, Operation::equal, count, number_step(compiler, 0));
    value->step = choose_number(compiler, is_there, value->step, local.step);
}

// Moves a finite moment by each field that isn't 0 in all rows.
static Value move_by_fields(Compiler *compiler, Value value, const IntervalFields &fields, bool is_back,
                            bool has_zone) {
    const double span = fields.months.limit * 31 * USECS_PER_DAY + fields.days.limit * USECS_PER_DAY +
                        fields.time.limit + (has_zone ? 2.0 * USECS_PER_DAY : 0);
    const bool is_sure = value.limit + span <= kMaxMicros;
    const auto checked = [&](uint16 step) { return is_sure ? step : within_limit(compiler, step); };
    const Operation direction = is_back ? Operation::subtract : Operation::add;
    value.limit = is_sure ? value.limit + span : kMaxMicros;
    if (fields.months.limit > 0)
        move_in_calendar(compiler, &value, fields.months.step, has_zone, [&](uint16 step) {
            const uint16 months =
                is_back
                    ? add_guarded(compiler,
                                  make_step(Operation::negate, ValueType::int64, fields.months.step), true)
                    : fields.months.step;
            return checked(add_guarded(
                compiler, make_step(Operation::months_added, ValueType::int64, step, months), true));
        });
    if (fields.days.limit > 0)
        move_in_calendar(compiler, &value, fields.days.step, has_zone, [&](uint16 step) {
            const uint16 micros =
                add_number(compiler, Operation::multiply, fields.days.step, USECS_PER_DAY).step;
            return checked(add_guarded(compiler, make_step(direction, ValueType::int64, step, micros), true));
        });
    if (fields.time.limit > 0)
        value.step = checked(add_guarded(
            compiler, make_step(direction, ValueType::int64, value.step, fields.time.step), true));
    return value;
}

// Moves a moment by an interval. Infinite ones stay where they are.
static Value compile_move(Compiler *compiler, const List *arguments, bool is_back, bool has_zone) {
    Value value = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    const Value interval = compile_interval(compiler, static_cast<const Expr *>(lsecond(arguments)));
    if (is_refused(compiler))
        return {};
    if (value.is_null || interval.is_null)
        return null_value(compiler, has_zone ? TIMESTAMPTZOID : TIMESTAMPOID);
    if (value.kind == Kind::Date)
        value = first_moment_of(compiler, value);
    const bool is_between_moments = !has_fields(interval) && !has_zone;
    const IntervalFields fields = is_between_moments
                                      ? IntervalFields{make_number(no_step, 0), make_number(no_step, 0),
                                                       make_number(interval.step, interval.limit), false}
                                      : fields_of_interval(compiler, interval);
    if (value.limit < kMaxInt64)
        return move_by_fields(compiler, value, fields, is_back, has_zone);
    const uint16 is_infinite = is_infinite_step(compiler, value.step);
    const Guarded guarded = begin_guarded(compiler, logic(compiler, Operation::logical_not, is_infinite));
    const Value moved = move_by_fields(compiler, value, fields, is_back, has_zone);
    end_guarded(guarded);
    const uint16 is_missing = logic(compiler, Operation::is_null, fields.time.step);
    const uint16 stays = logic(compiler, Operation::logical_and, is_infinite,
                               logic(compiler, Operation::logical_not, is_missing));
    value.step = choose_number(compiler, stays, value.step, moved.step);
    return value;
}

// A sum of intervals is one of their fields.
static Value compile_sum(Compiler *compiler, Operation operation, const List *arguments) {
    const auto fields_of = [&](int number) {
        const Value value =
            compile_interval(compiler, static_cast<const Expr *>(list_nth(arguments, number)));
        return is_refused(compiler) ? IntervalFields{} : fields_of_interval(compiler, value);
    };
    const IntervalFields one = fields_of(0);
    const bool has_other = operation != Operation::negate;
    const IntervalFields other = has_other ? fields_of(1) : IntervalFields{};
    if (is_refused(compiler))
        return {};
    const auto field = [&](const Value &left, const Value &right, uint8 width) {
        engine::Step step =
            make_step(operation, ValueType::int64, left.step, has_other ? right.step : no_step);
        step.width = width;
        return add_guarded(compiler, step, true);
    };
    return value_of_fields(compiler, field(one.months, other.months, 4), field(one.days, other.days, 4),
                           field(one.time, other.time, 8));
}

bool compile_interval_call(Compiler *compiler, Oid function, const List *arguments, Value *value) {
    switch (function) {
        case F_TIMESTAMP_MI:
        case F_TIMESTAMPTZ_MI:
            *value = compile_difference(compiler, arguments);
            return true;
        case F_AGE_TIMESTAMP_TIMESTAMP:
        case F_AGE_TIMESTAMPTZ_TIMESTAMPTZ:
            *value = compile_age(compiler, arguments, function == F_AGE_TIMESTAMPTZ_TIMESTAMPTZ);
            return true;
        case F_INTERVAL_PL:
            *value = compile_sum(compiler, Operation::add, arguments);
            return true;
        case F_INTERVAL_MI:
            *value = compile_sum(compiler, Operation::subtract, arguments);
            return true;
        case F_INTERVAL_UM:
            *value = compile_sum(compiler, Operation::negate, arguments);
            return true;
        case F_DATE_PL_INTERVAL:
        case F_DATE_MI_INTERVAL:
            *value = compile_move(compiler, arguments, function == F_DATE_MI_INTERVAL, false);
            return true;
        case F_TIMESTAMP_PL_INTERVAL:
        case F_TIMESTAMP_MI_INTERVAL:
            *value = compile_move(compiler, arguments, function == F_TIMESTAMP_MI_INTERVAL, false);
            return true;
        case F_TIMESTAMPTZ_PL_INTERVAL:
        case F_TIMESTAMPTZ_MI_INTERVAL:
            *value = compile_move(compiler, arguments, function == F_TIMESTAMPTZ_MI_INTERVAL, true);
            return true;
        default:
            return false;
    }
}

}  // namespace pg_gpu::plan::query
