// Times of day: those of moments, and as intervals. They are the integers that columns of them have.
#include "plan/query/zone.h"

#include "compat.h"

namespace pg_gpu::plan::query {

// What a moment is beyond the midnight before it; NULL where it is infinite.
static Value time_of_moment(Compiler *compiler, const Value &moment) {
    const auto compute = [&](Operation operation, uint16 one, uint16 other = no_step) {
        return add_guarded(compiler, make_step(operation, ValueType::int64, one, other), true);
    };
    const uint16 is_infinite = is_infinite_step(compiler, moment.step);
    const Guarded guarded = begin_guarded(compiler, logic(compiler, Operation::logical_not, is_infinite));
    const uint16 midnight =
        compute(Operation::timestamp_of_date, compute(Operation::date_of_timestamp, moment.step));
    const uint16 time = compute(Operation::subtract, moment.step, midnight);
    end_guarded(guarded);
    const uint16 null = add_step(compiler->program, make_step(Operation::null, ValueType::int64));
    Value value = make_value(
        add_step(compiler->program, make_step(Operation::choose, ValueType::int64, is_infinite, null, time)),
        Kind::Group, ValueType::int64, kMaxInt64);
    value.coded = TIMEOID;
    return value;
}

static bool is_time(const Value &value) {
    return value.kind == Kind::Group && !value.is_null && value.coded == TIMEOID;
}

static Value interval_of_time(Compiler *compiler, uint16 time) {
    const uint16 none = constant_step(compiler->program, 0, ValueType::int64);
    return value_of_fields(compiler, none, none, time);
}

bool compile_clock_call(Compiler *compiler, Oid function, const List *arguments, Value *value) {
    if (function != F_TIME_TIMESTAMP && function != F_TIME_TIMESTAMPTZ && function != F_INTERVAL_TIME &&
        function != F_TIME_MI_TIME)
        return false;
    Value one = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    const Value other = function == F_TIME_MI_TIME && !is_refused(compiler)
                            ? compile(compiler, static_cast<const Expr *>(lsecond(arguments)))
                            : one;
    *value = {};
    if (is_refused(compiler))
        return true;
    const bool is_moment = function == F_TIME_TIMESTAMP || function == F_TIME_TIMESTAMPTZ;
    if (is_moment ? one.kind != Kind::Timestamp || one.is_null : !is_time(one) || !is_time(other)) {
        *value = refuse_value(compiler, "something else than a time of day is computed with");
    } else if (is_moment) {
        if (function == F_TIME_TIMESTAMPTZ)
            one.step = shift_step(compiler, Operation::shift_zone, one, session_timezone);
        *value = time_of_moment(compiler, one);
    } else if (function == F_INTERVAL_TIME) {
        *value = interval_of_time(compiler, one.step);
    } else {
        const engine::Step less = make_step(Operation::subtract, ValueType::int64, one.step, other.step);
        *value = interval_of_time(compiler, add_step(compiler->program, less));
    }
    return true;
}

}  // namespace pg_gpu::plan::query
