#include "plan/query/aggregate_limits.h"

#include <cmath>
#include <limits>

#include "column/format/value.h"
#include "compat.h"
#include "expressions.h"

namespace pg_gpu::plan {

// ---- functions --------------------------------------------------------------------------------------------

namespace {

// How a call's result follows from the operands'.
enum class Effect : uint8 {
    None,     // of a function that isn't known here
    Rounded,  // less than 1 away
    Sum,
    Difference,
    Product,
    Quotient,  // the divisor is a constant
    Remainder,
    FloatProduct,  // one of the factors is a constant
    FloatQuotient,
    Moment,     // so many seconds after 1970
    Later,      // a moment, and an interval
    Earlier,    // less the interval
    DaysLater,  // a date, and a number of days
    DaysEarlier,
    LongTime,  // an interval, multiplied
};

// What an expression may be where it isn't NULL. Intervals and moments are seconds.
struct Extent {
    double least;
    double greatest;
    bool has_others;  // infinities, or NaN
};

struct Look {
    const ValueLimits *column;  // nullptr: any that its type has
    int calls;
    bool fits;
};

}  // namespace

static constexpr double kEndless = std::numeric_limits<double>::infinity();
static constexpr Extent kAnything = {-kEndless, kEndless, true};

static Effect effect_of(Oid function) {
    switch (function) {
        case F_INT2_INT4:
        case F_INT2_INT8:
        case F_INT4_INT8:
        case F_INT2_NUMERIC:
        case F_INT4_NUMERIC:
        case F_INT8_NUMERIC:
        case F_INT2_FLOAT8:
        case F_INT4_FLOAT8:
        case F_INT8_FLOAT8:
        case F_FLOAT8_NUMERIC:
            return Effect::Rounded;
        case F_INT2PL:
        case F_INT4PL:
        case F_INT8PL:
        case F_INT84PL:
        case F_INT48PL:
        case F_NUMERIC_ADD:
            return Effect::Sum;
        case F_INT2MI:
        case F_INT4MI:
        case F_INT8MI:
        case F_INT84MI:
        case F_INT48MI:
        case F_NUMERIC_SUB:
            return Effect::Difference;
        case F_INT2MUL:
        case F_INT4MUL:
        case F_INT8MUL:
        case F_INT84MUL:
        case F_INT48MUL:
        case F_NUMERIC_MUL:
            return Effect::Product;
        case F_INT2DIV:
        case F_INT4DIV:
        case F_INT8DIV:
        case F_INT84DIV:
        case F_NUMERIC_DIV:
            return Effect::Quotient;
        case F_INT2MOD:
        case F_INT4MOD:
        case F_INT8MOD:
        case F_NUMERIC_MOD:
        case F_MOD_NUMERIC_NUMERIC:
            return Effect::Remainder;
        case F_FLOAT8MUL:
            return Effect::FloatProduct;
        case F_FLOAT8DIV:
            return Effect::FloatQuotient;
        case F_TO_TIMESTAMP_FLOAT8:
            return Effect::Moment;
        case F_TIMESTAMP_PL_INTERVAL:
        case F_TIMESTAMPTZ_PL_INTERVAL:
            return Effect::Later;
        case F_TIMESTAMP_MI_INTERVAL:
        case F_TIMESTAMPTZ_MI_INTERVAL:
            return Effect::Earlier;
        case F_DATE_PLI:
            return Effect::DaysLater;
        case F_DATE_MII:
            return Effect::DaysEarlier;
        case F_INTERVAL_MUL:
        case F_MUL_D_INTERVAL:
            return Effect::LongTime;
        default:
            return Effect::None;
    }
}

// ---- constants --------------------------------------------------------------------------------------------

static Extent extent_of_interval(const Interval *interval) {
    constexpr double days_per_month = 31;
    const double days = days_per_month * std::abs(static_cast<double>(interval->month)) +
                        std::abs(static_cast<double>(interval->day));
    const double seconds =
        days * SECS_PER_DAY + std::abs(static_cast<double>(interval->time)) / USECS_PER_SEC;
    return {-seconds, seconds, false};
}

static Extent extent_of_number(double number) {
    return std::isfinite(number) ? Extent{number, number, false} : kAnything;
}

static double seconds_of(Timestamp moment) {
    constexpr double seconds_from_1970 = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
    return static_cast<double>(moment) / USECS_PER_SEC + seconds_from_1970;
}

static Extent extent_of_constant(const Const *constant) {
    if (constant->constisnull)
        return {0, 0, false};
    switch (getBaseType(constant->consttype)) {
        case INT2OID:
            return extent_of_number(DatumGetInt16(constant->constvalue));
        case INT4OID:
            return extent_of_number(DatumGetInt32(constant->constvalue));
        case INT8OID:
            return extent_of_number(static_cast<double>(DatumGetInt64(constant->constvalue)));
        case FLOAT8OID:
            return extent_of_number(DatumGetFloat8(constant->constvalue));
        case NUMERICOID: {
            // One that is too great for a float becomes infinite. Products of very small ones might be too
            // close to 0 for floats.
            constexpr double least_number = 1e-9;
            const double number =
                DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, constant->constvalue));
            const bool is_zero = DatumGetBool(
                DirectFunctionCall2(numeric_eq, constant->constvalue, NumericGetDatum(int64_to_numeric(0))));
            return std::abs(number) < least_number && !is_zero ? kAnything : extent_of_number(number);
        }
        case TIMESTAMPOID:
        case TIMESTAMPTZOID: {
            const Timestamp moment = DatumGetTimestamp(constant->constvalue);
            return TIMESTAMP_NOT_FINITE(moment) ? kAnything : extent_of_number(seconds_of(moment));
        }
        case INTERVALOID:
            return extent_of_interval(DatumGetIntervalP(constant->constvalue));
        default:
            return kAnything;
    }
}

