#include "plan/query/aggregate_ranged.h"

#include "column/scan/cached_results.h"
#include "compat.h"
#include "expressions.h"
#include "plan/query/aggregate_limits.h"
#include "plan/query/aggregate_ranged_calls.h"

extern "C" {
#include "catalog/pg_collation_d.h"
}

namespace pg_gpu::plan {

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
    check_stack_depth();
    expression = without_relabels(expression);
    period->unit = unit_of_call(expression, &period->time);
    // What is made of something that is the same in all of a period is so, too.
    if (period->unit == kNoUnit)
        return read_known_call(expression, &period->time) != nullptr && find_period(period->time, period);
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
            for (const KnownFunction *known : {find_function(function), find_function_of_results(function)})
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
            const KnownFunction *known =
                find_function_of_results(reinterpret_cast<ScalarArrayOpExpr *>(node)->opfuncid);
            if (known != nullptr && known->pattern == CallPattern::Alone)
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
    (void)read_call(call, &function, &arguments);
    return arguments;
}

// Does the call divide what it rounds by a constant?
static bool has_quotient(Expr *call, const KnownFunction &function) {
    if (function.pattern != CallPattern::Scaled && function.pattern != CallPattern::Rounding &&
        function.pattern != CallPattern::Digits)
        return false;
    Expr *first = without_relabels(static_cast<Expr *>(linitial(arguments_of(call))));
    return dividend_of(first) != first;
}

// Does it round to integers? Those are among the quotients that numerics may have, wherever these begin to
// show fewer digits behind the point, so that quotients never go back across them.
static bool is_rounded_to_integers(Expr *call, const KnownFunction &function) {
    return function.pattern == CallPattern::Rounding ||
           (function.pattern == CallPattern::Digits &&
            DatumGetInt32(constant_at(arguments_of(call), 1)->constvalue) == 0);
}

// Is it to be computed by ranges? Of a column of numerics, what is neither of buckets nor of quotients is
// computed row by row, however many results there are.
static bool pays_by_ranges(Expr *ranged) {
    bool pays = false;
    bool is_valid = true;
    for (Expr *argument;; ranged = argument) {
        ranged = without_relabels(ranged);
        const KnownFunction *function = read_known_call(ranged, &argument);
        if (function == nullptr)
            break;
        const bool divides = has_quotient(ranged, *function);
        is_valid = is_valid && (!divides || is_rounded_to_integers(ranged, *function));
        pays = pays || divides || function->pattern == CallPattern::Buckets;
    }
    const bool of_numerics =
        IsA(ranged, Var) && getBaseType(reinterpret_cast<Var *>(ranged)->vartype) == NUMERICOID;
    return !of_numerics || (pays && is_valid);
}

Expr *find_ranged(Expr *expression) {
    Search search = {nullptr, needs_ranges(expression)};
    return is_otherwise(reinterpret_cast<Node *>(expression), &search) || search.ranged == nullptr ||
                   !pays_by_ranges(search.ranged)
               ? nullptr
               : search.ranged;
}

static bool may_differ(Oid function, void *) {
    return find_function(function) == nullptr && !column::gives_cacheable_results(function);
}

// What to_char shows depends on a locale, too.
static bool depends_on_more(Node *node, void *context) {
    if (node == nullptr)
        return false;
    const KnownFunction *known = nullptr;
    Oid function;
    List *arguments;
    if (!IsA(node, List) && read_call(reinterpret_cast<Expr *>(node), &function, &arguments))
        known = find_function_of_results(function);
    if ((known == nullptr || known->pattern == CallPattern::Format) &&
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
        const KnownFunction *function = read_known_call(ranged, &argument);
        if (function == nullptr)
            return false;
        if (function->pattern == CallPattern::Buckets)
            return true;
    }
}

Expr *find_moment(Expr *ranged) {
    for (Expr *argument;; ranged = argument) {
        ranged = without_relabels(ranged);
        if (is_moment(ranged))
            return ranged;
        if (read_known_call(ranged, &argument) == nullptr)
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
        const KnownFunction *function = read_known_call(ranged, &argument);
        if (function == nullptr)
            return true;
        if (!function->is_local)
            continue;
        List *arguments = reinterpret_cast<FuncExpr *>(ranged)->args;
        *zone = function->pattern == CallPattern::Zone          ? zone_of(constant_at(arguments, 0))
                : function->pattern == CallPattern::UnitAndZone ? zone_of(constant_at(arguments, 2))
                                                                : session_timezone;
        return *zone != nullptr;
    }
}

}  // namespace pg_gpu::plan
