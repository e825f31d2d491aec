#include "plan/aggregate_ranged.h"

#include <cmath>

#include "column/kept_results.h"
#include "compat.h"
#include "plan/aggregate_limits.h"

extern "C" {
#include "catalog/pg_collation_d.h"
}

namespace pg_gpu::plan {

// ---- functions --------------------------------------------------------------------------------------------

namespace {

// What the arguments besides the column must be: constants of these kinds.
enum class Pattern : uint8 {
    Alone,
    Exact,      // alone, too, but hardly two values have the same result
    Scaled,     // the same: the column may be divided by a constant
    Rounding,   // alone, too: the column may be divided by a constant
    Digits,     // the same, with a number of digits behind it
    Divisor,    // of integers: a positive one behind it
    Shift,      // an interval behind it that is as long whenever it begins
    DayShift,   // the same, of days, too, if clocks never jump
    Unit,       // of date_trunc
    Field,      // of extract: one that grows with time
    DateField,  // of extract: any that a date has; not ranged
    TimeField,  // the same, and those of hours and minutes; not ranged
    Precision,  // digits of seconds
    Stride,     // of date_bin, with an origin
    Buckets,    // of width_bucket
    Zone,       // its name, in front
    UnitAndZone,
    Format,  // of to_char; not ranged
};

struct Function {
    Oid function;
    Pattern pattern;
    bool is_local;  // it computes with local time, by the session's or a named time zone
};

}  // namespace

// Of these it has been proved, for timestamps from the year 2 to 290000 and infinite ones, for all integers
// and for all floats, that they can't fail (but for width_bucket of NaN, and for too great numbers:
// aggregate_limits.h) and, without what the pattern excludes, that they are monotone: with is_local as long
// as local time doesn't go back. All of a function's numerics show as many digits behind the point.
static constexpr Function kFunctions[] = {
    {F_DATE_TRUNC_TEXT_TIMESTAMP, Pattern::Unit, false},
    {F_DATE_TRUNC_TEXT_TIMESTAMPTZ, Pattern::Unit, true},
    {F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, Pattern::UnitAndZone, true},
    {F_DATE_TIMESTAMP, Pattern::Alone, false},
    {F_DATE_TIMESTAMPTZ, Pattern::Alone, true},
    {F_TIMESTAMP_TIMESTAMPTZ, Pattern::Exact, true},
    {F_TIMEZONE_TEXT_TIMESTAMPTZ, Pattern::Zone, true},
    {F_EXTRACT_TEXT_TIMESTAMP, Pattern::Field, false},
    {F_EXTRACT_TEXT_TIMESTAMPTZ, Pattern::Field, true},
    {F_DATE_PART_TEXT_TIMESTAMP, Pattern::Field, false},
    {F_DATE_PART_TEXT_TIMESTAMPTZ, Pattern::Field, true},
    {F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP, Pattern::Stride, false},
    {F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ, Pattern::Stride, false},
    {F_TIMESTAMP_PL_INTERVAL, Pattern::Shift, false},
    {F_TIMESTAMP_MI_INTERVAL, Pattern::Shift, false},
    {F_TIMESTAMPTZ_PL_INTERVAL, Pattern::DayShift, false},
    {F_TIMESTAMPTZ_MI_INTERVAL, Pattern::DayShift, false},
    {F_TIMESTAMP_TIMESTAMP_INT4, Pattern::Precision, false},
    {F_TIMESTAMPTZ_TIMESTAMPTZ_INT4, Pattern::Precision, false},
    {F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4, Pattern::Buckets, false},
    {F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4, Pattern::Buckets, false},
    {F_FLOOR_FLOAT8, Pattern::Rounding, false},
    {F_CEIL_FLOAT8, Pattern::Rounding, false},
    {F_CEILING_FLOAT8, Pattern::Rounding, false},
    {F_ROUND_FLOAT8, Pattern::Rounding, false},
    {F_TRUNC_FLOAT8, Pattern::Rounding, false},
    {F_FLOOR_NUMERIC, Pattern::Rounding, false},
    {F_CEIL_NUMERIC, Pattern::Rounding, false},
    {F_CEILING_NUMERIC, Pattern::Rounding, false},
    {F_ROUND_NUMERIC_INT4, Pattern::Digits, false},
    {F_TRUNC_NUMERIC_INT4, Pattern::Digits, false},
    {F_INT4_NUMERIC, Pattern::Rounding, false},
    {F_INT8_NUMERIC, Pattern::Rounding, false},
    {F_INT2DIV, Pattern::Divisor, false},
    {F_INT4DIV, Pattern::Divisor, false},
    {F_INT8DIV, Pattern::Divisor, false},
    {F_INT84DIV, Pattern::Divisor, false},
    {F_TO_TIMESTAMP_FLOAT8, Pattern::Scaled, false},
    {F_FLOAT8_NUMERIC, Pattern::Scaled, false},
    {F_FLOAT8_FLOAT4, Pattern::Exact, false},
    {F_FLOAT8_INT2, Pattern::Exact, false},
    {F_FLOAT8_INT4, Pattern::Exact, false},
    {F_FLOAT8_INT8, Pattern::Exact, false},
    {F_NUMERIC_INT2, Pattern::Exact, false},
    {F_NUMERIC_INT4, Pattern::Exact, false},
    {F_NUMERIC_INT8, Pattern::Exact, false},
};

// These can't fail either, of a ranged expression's results.
static constexpr Function kFunctionsOfResults[] = {
    {F_TIMESTAMP_DATE, Pattern::Alone, false},
    {F_TIMESTAMPTZ_DATE, Pattern::Alone, true},
    {F_TIMESTAMPTZ_TIMESTAMP, Pattern::Alone, true},
    {F_EXTRACT_TEXT_DATE, Pattern::DateField, false},
    {F_EXTRACT_TEXT_TIMESTAMP, Pattern::TimeField, false},
    {F_EXTRACT_TEXT_TIMESTAMPTZ, Pattern::TimeField, true},
    {F_DATE_PART_TEXT_TIMESTAMP, Pattern::TimeField, false},
    {F_DATE_PART_TEXT_TIMESTAMPTZ, Pattern::TimeField, true},
    {F_TO_CHAR_TIMESTAMP_TEXT, Pattern::Format, false},
    {F_TO_CHAR_TIMESTAMPTZ_TEXT, Pattern::Format, true},
    {F_NUMERIC_EQ, Pattern::Alone, false},
    {F_NUMERIC_NE, Pattern::Alone, false},
    {F_NUMERIC_LT, Pattern::Alone, false},
    {F_NUMERIC_LE, Pattern::Alone, false},
    {F_NUMERIC_GT, Pattern::Alone, false},
    {F_NUMERIC_GE, Pattern::Alone, false},
};

template <size_t count>
static const Function *find_function(const Function (&table)[count], Oid function) {
    for (const Function &row : table)
        if (row.function == function)
            return &row;
    return nullptr;
}

// ---- constants --------------------------------------------------------------------------------------------

// From fine to coarse. Each one's periods are made of whole periods of the ones before it, but that only days
// and what is shorter make up weeks, and months aren't made of weeks.
static const char *const kUnits[] = {"milliseconds", "second",  "minute", "hour",   "day",     "week",
                                     "month",        "quarter", "year",   "decade", "century", "millennium"};
static const char *const kGrowingFields[] = {"year", "isoyear", "decade", "century", "millennium", "epoch"};
static const char *const kFields[] = {"year",  "isoyear", "decade", "century", "millennium",
                                      "epoch", "quarter", "month",  "week",    "day",
                                      "dow",   "isodow",  "doy"};
static const char *const kShortFields[] = {"hour", "minute"};

// Digits behind the point that something is rounded to.
static constexpr int kMaxDigits = 18;

static const Const *constant_at(List *arguments, int i) {
    if (i >= list_length(arguments) || !IsA(list_nth(arguments, i), Const))
        return nullptr;
    const auto *constant = list_nth_node(Const, arguments, i);
    return constant->constisnull ? nullptr : constant;
}

template <size_t count>
static bool is_word(const Const *constant, const char *const (&words)[count]) {
    if (constant == nullptr)
        return false;
    char *given = TextDatumGetCString(constant->constvalue);
    bool found = false;
    for (const char *word : words)
        found = found || pg_strcasecmp(given, word) == 0;
    pfree(given);
    return found;
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

static bool has_pattern(Pattern pattern, List *arguments) {
    switch (pattern) {
        case Pattern::Alone:
        case Pattern::Exact:
        case Pattern::Scaled:
        case Pattern::Rounding:
            return true;
        case Pattern::Digits: {
            const Const *digits = constant_at(arguments, 1);
            return digits != nullptr && DatumGetInt32(digits->constvalue) >= 0 &&
                   DatumGetInt32(digits->constvalue) <= kMaxDigits;
        }
        case Pattern::Divisor: {
            const Const *divisor = constant_at(arguments, 1);
            return divisor != nullptr && integer_of(divisor) > 0;
        }
        case Pattern::Unit:
            return is_word(constant_at(arguments, 0), kUnits);
        case Pattern::UnitAndZone:
            return is_word(constant_at(arguments, 0), kUnits) && constant_at(arguments, 2) != nullptr;
        case Pattern::Field:
            return is_word(constant_at(arguments, 0), kGrowingFields);
        case Pattern::DateField:
            return is_word(constant_at(arguments, 0), kFields);
        case Pattern::TimeField:
            return is_word(constant_at(arguments, 0), kFields) ||
                   is_word(constant_at(arguments, 0), kShortFields);
        case Pattern::Precision: {
            const Const *digits = constant_at(arguments, 1);
            return digits != nullptr && DatumGetInt32(digits->constvalue) >= 0 &&
                   DatumGetInt32(digits->constvalue) <= MAX_TIMESTAMP_PRECISION;
        }
        case Pattern::Shift:
        case Pattern::DayShift:
            return is_shift(constant_at(arguments, 1), pattern == Pattern::DayShift);
        case Pattern::Stride:
            return is_stride(constant_at(arguments, 0), constant_at(arguments, 2));
        case Pattern::Buckets:
            return are_buckets(constant_at(arguments, 1), constant_at(arguments, 2),
                               constant_at(arguments, 3));
        case Pattern::Zone:
            return constant_at(arguments, 0) != nullptr;
        default:
            return constant_at(arguments, 1) != nullptr;
    }
}

// ---- ranged expressions -----------------------------------------------------------------------------------

static Expr *without_relabels(Expr *expression) {
    while (IsA(expression, RelabelType))
        expression = reinterpret_cast<RelabelType *>(expression)->arg;
    return expression;
}

// What is divided by a constant that nothing can go wrong with; the expression itself when it is no quotient.
// A quotient's digits behind the point depend on the number, so it isn't ranged by itself.
static Expr *dividend_of(Expr *expression) {
    if (!IsA(expression, OpExpr) || !has_limits(reinterpret_cast<Node *>(expression)))
        return expression;
    const auto *quotient = reinterpret_cast<const OpExpr *>(expression);
    return quotient->opfuncid == F_NUMERIC_DIV || quotient->opfuncid == F_FLOAT8DIV
               ? without_relabels(static_cast<Expr *>(linitial(quotient->args)))
               : expression;
}

static Expr *argument_of(List *arguments, const Function &function) {
    switch (function.pattern) {
        case Pattern::Unit:
        case Pattern::UnitAndZone:
        case Pattern::Field:
        case Pattern::Stride:
        case Pattern::Zone:
            return without_relabels(static_cast<Expr *>(lsecond(arguments)));
        case Pattern::Scaled:
        case Pattern::Rounding:
        case Pattern::Digits:
            return dividend_of(without_relabels(static_cast<Expr *>(linitial(arguments))));
        default:
            return without_relabels(static_cast<Expr *>(linitial(arguments)));
    }
}

static bool read_any_call(Expr *expression, Oid *function, List **arguments) {
    if (IsA(expression, OpExpr)) {
        *function = reinterpret_cast<OpExpr *>(expression)->opfuncid;
        *arguments = reinterpret_cast<OpExpr *>(expression)->args;
        return true;
    }
    if (!IsA(expression, FuncExpr))
        return false;
    *function = reinterpret_cast<FuncExpr *>(expression)->funcid;
    *arguments = reinterpret_cast<FuncExpr *>(expression)->args;
    return true;
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

// A function of the table, of nothing but constants and what `*argument` is; nullptr when it isn't.
static const Function *read_call(Expr *expression, Expr **argument) {
    Oid called;
    List *arguments;
    if (!read_any_call(expression, &called, &arguments))
        return nullptr;
    const Function *function = find_function(kFunctions, called);
    if (function == nullptr || !has_pattern(function->pattern, arguments))
        return nullptr;
    *argument = argument_of(arguments, *function);
    return function;
}

// Is it the column, or the column and an interval where local time never goes back?
static bool is_steady(Expr *time) {
    if (IsA(time, Var))
        return true;
    Expr *argument;
    const Function *function = read_call(time, &argument);
    return function != nullptr && function->pattern == Pattern::DayShift && IsA(argument, Var) &&
           has_steady_clocks();
}

// Is it the moment that a number tells? Of a time local time goes back at other values where that is rounded.
static bool is_moment(Expr *time) {
    if (!IsA(time, FuncExpr) || reinterpret_cast<FuncExpr *>(time)->funcid != F_TO_TIMESTAMP_FLOAT8)
        return false;
    for (Expr *argument; read_call(time, &argument) != nullptr;)
        time = argument;
    return IsA(time, Var) && !is_time_type(getBaseType(reinterpret_cast<Var *>(time)->vartype));
}

// Monotone functions of monotone functions are monotone. The moments at which local time goes back must be
// told by the column's values, so what computes with it must be over the column itself, or over moments of
// numbers.
static bool is_monotone(Expr *expression) {
    expression = without_relabels(expression);
    if (IsA(expression, Var))
        return is_suitable_column(reinterpret_cast<Var *>(expression));
    Expr *argument;
    const Function *function = read_call(expression, &argument);
    const bool is_of_session = function != nullptr && function->pattern != Pattern::Zone &&
                               function->pattern != Pattern::UnitAndZone;
    return function != nullptr &&
           (!function->is_local || IsA(argument, Var) || is_moment(argument) ||
            (is_of_session && is_steady(argument))) &&
           is_monotone(argument);
}

// Do many values have the same result? Quotients of integers count if they are asked for.
static bool is_coarse(Expr *expression, bool of_quotients = false) {
    expression = without_relabels(expression);
    Expr *argument;
    const Function *function = read_call(expression, &argument);
    if (function == nullptr)
        return false;
    const bool is_exact =
        function->pattern == Pattern::Exact || function->pattern == Pattern::Scaled ||
        function->pattern == Pattern::Zone || function->pattern == Pattern::Shift ||
        function->pattern == Pattern::DayShift || (function->pattern == Pattern::Divisor && !of_quotients) ||
        (function->pattern == Pattern::Field &&
         is_word(constant_at(reinterpret_cast<FuncExpr *>(expression)->args, 0), {"epoch"}));
    return !is_exact || is_coarse(argument, of_quotients);
}

// ---- periods ----------------------------------------------------------------------------------------------

namespace {

// An expression that has one result in each of the periods that date_trunc by a unit tells of a time.
struct Period {
    int unit;
    Expr *time;
};

}  // namespace

// Places in kUnits.
static constexpr int kNoUnit = -1;
static constexpr int kMinutes = 2;
static constexpr int kHours = 3;
static constexpr int kDays = 4;
static constexpr int kWeeks = 5;

template <size_t count>
static int place_of_word(const Const *constant, const char *const (&words)[count]) {
    for (size_t i = 0; i < count; i++) {
        const char *const word[] = {words[i]};
        if (is_word(constant, word))
            return static_cast<int>(i);
    }
    return kNoUnit;
}

static int unit_of_field(const Const *field) {
    const int unit = place_of_word(field, kUnits);
    // Parts of minutes would have too many ranges.
    if (unit >= kMinutes)
        return unit;
    if (is_word(field, {"dow"}) || is_word(field, {"isodow"}) || is_word(field, {"doy"}))
        return kDays;
    return is_word(field, {"isoyear"}) ? kWeeks : kNoUnit;
}

// Is the pattern somewhere in the format, if only in a literal?
static bool has_letters(const char *format, const char *pattern) {
    for (; *format != '\0'; format++)
        if (pg_strncasecmp(format, pattern, strlen(pattern)) == 0)
            return true;
    return false;
}

// What to_char shows changes with these units at most.
static int unit_of_format(const Const *constant) {
    const char *format = TextDatumGetCString(constant->constvalue);
    const auto has_any = [format](std::initializer_list<const char *> patterns) {
        bool any = false;
        for (const char *pattern : patterns)
            any = any || has_letters(format, pattern);
        return any;
    };
    // Seconds, their fractions, and zones.
    if (has_any({"S", "FF", "TZ", "OF"}))
        return kNoUnit;
    if (has_any({"MI"}))
        return kMinutes;
    return has_any({"HH", "AM", "PM", "A.M", "P.M"}) ? kHours : kDays;
}

// A function of a time by periods. `*time` is what it is called with.
static int unit_of_call(Expr *expression, Expr **time) {
    if (!IsA(expression, FuncExpr))
        return kNoUnit;
    List *arguments = reinterpret_cast<FuncExpr *>(expression)->args;
    switch (reinterpret_cast<FuncExpr *>(expression)->funcid) {
        case F_DATE_TIMESTAMP:
        case F_DATE_TIMESTAMPTZ:
            *time = static_cast<Expr *>(linitial(arguments));
            return kDays;
        case F_TO_CHAR_TIMESTAMP_TEXT:
        case F_TO_CHAR_TIMESTAMPTZ_TEXT:
            *time = static_cast<Expr *>(linitial(arguments));
            return constant_at(arguments, 1) == nullptr ? kNoUnit : unit_of_format(constant_at(arguments, 1));
        case F_DATE_TRUNC_TEXT_TIMESTAMP:
        case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
            *time = static_cast<Expr *>(lsecond(arguments));
            return place_of_word(constant_at(arguments, 0), kUnits);
        case F_EXTRACT_TEXT_TIMESTAMP:
        case F_EXTRACT_TEXT_TIMESTAMPTZ:
        case F_DATE_PART_TEXT_TIMESTAMP:
        case F_DATE_PART_TEXT_TIMESTAMPTZ:
            *time = static_cast<Expr *>(lsecond(arguments));
            return unit_of_field(constant_at(arguments, 0));
        default:
            return kNoUnit;
    }
}

static bool find_period(Expr *expression, Period *period) {
    expression = without_relabels(expression);
    period->unit = unit_of_call(expression, &period->time);
    // What is made of something that is the same in all of a period is so, too.
    if (period->unit == kNoUnit)
        return read_call(expression, &period->time) != nullptr && find_period(period->time, period);
    period->time = without_relabels(period->time);
    if (is_coarse(period->time))
        return find_period(period->time, period);
    const bool is_zoned = getBaseType(exprType(reinterpret_cast<Node *>(period->time))) == TIMESTAMPTZOID;
    return is_monotone(period->time) && (!is_zoned || is_steady(period->time) || is_moment(period->time));
}

// The beginning of the period that a time is in; nullptr when the user may not ask for it.
static Expr *truncate_time(const Period &period) {
    const Oid type = getBaseType(exprType(reinterpret_cast<Node *>(period.time)));
    const Oid function = type == TIMESTAMPTZOID ? F_DATE_TRUNC_TEXT_TIMESTAMPTZ : F_DATE_TRUNC_TEXT_TIMESTAMP;
    if (function_execute_privilege(function, GetUserId()) != ACLCHECK_OK)
        return nullptr;
    auto *unit = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, CStringGetTextDatum(kUnits[period.unit]),
                           false, false);
    return reinterpret_cast<Expr *>(makeFuncExpr(function, type, list_make2(unit, period.time), InvalidOid,
                                                 DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL));
}

// An expression of which each range lies in one range of either; nullptr when there is none.
static Expr *join_ranges(Expr *left, Expr *right) {
    if (equal(left, right))
        return left;
    Period of_left;
    Period of_right;
    if (!find_period(left, &of_left) || !find_period(right, &of_right) || !equal(of_left.time, of_right.time))
        return nullptr;
    const int fine = Min(of_left.unit, of_right.unit);
    const int coarse = Max(of_left.unit, of_right.unit);
    return truncate_time({fine == kWeeks && coarse != kWeeks ? kDays : fine, of_left.time});
}

// The expression itself, or one whose ranges are the periods in which it has one result; nullptr: there is
// none.
static Expr *ranges_of(Expr *expression, bool of_quotients) {
    Period period;
    return is_coarse(expression, of_quotients) && is_monotone(expression) ? expression
           : find_period(expression, &period)                             ? truncate_time(period)
                                                                          : nullptr;
}

// ---- expressions of results -------------------------------------------------------------------------------

namespace {

struct Search {
    Expr *ranged;  // that has been found
    bool of_quotients;
};

}  // namespace

// Quotients of integers are better computed row by row, where that can be done with what is made of them.
static bool needs_ranges(Expr *expression) {
    switch (getBaseType(exprType(reinterpret_cast<Node *>(expression)))) {
        case FLOAT8OID:
        case DATEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return true;
        default:
            return false;
    }
}

static bool may_fail(Oid function, void *) {
    return !get_func_leakproof(function);
}

// A cast to text that can't fail.
static bool is_shown(const CoerceViaIO *cast) {
    switch (getBaseType(exprType(reinterpret_cast<Node *>(cast->arg)))) {
        case INT2OID:
        case INT4OID:
        case INT8OID:
        case FLOAT8OID:
        case NUMERICOID:
        case DATEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return cast->resulttype == TEXTOID;
        default:
            return false;
    }
}

// Texts that are never so long that there would be no room for all of them together.
static bool are_short(List *texts) {
    ListCell *cell;
    foreach (cell, texts) {
        auto *text = static_cast<Node *>(lfirst(cell));
        if (!IsA(text, Const) && !IsA(text, FuncExpr) && !IsA(text, OpExpr) && !IsA(text, CoerceViaIO))
            return false;
    }
    return true;
}

static bool is_harmless(Node *node) {
    switch (nodeTag(node)) {
        case T_FuncExpr:
        case T_OpExpr: {
            const bool is_call = IsA(node, FuncExpr);
            const Oid function = is_call ? reinterpret_cast<FuncExpr *>(node)->funcid
                                         : reinterpret_cast<OpExpr *>(node)->opfuncid;
            List *arguments =
                is_call ? reinterpret_cast<FuncExpr *>(node)->args : reinterpret_cast<OpExpr *>(node)->args;
            for (const Function *known :
                 {find_function(kFunctions, function), find_function(kFunctionsOfResults, function)})
                if (known != nullptr && known->function != F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4 &&
                    has_pattern(known->pattern, arguments))
                    return true;
            if (has_limits(node) || (function == F_TEXTCAT && are_short(arguments)))
                return true;
            break;
        }
        case T_List:
        case T_Const:
        case T_Param:
        case T_BoolExpr:
        case T_NullTest:
        case T_BooleanTest:
        case T_CaseExpr:
        case T_CaseWhen:
        case T_CaseTestExpr:
        case T_CoalesceExpr:
        case T_RelabelType:
            return true;
        case T_CoerceViaIO:
            return is_shown(reinterpret_cast<CoerceViaIO *>(node));
        case T_ScalarArrayOpExpr: {
            const Function *known =
                find_function(kFunctionsOfResults, reinterpret_cast<ScalarArrayOpExpr *>(node)->opfuncid);
            if (known != nullptr && known->pattern == Pattern::Alone)
                return true;
            break;
        }
        case T_DistinctExpr:
        case T_NullIfExpr:
            break;
        default:
            return false;
    }
    return !check_functions_in_node(node, may_fail, nullptr);
}

// True: there is something that doesn't depend on one ranged expression alone, or may fail.
static bool is_otherwise(Node *node, void *context) {
    auto *search = static_cast<Search *>(context);
    if (node == nullptr)
        return false;
    Expr *ranges =
        IsA(node, List) ? nullptr : ranges_of(reinterpret_cast<Expr *>(node), search->of_quotients);
    if (ranges != nullptr) {
        search->ranged = search->ranged == nullptr ? ranges : join_ranges(search->ranged, ranges);
        return search->ranged == nullptr;
    }
    return !is_harmless(node) || walk_expression(node, is_otherwise, context);
}

static List *arguments_of(Expr *call) {
    Oid function;
    List *arguments = NIL;
    (void)read_any_call(call, &function, &arguments);
    return arguments;
}

// Does the call divide what it rounds by a constant?
static bool has_quotient(Expr *call, const Function &function) {
    if (function.pattern != Pattern::Scaled && function.pattern != Pattern::Rounding &&
        function.pattern != Pattern::Digits)
        return false;
    Expr *first = without_relabels(static_cast<Expr *>(linitial(arguments_of(call))));
    return dividend_of(first) != first;
}

// Does it round to integers? Those are among the quotients that numerics may have, wherever these begin to
// show fewer digits behind the point, so that quotients never go back across them.
static bool is_rounded_to_integers(Expr *call, const Function &function) {
    return function.pattern == Pattern::Rounding ||
           (function.pattern == Pattern::Digits &&
            DatumGetInt32(constant_at(arguments_of(call), 1)->constvalue) == 0);
}

// Is it to be computed by ranges? Of a column of numerics, what is neither of buckets nor of quotients is
// computed row by row, however many results there are.
static bool pays_by_ranges(Expr *ranged) {
    bool pays = false;
    bool is_sound = true;
    for (Expr *argument;; ranged = argument) {
        ranged = without_relabels(ranged);
        const Function *function = read_call(ranged, &argument);
        if (function == nullptr)
            break;
        const bool divides = has_quotient(ranged, *function);
        is_sound = is_sound && (!divides || is_rounded_to_integers(ranged, *function));
        pays = pays || divides || function->pattern == Pattern::Buckets;
    }
    const bool of_numerics =
        IsA(ranged, Var) && getBaseType(reinterpret_cast<Var *>(ranged)->vartype) == NUMERICOID;
    return !of_numerics || (pays && is_sound);
}

Expr *find_ranged(Expr *expression) {
    Search search = {nullptr, needs_ranges(expression)};
    return is_otherwise(reinterpret_cast<Node *>(expression), &search) || search.ranged == nullptr ||
                   !pays_by_ranges(search.ranged)
               ? nullptr
               : search.ranged;
}

static bool may_differ(Oid function, void *) {
    return find_function(kFunctions, function) == nullptr && !column::gives_lasting_results(function);
}

// What to_char shows depends on a locale, too.
static bool depends_on_more(Node *node, void *context) {
    if (node == nullptr)
        return false;
    const Function *known = nullptr;
    Oid function;
    List *arguments;
    if (!IsA(node, List) && read_any_call(reinterpret_cast<Expr *>(node), &function, &arguments))
        known = find_function(kFunctionsOfResults, function);
    if ((known == nullptr || known->pattern == Pattern::Format) &&
        check_functions_in_node(node, may_differ, nullptr))
        return true;
    return IsA(node, Param) || walk_expression(node, depends_on_more, context);
}

bool depends_on_zone_at_most(Expr *expression) {
    return !depends_on_more(reinterpret_cast<Node *>(expression), nullptr);
}

// ---- what else is to be known -----------------------------------------------------------------------------

bool has_buckets(Expr *ranged) {
    for (Expr *argument;; ranged = argument) {
        ranged = without_relabels(ranged);
        const Function *function = read_call(ranged, &argument);
        if (function == nullptr)
            return false;
        if (function->pattern == Pattern::Buckets)
            return true;
    }
}

Expr *find_moment(Expr *ranged) {
    for (Expr *argument;; ranged = argument) {
        ranged = without_relabels(ranged);
        if (is_moment(ranged))
            return ranged;
        if (read_call(ranged, &argument) == nullptr)
            return nullptr;
    }
}

static const pg_tz *zone_of(const Const *name) {
    char *given = TextDatumGetCString(name->constvalue);
    const pg_tz *zone = pg_tzset(given);
    pfree(given);
    return zone;
}

bool find_zone(Expr *ranged, const pg_tz **zone) {
    *zone = nullptr;
    for (Expr *argument;; ranged = argument) {
        ranged = without_relabels(ranged);
        const Function *function = read_call(ranged, &argument);
        if (function == nullptr)
            return true;
        if (!function->is_local)
            continue;
        List *arguments = reinterpret_cast<FuncExpr *>(ranged)->args;
        *zone = function->pattern == Pattern::Zone          ? zone_of(constant_at(arguments, 0))
                : function->pattern == Pattern::UnitAndZone ? zone_of(constant_at(arguments, 2))
                                                            : session_timezone;
        return *zone != nullptr;
    }
}

}  // namespace pg_gpu::plan
