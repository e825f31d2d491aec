// Moments that are put into bins of equal width.
#include "compat.h"
#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

static const Const *constant_of(const void *expression) {
    const auto *constant = static_cast<const Const *>(expression);
    return IsA(constant, Const) && !constant->constisnull ? constant : nullptr;
}

static uint16 number_step(Compiler *compiler, int64 value) {
    return constant_step(compiler->program, value, ValueType::int64);
}

static uint16 choose_number(Compiler *compiler, uint16 condition, uint16 one, uint16 other) {
    return add_step(compiler->program, make_step(Operation::choose, ValueType::int64, condition, one, other));
}

// ---- date_bin ---------------------------------------------------------------------------------------------

// Before the origin, older releases take a moment at a bin's start for one of the bin before.
static bool takes_starts_back() {
    Interval two = {};
    two.time = 2;
    const Datum bin = DirectFunctionCall3(timestamp_bin, IntervalPGetDatum(&two), TimestampGetDatum(-2),
                                          TimestampGetDatum(0));
    return DatumGetTimestamp(bin) != -2;
}

static Value compile_date_bin(Compiler *compiler, const List *arguments) {
    // Within them no difference leaves what 64 bits have room for.
    constexpr double max_micros = 2.0e17;
    const Const *stride = constant_of(linitial(arguments));
    const Const *origin = constant_of(lthird(arguments));
    Value value = compile(compiler, static_cast<const Expr *>(lsecond(arguments)));
    if (is_refused(compiler))
        return {};
    if (stride == nullptr || origin == nullptr)
        return refuse_value(compiler, "a stride or its origin isn't a constant");
    const Interval *interval = DatumGetIntervalP(stride->constvalue);
    const int64 width = interval->day * USECS_PER_DAY + interval->time;
    const int64 first = DatumGetTimestamp(origin->constvalue);
    if (interval->month != 0 || std::fabs(static_cast<double>(interval->day)) > 1e6 || width <= 0 ||
        width > max_micros || std::fabs(static_cast<double>(first)) > max_micros || value.limit > max_micros)
        return refuse_value(compiler, "a timestamp or a stride may be infinite, or out of range");
    const auto add = [&](Operation operation, uint16 one, uint16 other) {
        return add_step(compiler->program, make_step(operation, ValueType::int64, one, other));
    };
    const uint16 zero = number_step(compiler, 0);
    const uint16 past = add(Operation::subtract, value.step, number_step(compiler, first));
    const uint16 rest = add(Operation::modulo, past, number_step(compiler, width));
    const uint16 start = add(Operation::subtract, value.step, rest);
    const bool is_back = takes_starts_back() && width > 1;
    const uint16 is_before = logic(compiler, Operation::less, is_back ? past : rest, zero);
    value.step = add(Operation::subtract, start,
                     choose_number(compiler, is_before, number_step(compiler, width), zero));
    value.limit += static_cast<double>(width);
    return value;
}

// ---- the whole --------------------------------------------------------------------------------------------

bool compile_bin_call(Compiler *compiler, Oid function, const List *arguments, Value *value) {
    switch (function) {
        case F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP:
        case F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ:
            *value = compile_date_bin(compiler, arguments);
            return true;
        default:
            return false;
    }
}

}  // namespace pg_gpu::plan::query