// Moments that other functions can't fail for (kFirstRangedTimestamp, kLastRangedTimestamp).
static constexpr double kFirstMoment = -6e10;
static constexpr double kLastMoment = 9e12;

static bool is_constant_between(Node *node, double least, double greatest) {
    if (!IsA(node, Const) || reinterpret_cast<Const *>(node)->constisnull)
        return false;
    const Extent extent = extent_of_constant(reinterpret_cast<Const *>(node));
    return extent.least == extent.greatest && std::abs(extent.least) >= least &&
           std::abs(extent.least) <= greatest;
}

// ---- calls ------------------------------------------------------------------------------------------------

// Floats that aren't so close to 0 that nothing is left of them.
static bool is_coarse_float(Node *node) {
    if (!IsA(node, FuncExpr))
        return false;
    switch (reinterpret_cast<FuncExpr *>(node)->funcid) {
        case F_DATE_PART_TEXT_TIMESTAMP:
        case F_DATE_PART_TEXT_TIMESTAMPTZ:
        case F_FLOAT8_INT2:
        case F_FLOAT8_INT4:
        case F_FLOAT8_INT8:
        case F_FLOOR_FLOAT8:
        case F_CEIL_FLOAT8:
        case F_CEILING_FLOAT8:
        case F_ROUND_FLOAT8:
        case F_TRUNC_FLOAT8:
            return true;
        default:
            return false;
    }
}

// Of floats that aren't computed of times and integers it isn't known how great they are.
static bool has_float_column(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Var))
        return column::describe_type(reinterpret_cast<Var *>(node)->vartype, InvalidOid).code >=
               column::IntegerCode::Float4;
    return walk_expression(node, has_float_column, context);
}

// Divisors, and factors of floats, that nothing can go wrong with.
static constexpr double kLeastFactor = 1e-6;
static constexpr double kGreatestFactor = 1e12;

static Extent extent_of(Look *look, Node *node);

