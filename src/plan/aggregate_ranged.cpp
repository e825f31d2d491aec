#include "plan/aggregate_ranged.h"

#include <cmath>

#include "compat.h"

namespace pg_gpu::plan {

// ---- functions --------------------------------------------------------------------------------------------

namespace {

// What the arguments besides the column must be: constants of these kinds.
enum class Pattern : uint8 {
    Alone,
    Exact,      // alone, too, but hardly two values have the same result
    Unit,       // of date_trunc
    Field,      // of extract: one that grows with time
    AnyField,   // of extract: any that a date has; not ranged
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
// and for all floats, that they can't fail (but for width_bucket of NaN) and, without what the pattern
// excludes, that they are monotone: with is_local as long as local time doesn't go back.
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
    {F_TIMESTAMP_TIMESTAMP_INT4, Pattern::Precision, false},
    {F_TIMESTAMPTZ_TIMESTAMPTZ_INT4, Pattern::Precision, false},
    {F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4, Pattern::Buckets, false},
    {F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4, Pattern::Buckets, false},
    {F_FLOOR_FLOAT8, Pattern::Alone, false},
    {F_CEIL_FLOAT8, Pattern::Alone, false},
    {F_CEILING_FLOAT8, Pattern::Alone, false},
    {F_ROUND_FLOAT8, Pattern::Alone, false},
    {F_TRUNC_FLOAT8, Pattern::Alone, false},
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
    {F_EXTRACT_TEXT_DATE, Pattern::AnyField, false},
    {F_EXTRACT_TEXT_TIMESTAMP, Pattern::AnyField, false},
    {F_EXTRACT_TEXT_TIMESTAMPTZ, Pattern::AnyField, true},
    {F_DATE_PART_TEXT_TIMESTAMP, Pattern::AnyField, false},
    {F_DATE_PART_TEXT_TIMESTAMPTZ, Pattern::AnyField, true},
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

static const char *const kUnits[] = {"milliseconds", "second",  "minute", "hour",   "day",     "week",
                                     "month",        "quarter", "year",   "decade", "century", "millennium"};
static const char *const kGrowingFields[] = {"year", "isoyear", "decade", "century", "millennium", "epoch"};
static const char *const kFields[] = {"year",  "isoyear", "decade", "century", "millennium",
                                      "epoch", "quarter", "month",  "week",    "day",
                                      "dow",   "isodow",  "doy"};

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

static bool has_pattern(Pattern pattern, List *arguments) {
    switch (pattern) {
        case Pattern::Alone:
        case Pattern::Exact:
            return true;
        case Pattern::Unit:
            return is_word(constant_at(arguments, 0), kUnits);
        case Pattern::UnitAndZone:
            return is_word(constant_at(arguments, 0), kUnits) && constant_at(arguments, 2) != nullptr;
        case Pattern::Field:
            return is_word(constant_at(arguments, 0), kGrowingFields);
        case Pattern::AnyField:
            return is_word(constant_at(arguments, 0), kFields);
        case Pattern::Precision: {
            const Const *digits = constant_at(arguments, 1);
            return digits != nullptr && DatumGetInt32(digits->constvalue) >= 0 &&
                   DatumGetInt32(digits->constvalue) <= MAX_TIMESTAMP_PRECISION;
        }
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

static Expr *argument_of(const FuncExpr *call, const Function &function) {
    switch (function.pattern) {
        case Pattern::Unit:
        case Pattern::UnitAndZone:
        case Pattern::Field:
        case Pattern::Stride:
        case Pattern::Zone:
            return without_relabels(static_cast<Expr *>(lsecond(call->args)));
        default:
            return without_relabels(static_cast<Expr *>(linitial(call->args)));
    }
}

static bool is_suitable_column(const Var *column) {
    switch (getBaseType(column->vartype)) {
        case INT2OID:
        case INT4OID:
        case INT8OID:
        case FLOAT4OID:
        case FLOAT8OID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return true;
        default:
            return false;
    }
}

// A function of the table, of nothing but constants and what `*argument` is; nullptr when it isn't.
static const Function *read_call(Expr *expression, Expr **argument) {
    if (!IsA(expression, FuncExpr))
        return nullptr;
    const auto *call = reinterpret_cast<const FuncExpr *>(expression);
    const Function *function = find_function(kFunctions, call->funcid);
    if (function == nullptr || !has_pattern(function->pattern, call->args))
        return nullptr;
    *argument = argument_of(call, *function);
    return function;
}

// Monotone functions of monotone functions are monotone. The moments at which local time goes back are values
// of the column, so what computes with it must be over the column itself.
static bool is_monotone(Expr *expression) {
    expression = without_relabels(expression);
    if (IsA(expression, Var))
        return is_suitable_column(reinterpret_cast<Var *>(expression));
    Expr *argument;
    const Function *function = read_call(expression, &argument);
    return function != nullptr && (!function->is_local || IsA(argument, Var)) && is_monotone(argument);
}

// Do many values have the same result?
static bool is_coarse(Expr *expression) {
    expression = without_relabels(expression);
    Expr *argument;
    const Function *function = read_call(expression, &argument);
    if (function == nullptr)
        return false;
    const bool is_exact =
        function->pattern == Pattern::Exact || function->pattern == Pattern::Zone ||
        (function->pattern == Pattern::Field &&
         is_word(constant_at(reinterpret_cast<FuncExpr *>(expression)->args, 0), {"epoch"}));
    return !is_exact || is_coarse(argument);
}

// ---- expressions of results -------------------------------------------------------------------------------

namespace {

struct Search {
    Expr *ranged;  // that has been found
};

}  // namespace

static bool may_fail(Oid function, void *) {
    return !get_func_leakproof(function);
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
        case T_ScalarArrayOpExpr:
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
    auto *expression = reinterpret_cast<Expr *>(node);
    if (!IsA(node, List) && is_coarse(expression) && is_monotone(expression)) {
        if (search->ranged == nullptr)
            search->ranged = expression;
        return !equal(search->ranged, expression);
    }
    return !is_harmless(node) || walk_expression(node, is_otherwise, context);
}

Expr *find_ranged(Expr *expression) {
    Search search = {};
    return is_otherwise(reinterpret_cast<Node *>(expression), &search) ? nullptr : search.ranged;
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
