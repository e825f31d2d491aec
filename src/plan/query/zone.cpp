#include "plan/query/zone.h"

namespace pg_gpu::plan::query {

using engine::Operation;
using engine::ValueType;

// Jumps of all the years that a timestamp may be of.
static constexpr pg_time_t kFirstSecond = -INT64CONST(214000000000);
static constexpr int kMaxJumps = 4096;
// From then on a zone's rule repeats itself each year, without an end.
static constexpr pg_time_t kLastSecond = INT64CONST(32503680000);

// ---- jumps ------------------------------------------------------------------------------------------------

static bool find_jumps(const pg_tz *zone, engine::Zone *found) {
    auto *jumps = allocate<engine::ZoneTransition>(kMaxJumps);
    uint64 count = 0;
    pg_time_t moment = kFirstSecond;
    for (;;) {
        long before;
        long after;
        int before_is_dst;
        int after_is_dst;
        pg_time_t jump;
        const int next =
            pg_next_dst_boundary(&moment, &before, &before_is_dst, &jump, &after, &after_is_dst, zone);
        if (next < 0)
            return false;
        if (count == 0)
            jumps[count++] = {PG_INT64_MIN, before * USECS_PER_SEC};
        if (next == 0 || jump > kLastSecond)
            break;
        if (count == kMaxJumps)
            return false;
        if (after != before)
            jumps[count++] = {time_t_to_timestamptz(jump), after * USECS_PER_SEC};
        moment = jump;
    }
    *found = {jumps, count};
    return true;
}

static engine::Zone zone_of_offset(int64 offset) {
    auto *jump = allocate<engine::ZoneTransition>(1);
    *jump = {PG_INT64_MIN, offset};
    return {jump, 1};
}

// ---- steps ------------------------------------------------------------------------------------------------

// The number of the program's zone; of a fixed offset if there is no zone.
static uint32 number_of_zone(Compiler *compiler, pg_tz *zone, int64 offset) {
    Program *program = compiler->program;
    for (uint32 i = 0; i < program->zone_count; i++)
        if (program->zone_names[i] == zone &&
            (zone != nullptr || program->zones[i].transitions[0].offset == offset))
            return i;
    if (program->zone_count == lengthof(program->zones)) {
        refuse(&compiler->refusal, "there are too many time zones");
        return 0;
    }
    engine::Zone found = {};
    // The planner needs no jumps.
    if (zone == nullptr || compiler->context == nullptr) {
        found = zone_of_offset(offset);
    } else if (!find_jumps(zone, &found)) {
        refuse(&compiler->refusal, "the time zone has too many jumps");
        return 0;
    }
    program->zone_names[program->zone_count] = zone;
    program->zones[program->zone_count] = found;
    return program->zone_count++;
}

uint16 is_infinite_step(Compiler *compiler, uint16 step, bool is_date) {
    const int64 first = is_date ? PG_INT32_MIN : PG_INT64_MIN;
    const int64 last = is_date ? PG_INT32_MAX : PG_INT64_MAX;
    const engine::Constant ends[] = {{static_cast<uint64>(first), UINT64_MAX},
                                     {static_cast<uint64>(last), 0}};
    return add_step(compiler->program,
                    make_step(Operation::in_list, ValueType::boolean, step, lengthof(ends),
                              static_cast<uint16>(add_constants(compiler->program, ends, lengthof(ends)))));
}

static uint16 add_shift(Compiler *compiler, Operation operation, const Value &value, uint32 zone) {
    if (is_refused(compiler))
        return 0;
    engine::Step shift = make_step(operation, ValueType::int64, value.step);
    shift.detail = zone;
    if (value.limit < kMaxInt64)
        return add_guarded(compiler, shift, true);
    const uint16 is_infinite = is_infinite_step(compiler, value.step);
    const Guarded guarded = begin_guarded(compiler, logic(compiler, Operation::logical_not, is_infinite));
    const uint16 shifted = add_guarded(compiler, shift, true);
    end_guarded(guarded);
    return add_step(compiler->program,
                    make_step(Operation::choose, ValueType::int64, is_infinite, value.step, shifted));
}

uint16 shift_step(Compiler *compiler, Operation operation, const Value &value, pg_tz *zone) {
    return add_shift(compiler, operation, value, number_of_zone(compiler, zone, 0));
}

// ---- moments of several types -----------------------------------------------------------------------------

static bool is_moment(Oid type) {
    return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

Oid type_of_compared(Oid one, Oid other) {
    const Oid type = getBaseType(one);
    const Oid other_type = getBaseType(other);
    if (!is_moment(type) || !is_moment(other_type))
        return InvalidOid;
    if (type == other_type)
        return type;
    return type == TIMESTAMPTZOID || other_type == TIMESTAMPTZOID ? TIMESTAMPTZOID : TIMESTAMPOID;
}

int64 convert_compared(int64 number, Oid from, Oid to) {
    from = getBaseType(from);
    if (from == to)
        return number;
    int overflow = 0;
    const int64 converted = from == TIMESTAMPOID ? timestamp2timestamptz_opt_overflow(number, &overflow)
                            : to == TIMESTAMPOID
                                ? date2timestamp_opt_overflow(static_cast<DateADT>(number), &overflow)
                                : date2timestamptz_opt_overflow(static_cast<DateADT>(number), &overflow);
    return overflow > 0 ? PG_INT64_MAX - 1 : overflow < 0 ? PG_INT64_MIN + 1 : converted;
}

Value convert_compared(Compiler *compiler, const Value &value, Oid from, Oid to) {
    from = getBaseType(from);
    if (from == to || value.is_null)
        return value;
    const Program &program = *compiler->program;
    const engine::Step &made = program.steps[value.step];
    // Not each row needs to convert a constant.
    if (made.operation == Operation::constant) {
        const int64 number = convert_compared(static_cast<int64>(program.constants[made.left].low), from, to);
        return make_value(constant_step(compiler->program, number, ValueType::int64), Kind::Timestamp,
                          ValueType::int64, std::fabs(static_cast<double>(number)));
    }
    Value moved = value;
    if (from == DATEOID) {
        const engine::Step step = make_step(Operation::timestamp_of_date, ValueType::int64, value.step);
        moved = make_value(add_guarded(compiler, step, true), Kind::Timestamp, ValueType::int64,
                           Min(value.limit * USECS_PER_DAY, kMaxInt64));
    }
    if (to == TIMESTAMPTZOID) {
        moved.step = shift_step(compiler, Operation::unshift_zone, moved, session_timezone);
        moved.limit = Min(moved.limit + USECS_PER_DAY, kMaxInt64);
    }
    return moved;
}

// ---- AT TIME ZONE -----------------------------------------------------------------------------------------

pg_tz *zone_of_name(const Const &name) {
    char spelled[TZ_STRLEN_MAX + 1];
    text_to_cstring_buffer(DatumGetTextPP(name.constvalue), spelled, sizeof(spelled));
    const bool is_name = strchr(spelled, '/') != nullptr || pg_strcasecmp(spelled, "UTC") == 0 ||
                         pg_strcasecmp(spelled, "GMT") == 0;
    return is_name ? pg_tzset(spelled) : nullptr;
}

static bool find_named_zone(Compiler *compiler, const Const &zone, bool is_name, uint32 *number) {
    if (is_name) {
        pg_tz *named = zone_of_name(zone);
        if (named == nullptr)
            return false;
        *number = number_of_zone(compiler, named, 0);
        return true;
    }
    const Interval *interval = DatumGetIntervalP(zone.constvalue);
    if (interval->month != 0 || interval->day != 0)
        return false;
    *number = number_of_zone(compiler, nullptr, interval->time / USECS_PER_SEC * USECS_PER_SEC);
    return true;
}

bool compile_zone_call(Compiler *compiler, Oid function, const List *arguments, Value *value) {
    const bool has_name = function == F_TIMEZONE_TEXT_TIMESTAMPTZ || function == F_TIMEZONE_TEXT_TIMESTAMP;
    const bool is_local = function == F_TIMEZONE_TEXT_TIMESTAMP || function == F_TIMEZONE_INTERVAL_TIMESTAMP;
    if (!has_name && function != F_TIMEZONE_INTERVAL_TIMESTAMPTZ && function != F_TIMEZONE_INTERVAL_TIMESTAMP)
        return false;
    const auto *zone = static_cast<const Const *>(linitial(arguments));
    uint32 number = 0;
    if (has_name && !IsA(zone, Const)) {
        *value = compile_by_zone(compiler, function, arguments, 0);
        return true;
    }
    if (!IsA(zone, Const) || zone->constisnull || !find_named_zone(compiler, *zone, has_name, &number)) {
        *value = refuse_value(compiler, "a time zone isn't a constant, or not a name of one", zone);
        return true;
    }
    *value = compile(compiler, static_cast<const Expr *>(lsecond(arguments)));
    if (is_refused(compiler))
        return true;
    value->step =
        add_shift(compiler, is_local ? Operation::unshift_zone : Operation::shift_zone, *value, number);
    value->limit = Min(value->limit + USECS_PER_DAY, kMaxInt64);
    return true;
}

}  // namespace pg_gpu::plan::query