bool has_limits(Node *node) {
    Oid function;
    List *arguments;
    if (!read_call(node, &function, &arguments))
        return false;
    const auto is_factor = [arguments](int i) {
        return is_constant_between(static_cast<Node *>(list_nth(arguments, i)), kLeastFactor,
                                   kGreatestFactor);
    };
    const auto is_coarse = [arguments](int i) {
        return is_coarse_float(static_cast<Node *>(list_nth(arguments, i)));
    };
    switch (effect_of(function)) {
        case Effect::None:
            return false;
        case Effect::Sum:
        case Effect::Difference:
        case Effect::Product: {
            // Integers whose bounds aren't known beforehand are better computed row by row.
            Look look = {nullptr, 0, true};
            (void)extent_of(&look, node);
            return look.fits;
        }
        case Effect::Rounded:
            return !has_float_column(node, nullptr);
        case Effect::Quotient:
        case Effect::Remainder:
            return is_factor(1);
        case Effect::FloatQuotient:
            return is_factor(1) && is_coarse(0);
        case Effect::FloatProduct:
            return (is_factor(1) && is_coarse(0)) || (is_factor(0) && is_coarse(1));
        default:
            return true;
    }
}

// ---- bounds -----------------------------------------------------------------------------------------------

static bool is_within(const Extent &extent, double least, double greatest) {
    return extent.least >= least && extent.greatest <= greatest;
}

static Extent widened(const Extent &extent, double below, double above) {
    return {extent.least - below, extent.greatest + above, extent.has_others};
}

// Of all integers of a type; all of other types.
static Extent extent_of_type(Node *node) {
    switch (getBaseType(exprType(node))) {
        case INT2OID:
            return {PG_INT16_MIN, PG_INT16_MAX, false};
        case INT4OID:
            return {PG_INT32_MIN, PG_INT32_MAX, false};
        case INT8OID:
            return {static_cast<double>(PG_INT64_MIN), static_cast<double>(PG_INT64_MAX), false};
        default:
            return kAnything;
    }
}

static Extent extent_of_field(const Const *field, const Extent &moment) {
    struct Field {
        const char *word;
        double greatest;
    };
    constexpr Field fields[] = {{"quarter", 4}, {"month", 12}, {"week", 53}, {"day", 31},   {"dow", 6},
                                {"isodow", 7},  {"doy", 366},  {"hour", 23}, {"minute", 59}};
    constexpr double greatest_year = 300000;
    char *word = TextDatumGetCString(field->constvalue);
    if (pg_strcasecmp(word, "epoch") == 0)
        return moment;
    // Of infinite moments these are NULL.
    for (const Field &known : fields)
        if (pg_strcasecmp(word, known.word) == 0)
            return {0, known.greatest, false};
    // Years, and what is counted of them.
    return {-greatest_year, greatest_year, moment.has_others};
}

static Extent corners_of(const Extent &left, const Extent &right, bool divides) {
    const auto of = [divides](double a, double b) { return divides ? a / b : a * b; };
    const double corners[] = {of(left.least, right.least), of(left.least, right.greatest),
                              of(left.greatest, right.least), of(left.greatest, right.greatest)};
    Extent extent = {corners[0], corners[0], left.has_others || right.has_others};
    for (const double corner : corners) {
        if (std::isnan(corner))
            return kAnything;
        extent.least = Min(extent.least, corner);
        extent.greatest = Max(extent.greatest, corner);
    }
    return extent;
}

static Extent extent_of_effect(Effect effect, const Extent &left, const Extent &right) {
    const bool has_others = left.has_others || right.has_others;
    const auto moved = [&](const Extent &by, double unit, bool back) {
        const Extent distance = {by.least * unit, by.greatest * unit, by.has_others};
        return back ? Extent{left.least - distance.greatest, left.greatest - distance.least, has_others}
                    : Extent{left.least + distance.least, left.greatest + distance.greatest, has_others};
    };
    switch (effect) {
        case Effect::Rounded:
            return widened(left, 1, 1);
        case Effect::Sum:
        case Effect::Later:
            return moved(right, 1, false);
        case Effect::Difference:
        case Effect::Earlier:
            return moved(right, 1, true);
        case Effect::DaysLater:
            return moved(right, SECS_PER_DAY, false);
        case Effect::DaysEarlier:
            return moved(right, SECS_PER_DAY, true);
        case Effect::Product:
        case Effect::FloatProduct:
            return corners_of(left, right, false);
        case Effect::Quotient:
        case Effect::FloatQuotient:
            return corners_of(left, right, true);
        case Effect::Remainder: {
            const double most = Max(std::abs(right.least), std::abs(right.greatest));
            return {-most, most, has_others};
        }
        case Effect::LongTime: {
            // Parts of months become days, and those of days hours.
            constexpr double carried = 1.1;
            return corners_of(corners_of(left, right, false), {-carried, carried, false}, false);
        }
        default:
            return left;
    }
}

