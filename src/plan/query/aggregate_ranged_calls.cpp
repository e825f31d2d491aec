#include "plan/query/aggregate_ranged_calls.h"

#include <cmath>

#include "compat.h"
#include "expressions.h"
#include "plan/query/aggregate_limits.h"
#include "plan/query/aggregate_ranged.h"

namespace pg_gpu::plan {

// ---- functions --------------------------------------------------------------------------------------------

// Of these it has been proved, for timestamps from the year 2 to 290000 and infinite ones, for all integers
// and for all floats, that they can't fail (but for width_bucket of NaN, and for too great numbers:
// aggregate_limits.h) and, without what the pattern excludes, that they are monotone: with is_local as long
// as local time doesn't go back. All of a function's numerics show as many digits behind the point.
static constexpr KnownFunction kFunctions[] = {
    {F_DATE_TRUNC_TEXT_TIMESTAMP, CallPattern::Unit, false},
    {F_DATE_TRUNC_TEXT_TIMESTAMPTZ, CallPattern::Unit, true},
    {F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, CallPattern::UnitAndZone, true},
    {F_DATE_TIMESTAMP, CallPattern::Alone, false},
    {F_DATE_TIMESTAMPTZ, CallPattern::Alone, true},
    {F_TIMESTAMP_TIMESTAMPTZ, CallPattern::Exact, true},
    {F_TIMEZONE_TEXT_TIMESTAMPTZ, CallPattern::Zone, true},
    {F_EXTRACT_TEXT_TIMESTAMP, CallPattern::Field, false},
    {F_EXTRACT_TEXT_TIMESTAMPTZ, CallPattern::Field, true},
    {F_DATE_PART_TEXT_TIMESTAMP, CallPattern::Field, false},
    {F_DATE_PART_TEXT_TIMESTAMPTZ, CallPattern::Field, true},
    {F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP, CallPattern::Stride, false},
    {F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ, CallPattern::Stride, false},
    {F_TIMESTAMP_PL_INTERVAL, CallPattern::Shift, false},
    {F_TIMESTAMP_MI_INTERVAL, CallPattern::Shift, false},
    {F_TIMESTAMPTZ_PL_INTERVAL, CallPattern::DayShift, false},
    {F_TIMESTAMPTZ_MI_INTERVAL, CallPattern::DayShift, false},
    {F_TIMESTAMP_TIMESTAMP_INT4, CallPattern::Precision, false},
    {F_TIMESTAMPTZ_TIMESTAMPTZ_INT4, CallPattern::Precision, false},
    {F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4, CallPattern::Buckets, false},
    {F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4, CallPattern::Buckets, false},
    {F_FLOOR_FLOAT8, CallPattern::Rounding, false},
    {F_CEIL_FLOAT8, CallPattern::Rounding, false},
    {F_CEILING_FLOAT8, CallPattern::Rounding, false},
    {F_ROUND_FLOAT8, CallPattern::Rounding, false},
    {F_TRUNC_FLOAT8, CallPattern::Rounding, false},
    {F_FLOOR_NUMERIC, CallPattern::Rounding, false},
    {F_CEIL_NUMERIC, CallPattern::Rounding, false},
    {F_CEILING_NUMERIC, CallPattern::Rounding, false},
    {F_ROUND_NUMERIC_INT4, CallPattern::Digits, false},
    {F_TRUNC_NUMERIC_INT4, CallPattern::Digits, false},
    {F_INT4_NUMERIC, CallPattern::Rounding, false},
    {F_INT8_NUMERIC, CallPattern::Rounding, false},
    {F_INT2DIV, CallPattern::Divisor, false},
    {F_INT4DIV, CallPattern::Divisor, false},
    {F_INT8DIV, CallPattern::Divisor, false},
    {F_INT84DIV, CallPattern::Divisor, false},
    {F_TO_TIMESTAMP_FLOAT8, CallPattern::Scaled, false},
    {F_FLOAT8_NUMERIC, CallPattern::Scaled, false},
    {F_FLOAT8_FLOAT4, CallPattern::Exact, false},
    {F_FLOAT8_INT2, CallPattern::Exact, false},
    {F_FLOAT8_INT4, CallPattern::Exact, false},
    {F_FLOAT8_INT8, CallPattern::Exact, false},
    {F_NUMERIC_INT2, CallPattern::Exact, false},
    {F_NUMERIC_INT4, CallPattern::Exact, false},
    {F_NUMERIC_INT8, CallPattern::Exact, false},
};

// These can't fail either, of a ranged expression's results.
static constexpr KnownFunction kFunctionsOfResults[] = {
    {F_TIMESTAMP_DATE, CallPattern::Alone, false},
    {F_TIMESTAMPTZ_DATE, CallPattern::Alone, true},
    {F_TIMESTAMPTZ_TIMESTAMP, CallPattern::Alone, true},
    {F_EXTRACT_TEXT_DATE, CallPattern::DateField, false},
    {F_EXTRACT_TEXT_TIMESTAMP, CallPattern::TimeField, false},
    {F_EXTRACT_TEXT_TIMESTAMPTZ, CallPattern::TimeField, true},
    {F_DATE_PART_TEXT_TIMESTAMP, CallPattern::TimeField, false},
    {F_DATE_PART_TEXT_TIMESTAMPTZ, CallPattern::TimeField, true},
    {F_TO_CHAR_TIMESTAMP_TEXT, CallPattern::Format, false},
    {F_TO_CHAR_TIMESTAMPTZ_TEXT, CallPattern::Format, true},
    {F_NUMERIC_EQ, CallPattern::Alone, false},
    {F_NUMERIC_NE, CallPattern::Alone, false},
    {F_NUMERIC_LT, CallPattern::Alone, false},
    {F_NUMERIC_LE, CallPattern::Alone, false},
    {F_NUMERIC_GT, CallPattern::Alone, false},
    {F_NUMERIC_GE, CallPattern::Alone, false},
};

template <size_t count>
static const KnownFunction *find_row(const KnownFunction (&table)[count], Oid function) {
    for (const KnownFunction &row : table)
        if (row.function == function)
            return &row;
    return nullptr;
}

const KnownFunction *find_function(Oid function) {
    return find_row(kFunctions, function);
}

const KnownFunction *find_function_of_results(Oid function) {
    return find_row(kFunctionsOfResults, function);
}

// ---- constants --------------------------------------------------------------------------------------------

static const char *const kGrowingFields[] = {"year", "isoyear", "decade", "century", "millennium", "epoch"};
static const char *const kFields[] = {"year",  "isoyear", "decade", "century", "millennium",
                                      "epoch", "quarter", "month",  "week",    "day",
                                      "dow",   "isodow",  "doy"};
static const char *const kShortFields[] = {"hour", "minute"};

// Digits behind the point that something is rounded to.
static constexpr int kMaxDigits = 18;

const Const *constant_at(List *arguments, int i) {
    if (i >= list_length(arguments) || !IsA(list_nth(arguments, i), Const))
        return nullptr;
    const auto *constant = list_nth_node(Const, arguments, i);
    return constant->constisnull ? nullptr : constant;
}

static bool is_stride(const Const *stride, const Const *origin) {
    if (stride == nullptr || origin == nullptr)
        return false;
    constexpr int64 max_days = 36500;
    const Interval *interval = DatumGetIntervalP(stride->constvalue);
    const Timestamp from = DatumGetTimestamp(origin->constvalue);
    return interval->month == 0 && interval->day >= 0 && interval->day <= max_days && interval->time >= 0 &&
           interval->time <= max_days * USECS_PER_DAY && (interval->day > 0 || interval->time > 0) &&
           from > kFirstRangedTimestamp && from < kLastRangedTimestamp;
}

// Does local time never jump in the session's time zone?
static bool has_steady_clocks() {
    long offset;
    return pg_get_timezone_offset(session_timezone, &offset);
}

// A local day has 24 hours.
static bool is_shift(const Const *constant, bool is_local) {
    constexpr int max_days = 36500;
    if (constant == nullptr)
        return false;
    const Interval *interval = DatumGetIntervalP(constant->constvalue);
    return interval->month == 0 && interval->day >= -max_days && interval->day <= max_days &&
           interval->time >= -max_days * USECS_PER_DAY && interval->time <= max_days * USECS_PER_DAY &&
           (!is_local || interval->day == 0 || has_steady_clocks());
}

// Are these the buckets of floats, or otherwise of numerics?
static bool are_buckets(const Const *low, const Const *high, const Const *count) {
    constexpr int32 max_buckets = 1000000;
    if (low == nullptr || high == nullptr || count == nullptr || DatumGetInt32(count->constvalue) < 1 ||
        DatumGetInt32(count->constvalue) > max_buckets)
        return false;
    if (low->consttype == FLOAT8OID) {
        const double first = DatumGetFloat8(low->constvalue);
        const double last = DatumGetFloat8(high->constvalue);
        return std::isfinite(first) && std::isfinite(last) && first != last;
    }
    const Numeric first = DatumGetNumeric(low->constvalue);
    const Numeric last = DatumGetNumeric(high->constvalue);
    return !numeric_is_nan(first) && !numeric_is_inf(first) && !numeric_is_nan(last) &&
           !numeric_is_inf(last) &&
           !DatumGetBool(DirectFunctionCall2(numeric_eq, low->constvalue, high->constvalue));
}

static int64 integer_of(const Const *constant) {
    switch (getBaseType(constant->consttype)) {
        case INT2OID:
            return DatumGetInt16(constant->constvalue);
        case INT4OID:
            return DatumGetInt32(constant->constvalue);
        default:
            return DatumGetInt64(constant->constvalue);
    }
}

bool has_pattern(CallPattern pattern, List *arguments) {
    switch (pattern) {
        case CallPattern::Alone:
        case CallPattern::Exact:
        case CallPattern::Scaled:
        case CallPattern::Rounding:
            return true;
        case CallPattern::Digits: {
            const Const *digits = constant_at(arguments, 1);
            return digits != nullptr && DatumGetInt32(digits->constvalue) >= 0 &&
                   DatumGetInt32(digits->constvalue) <= kMaxDigits;
        }
        case CallPattern::Divisor: {
            const Const *divisor = constant_at(arguments, 1);
            return divisor != nullptr && integer_of(divisor) > 0;
        }
        case CallPattern::Unit:
            return is_word(constant_at(arguments, 0), kUnits);
        case CallPattern::UnitAndZone:
            return is_word(constant_at(arguments, 0), kUnits) && constant_at(arguments, 2) != nullptr;
        case CallPattern::Field:
            return is_word(constant_at(arguments, 0), kGrowingFields);
        case CallPattern::DateField:
            return is_word(constant_at(arguments, 0), kFields);
        case CallPattern::TimeField:
            return is_word(constant_at(arguments, 0), kFields) ||
                   is_word(constant_at(arguments, 0), kShortFields);
        case CallPattern::Precision: {
            const Const *digits = constant_at(arguments, 1);
            return digits != nullptr && DatumGetInt32(digits->constvalue) >= 0 &&
                   DatumGetInt32(digits->constvalue) <= MAX_TIMESTAMP_PRECISION;
        }
        case CallPattern::Shift:
        case CallPattern::DayShift:
            return is_shift(constant_at(arguments, 1), pattern == CallPattern::DayShift);
        case CallPattern::Stride:
            return is_stride(constant_at(arguments, 0), constant_at(arguments, 2));
        case CallPattern::Buckets:
            return are_buckets(constant_at(arguments, 1), constant_at(arguments, 2),
                               constant_at(arguments, 3));
        case CallPattern::Zone:
            return constant_at(arguments, 0) != nullptr;
        default:
            return constant_at(arguments, 1) != nullptr;
    }
}

// ---- ranged expressions -----------------------------------------------------------------------------------

Expr *dividend_of(Expr *expression) {
    if (!IsA(expression, OpExpr) || !has_limits(reinterpret_cast<Node *>(expression)))
        return expression;
    const auto *quotient = reinterpret_cast<const OpExpr *>(expression);
    return quotient->opfuncid == F_NUMERIC_DIV || quotient->opfuncid == F_FLOAT8DIV
               ? without_relabels(static_cast<Expr *>(linitial(quotient->args)))
               : expression;
}

static Expr *argument_of(List *arguments, const KnownFunction &function) {
    switch (function.pattern) {
        case CallPattern::Unit:
        case CallPattern::UnitAndZone:
        case CallPattern::Field:
        case CallPattern::Stride:
        case CallPattern::Zone:
            return without_relabels(static_cast<Expr *>(lsecond(arguments)));
        case CallPattern::Scaled:
        case CallPattern::Rounding:
        case CallPattern::Digits:
            return dividend_of(without_relabels(static_cast<Expr *>(linitial(arguments))));
        default:
            return without_relabels(static_cast<Expr *>(linitial(arguments)));
    }
}

static bool is_time_type(Oid type) {
    return type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

static bool is_suitable_column(const Var *column) {
    switch (getBaseType(column->vartype)) {
        case INT2OID:
        case INT4OID:
        case INT8OID:
        case FLOAT4OID:
        case FLOAT8OID:
        case NUMERICOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return true;
        default:
            return false;
    }
}

const KnownFunction *read_known_call(Expr *expression, Expr **argument) {
    Oid called;
    List *arguments;
    if (!read_call(expression, &called, &arguments))
        return nullptr;
    const KnownFunction *function = find_function(called);
    if (function == nullptr || !has_pattern(function->pattern, arguments))
        return nullptr;
    *argument = argument_of(arguments, *function);
    return function;
}

bool is_steady(Expr *time) {
    if (IsA(time, Var))
        return true;
    Expr *argument;
    const KnownFunction *function = read_known_call(time, &argument);
    return function != nullptr && function->pattern == CallPattern::DayShift && IsA(argument, Var) &&
           has_steady_clocks();
}

bool is_moment(Expr *time) {
    if (!IsA(time, FuncExpr) || reinterpret_cast<FuncExpr *>(time)->funcid != F_TO_TIMESTAMP_FLOAT8)
        return false;
    for (Expr *argument; read_known_call(time, &argument) != nullptr;)
        time = argument;
    return IsA(time, Var) && !is_time_type(getBaseType(reinterpret_cast<Var *>(time)->vartype));
}

// Monotone functions of monotone functions are monotone. The moments at which local time goes back must be
// told by the column's values, so what computes with it must be over the column itself, or over moments of
// numbers.
bool is_monotone(Expr *expression) {
    check_stack_depth();
    expression = without_relabels(expression);
    if (IsA(expression, Var))
        return is_suitable_column(reinterpret_cast<Var *>(expression));
    Expr *argument;
    const KnownFunction *function = read_known_call(expression, &argument);
    const bool is_of_session = function != nullptr && function->pattern != CallPattern::Zone &&
                               function->pattern != CallPattern::UnitAndZone;
    return function != nullptr &&
           (!function->is_local || IsA(argument, Var) || is_moment(argument) ||
            (is_of_session && is_steady(argument))) &&
           is_monotone(argument);
}

bool is_coarse(Expr *expression, bool of_quotients) {
    check_stack_depth();
    expression = without_relabels(expression);
    Expr *argument;
    const KnownFunction *function = read_known_call(expression, &argument);
    if (function == nullptr)
        return false;
    const bool is_exact =
        function->pattern == CallPattern::Exact || function->pattern == CallPattern::Scaled ||
        function->pattern == CallPattern::Zone || function->pattern == CallPattern::Shift ||
        function->pattern == CallPattern::DayShift ||
        (function->pattern == CallPattern::Divisor && !of_quotients) ||
        (function->pattern == CallPattern::Field &&
         is_word(constant_at(reinterpret_cast<FuncExpr *>(expression)->args, 0), {"epoch"}));
    return !is_exact || is_coarse(argument, of_quotients);
}

}  // namespace pg_gpu::plan