// Has the result room where it goes?
static bool has_room(Effect effect, Node *node, const Extent &left, const Extent &right,
                     const Extent &result) {
    constexpr double longest = 1e11;  // interval
    constexpr double greatest_number = 1e100;
    switch (effect) {
        case Effect::Moment:
            return !result.has_others && is_within(result, kFirstMoment, kLastMoment);
        case Effect::Later:
        case Effect::Earlier:
            return !right.has_others && is_within(left, kFirstMoment, kLastMoment) &&
                   is_within(result, kFirstMoment, kLastMoment);
        case Effect::DaysLater:
        case Effect::DaysEarlier:
            return is_within(left, kFirstMoment, kLastMoment) && is_within(result, kFirstMoment, kLastMoment);
        case Effect::LongTime:
            return !result.has_others && is_within(result, -longest, longest);
        default:
            break;
    }
    const Extent room = extent_of_type(node);
    return room.has_others ? is_within(result, -greatest_number, greatest_number)
                           : !result.has_others && is_within(result, room.least, room.greatest);
}

static bool look_at(Node *node, void *context) {
    if (node != nullptr)
        (void)extent_of(static_cast<Look *>(context), node);
    return false;
}

// What functions that can't fail make of moments and numbers.
static Extent extent_of_known(Node *node, Oid function, List *arguments, const Extent *operands) {
    // What is cut off of a moment, and what local time may be away from it.
    constexpr double millennium = 1001 * 366.0 * SECS_PER_DAY;
    constexpr double century = 101 * 366.0 * SECS_PER_DAY;
    constexpr double two_days = 2 * SECS_PER_DAY;
    switch (function) {
        case F_EXTRACT_TEXT_DATE:
        case F_EXTRACT_TEXT_TIMESTAMP:
        case F_EXTRACT_TEXT_TIMESTAMPTZ:
        case F_DATE_PART_TEXT_TIMESTAMP:
        case F_DATE_PART_TEXT_TIMESTAMPTZ:
            return extent_of_field(linitial_node(Const, arguments), operands[1]);
        case F_DATE_TRUNC_TEXT_TIMESTAMP:
        case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
        case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
            return widened(operands[1], millennium, two_days);
        case F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP:
        case F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ:
            return widened(operands[1], century, century);
        case F_TIMEZONE_TEXT_TIMESTAMPTZ:
            return widened(operands[1], two_days, two_days);
        case F_DATE_TIMESTAMP:
        case F_DATE_TIMESTAMPTZ:
        case F_TIMESTAMP_TIMESTAMPTZ:
        case F_TIMESTAMP_DATE:
        case F_TIMESTAMPTZ_DATE:
        case F_TIMESTAMPTZ_TIMESTAMP:
        case F_TIMESTAMP_TIMESTAMP_INT4:
        case F_TIMESTAMPTZ_TIMESTAMPTZ_INT4:
            return widened(operands[0], two_days, two_days);
        case F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4:
        case F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4:
            return {0, operands[3].greatest + 1, false};
        case F_FLOAT8_FLOAT4:
        case F_FLOAT8_INT2:
        case F_FLOAT8_INT4:
        case F_FLOAT8_INT8:
        case F_NUMERIC_INT2:
        case F_NUMERIC_INT4:
        case F_NUMERIC_INT8:
        case F_INT4_INT2:
        case F_INT8_INT2:
        case F_INT8_INT4:
            return operands[0];
        case F_FLOOR_FLOAT8:
        case F_CEIL_FLOAT8:
        case F_CEILING_FLOAT8:
        case F_ROUND_FLOAT8:
        case F_TRUNC_FLOAT8:
        case F_FLOOR_NUMERIC:
        case F_CEIL_NUMERIC:
        case F_CEILING_NUMERIC:
        case F_ROUND_NUMERIC_INT4:
        case F_TRUNC_NUMERIC_INT4:
            return widened(operands[0], 1, 1);
        default:
            return extent_of_type(node);
    }
}

static Extent extent_of_call(Look *look, Node *node, Oid function, List *arguments) {
    // So many at most that no product is too close to 0 for a float.
    constexpr int max_calls = 16;
    constexpr int max_operands = 4;
    Extent operands[max_operands] = {kAnything, kAnything, kAnything, kAnything};
    for (int i = 0; i < list_length(arguments); i++) {
        const Extent operand = extent_of(look, static_cast<Node *>(list_nth(arguments, i)));
        if (i < max_operands)
            operands[i] = operand;
    }
    const Effect effect = effect_of(function);
    if (effect == Effect::None)
        return extent_of_known(node, function, arguments, operands);
    const bool is_single = list_length(arguments) == 1;
    const Extent none = {0, 0, false};
    const Extent result = extent_of_effect(effect, operands[0], is_single ? none : operands[1]);
    look->fits = look->fits && ++look->calls <= max_calls &&
                 has_room(effect, node, operands[0], is_single ? none : operands[1], result);
    return result;
}

static Extent union_of(const Extent &left, const Extent &right) {
    return {Min(left.least, right.least), Max(left.greatest, right.greatest),
            left.has_others || right.has_others};
}

static Extent extent_of_case(Look *look, const CaseExpr *expression) {
    look_at(reinterpret_cast<Node *>(expression->arg), look);
    Extent extent = {0, 0, false};
    ListCell *cell;
    foreach (cell, expression->args) {
        const auto *when = lfirst_node(CaseWhen, cell);
        look_at(reinterpret_cast<Node *>(when->expr), look);
        extent = union_of(extent, extent_of(look, reinterpret_cast<Node *>(when->result)));
    }
    return expression->defresult == nullptr
               ? extent
               : union_of(extent, extent_of(look, reinterpret_cast<Node *>(expression->defresult)));
}

static Extent extent_of_coalesce(Look *look, const CoalesceExpr *expression) {
    Extent extent = {0, 0, false};
    ListCell *cell;
    foreach (cell, expression->args)
        extent = union_of(extent, extent_of(look, static_cast<Node *>(lfirst(cell))));
    return extent;
}

static Extent extent_of_column(const Look *look, Node *node) {
    if (look->column != nullptr)
        return {look->column->least, look->column->greatest, look->column->has_others};
    const Oid type = getBaseType(exprType(node));
    return type == TIMESTAMPOID || type == TIMESTAMPTZOID ? Extent{kFirstMoment, kLastMoment, false}
                                                          : extent_of_type(node);
}

static Extent extent_of(Look *look, Node *node) {
    check_stack_depth();
    Oid function;
    List *arguments;
    if (read_call(node, &function, &arguments))
        return extent_of_call(look, node, function, arguments);
    switch (nodeTag(node)) {
        case T_Const:
            return extent_of_constant(reinterpret_cast<Const *>(node));
        case T_Var:
            return extent_of_column(look, node);
        case T_RelabelType:
            return extent_of(look, reinterpret_cast<Node *>(reinterpret_cast<RelabelType *>(node)->arg));
        case T_CaseExpr:
            return extent_of_case(look, reinterpret_cast<CaseExpr *>(node));
        case T_CoalesceExpr:
            return extent_of_coalesce(look, reinterpret_cast<CoalesceExpr *>(node));
        default:
            (void)walk_expression(node, look_at, look);
            return IsA(node, List) ? kAnything : extent_of_type(node);
    }
}

bool stays_within_limits(Expr *expression, const ValueLimits &column) {
    Look look = {&column, 0, true};
    (void)extent_of(&look, reinterpret_cast<Node *>(expression));
    return look.fits;
}

}  // namespace pg_gpu::plan
