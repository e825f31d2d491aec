#include "plan/query/aggregate_numeric_steps.h"

#include "compat.h"
#include "expressions.h"
#include "gpu_engine/aggregate_steps.h"
#include "plan/query/aggregate_choices.h"
#include "plan/query/aggregate_common_inputs.h"
#include "plan/query/aggregate_failure.h"
#include "plan/query/aggregate_numeric.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateStep;

bool is_numeric(const Expr *expression) {
    return getBaseType(exprType(reinterpret_cast<Node *>(const_cast<Expr *>(expression)))) == NUMERICOID;
}

static uint16 add_plain_constant(Compiler *compiler, int64 number) {
    return add_step(compiler, AggregateOperation::constant, 0, 0, 0, number);
}

// ---- operands ---------------------------------------------------------------------------------------------

static NumericSteps compile_numeric_constant(Compiler *compiler, Expr *expression) {
    Const constant;
    if (!find_constant(compiler, expression, &constant) || is_refused(compiler))
        return {add_plain_constant(compiler, 0), add_plain_constant(compiler, 0)};
    if (constant.constisnull) {
        const uint16 null = add_step(compiler, AggregateOperation::null, 0, 0, 0);
        return {null, null};
    }
    uint64 words[2];
    uint8 scale = 0;
    const bool is_read = read_wide(DatumGetNumeric(constant.constvalue), words, &scale);
    const Int128 number = is_read ? wide_of_words(words[0], words[1]) : 0;
    if (!is_read || number != static_cast<int64>(number)) {
        refuse(compiler, "a numeric constant isn't finite, or has too many digits");
        return {0, 0};
    }
    return {add_step(compiler, AggregateOperation::constant, 0, 0, scale, static_cast<int64>(number)),
            add_plain_constant(compiler, scale)};
}

static uint16 compile_cut_constant(Compiler *compiler, Expr *expression, bool rounds_up) {
    Const constant;
    if (!find_constant(compiler, expression, &constant) || is_refused(compiler))
        return add_plain_constant(compiler, 0);
    if (constant.constisnull)
        return add_step(compiler, AggregateOperation::null, 0, 0, 0);
    uint64 words[2];
    uint8 scale = 0;
    const bool is_read = read_wide(DatumGetNumeric(constant.constvalue), words, &scale);
    Int128 number = is_read ? wide_of_words(words[0], words[1]) : 0;
    bool is_cut = false;
    for (; number != static_cast<int64>(number) && scale > 0; scale--) {
        const int digit = static_cast<int>(number % 10);
        // Division rounds towards 0.
        number = number / 10 + (rounds_up ? digit > 0 : digit < 0 ? -1 : 0);
        is_cut = is_cut || digit != 0;
    }
    if (!is_read || number != static_cast<int64>(number)) {
        refuse(compiler, "a numeric constant isn't finite, or has too many digits");
        return 0;
    }
    return add_step(compiler, AggregateOperation::constant, 0, 0,
                    static_cast<uint16>(scale | (is_cut ? kIsCut : 0)), static_cast<int64>(number));
}

NumericSteps compile_numeric_input(Compiler *compiler, Expr *expression) {
    const uint16 input = add_source(compiler, SourceKind::Wide, expression);
    if (is_refused(compiler))
        return {0, 0};
    return {add_input_step(compiler, input),
            add_input_step(compiler, add_dependent_source(compiler, SourceKind::Scale, input))};
}

// Makes steps of two numerics, of which one has as many digits behind the point as the other.
static void align_numerics(Compiler *compiler, uint16 *left, uint16 *right) {
    if (*left == *right)
        return;
    const auto aligned = [compiler](uint16 step, uint16 other) {
        const uint16 factor = add_step(compiler, AggregateOperation::constant, kFactorWidth, step, other);
        return add_step(compiler, AggregateOperation::multiply, sizeof(int64), step, factor);
    };
    const uint16 aligned_left = aligned(*left, *right);
    *right = aligned(*right, *left);
    *left = aligned_left;
}

uint16 scale_of_numbers(Compiler *compiler, const NumericSteps &steps) {
    const uint16 is_null = add_step(compiler, AggregateOperation::is_null, 0, steps.number, 0);
    return add_step(compiler, AggregateOperation::only_where, 0, negate(compiler, is_null), steps.scale);
}

// ---- arithmetic -------------------------------------------------------------------------------------------

static bool is_arithmetic(Oid function) {
    switch (function) {
        case F_NUMERIC_ADD:
        case F_NUMERIC_SUB:
        case F_NUMERIC_MUL:
        case F_NUMERIC_UPLUS:
        case F_NUMERIC_UMINUS:
        case F_NUMERIC_ABS:
        case F_ABS_NUMERIC:
            return true;
        default:
            return false;
    }
}

// A sum shows as many digits behind the point as the operand that shows more, a product as many as both.
static NumericSteps compile_numeric_of_two(Compiler *compiler, Oid function, NumericSteps left,
                                           NumericSteps right) {
    if (function == F_NUMERIC_MUL)
        return {add_step(compiler, AggregateOperation::multiply, sizeof(int64), left.number, right.number),
                add_step(compiler, AggregateOperation::add, sizeof(int64), left.scale, right.scale)};
    align_numerics(compiler, &left.number, &right.number);
    return {
        add_step(compiler, function == F_NUMERIC_ADD ? AggregateOperation::add : AggregateOperation::subtract,
                 sizeof(int64), left.number, right.number),
        add_step(compiler, AggregateOperation::greater, 0, left.scale, right.scale)};
}

static NumericSteps compile_numeric_arithmetic(Compiler *compiler, Oid function, const List *arguments) {
    const NumericSteps first = compile_numeric(compiler, static_cast<Expr *>(linitial(arguments)));
    if (list_length(arguments) == 2)
        return compile_numeric_of_two(compiler, function, first,
                                      compile_numeric(compiler, static_cast<Expr *>(lsecond(arguments))));
    if (function == F_NUMERIC_UPLUS)
        return first;
    const uint16 negative = add_step(compiler, AggregateOperation::multiply, sizeof(int64), first.number,
                                     add_plain_constant(compiler, -1));
    if (function == F_NUMERIC_UMINUS)
        return {negative, first.scale};
    return {add_step(compiler, AggregateOperation::greater, 0, first.number, negative), first.scale};
}

// What divides by 0 makes the whole request fail, but where it isn't wanted.
static uint16 guard_divisor(Compiler *compiler, uint16 divisor) {
    return compiler->chosen_where == gpu_engine::no_aggregate_step
               ? divisor
               : add_step(compiler, AggregateOperation::only_where, 0, compiler->chosen_where, divisor);
}

static NumericSteps compile_numeric_remainder(Compiler *compiler, const List *arguments) {
    NumericSteps left = compile_numeric(compiler, static_cast<Expr *>(linitial(arguments)));
    NumericSteps right = compile_numeric(compiler, static_cast<Expr *>(lsecond(arguments)));
    align_numerics(compiler, &left.number, &right.number);
    return {add_step(compiler, AggregateOperation::modulo, sizeof(int64), left.number,
                     guard_divisor(compiler, right.number)),
            add_step(compiler, AggregateOperation::greater, 0, left.scale, right.scale)};
}

// ---- rounding ---------------------------------------------------------------------------------------------

namespace {

enum class Rounding : uint8 { None, Nearest, TowardZero, Up, Down };

// A number that is cut off behind some digits.
struct CutNumber {
    uint16 number;     // cut towards 0
    uint16 remainder;  // of the dividend's sign
    uint16 divisor;    // a power of 10
};

}  // namespace

static constexpr int kMaxRoundedDigits = 18;

static Rounding rounding_of(Oid function) {
    switch (function) {
        case F_ROUND_NUMERIC_INT4:
            return Rounding::Nearest;
        case F_TRUNC_NUMERIC_INT4:
            return Rounding::TowardZero;
        case F_CEIL_NUMERIC:
        case F_CEILING_NUMERIC:
            return Rounding::Up;
        case F_FLOOR_NUMERIC:
            return Rounding::Down;
        default:
            return Rounding::None;
    }
}

// The power of 10 is known once the number's digits are.
static CutNumber cut_number(Compiler *compiler, uint16 number, int digits) {
    const auto step = [compiler](AggregateOperation operation, uint8 width, uint16 left, uint16 right) {
        return add_step(compiler, operation, width, left, right);
    };
    const uint16 wanted = add_step(compiler, AggregateOperation::constant, 0, 0, static_cast<uint16>(digits));
    const uint16 factor = step(AggregateOperation::constant, kFactorWidth, number, wanted);
    const uint16 aligned = step(AggregateOperation::multiply, sizeof(int64), number, factor);
    const uint16 divisor = step(AggregateOperation::constant, kFactorWidth, wanted, aligned);
    return {step(AggregateOperation::divide, sizeof(int64), aligned, divisor),
            step(AggregateOperation::modulo, sizeof(int64), aligned, divisor), divisor};
}

// To so many digits behind the point.
static uint16 round_number(Compiler *compiler, uint16 number, Rounding rounding, int digits) {
    const CutNumber cut = cut_number(compiler, number, digits);
    const uint16 zero = add_plain_constant(compiler, 0);
    const auto arithmetic = [compiler](AggregateOperation operation, uint16 left, uint16 right) {
        return add_step(compiler, operation, sizeof(int64), left, right);
    };
    const auto is_less = [compiler](uint16 left, uint16 right) {
        return add_step(compiler, AggregateOperation::less, 0, left, right);
    };
    switch (rounding) {
        case Rounding::Nearest: {
            // Twice the remainder holds the divisor once if it is half of it or more.
            const uint16 twice =
                arithmetic(AggregateOperation::multiply, cut.remainder, add_plain_constant(compiler, 2));
            return arithmetic(AggregateOperation::add, cut.number,
                              arithmetic(AggregateOperation::divide, twice, cut.divisor));
        }
        case Rounding::Up:
            return arithmetic(AggregateOperation::add, cut.number, is_less(zero, cut.remainder));
        case Rounding::Down:
            return arithmetic(AggregateOperation::subtract, cut.number, is_less(cut.remainder, zero));
        default:
            return cut.number;
    }
}

static NumericSteps compile_rounded(Compiler *compiler, Expr *expression, Rounding rounding,
                                    const List *arguments) {
    int digits = 0;
    if (list_length(arguments) == 2) {
        const auto *places = static_cast<const Const *>(lsecond(arguments));
        if (!IsA(places, Const) || places->constisnull || DatumGetInt32(places->constvalue) < 0 ||
            DatumGetInt32(places->constvalue) > kMaxRoundedDigits) {
            refuse_columns(compiler, expression);
            return {0, 0};
        }
        digits = DatumGetInt32(places->constvalue);
    }
    const NumericSteps argument = compile_numeric(compiler, static_cast<Expr *>(linitial(arguments)));
    return {round_number(compiler, argument.number, rounding, digits), add_plain_constant(compiler, digits)};
}

// 0, but it fails where a truth value is false and a result is wanted.
static uint16 require_truth(Compiler *compiler, uint16 truth) {
    return add_step(compiler, AggregateOperation::divide, sizeof(int64), add_plain_constant(compiler, 0),
                    guard_divisor(compiler, truth));
}

// A cast to numeric(precision, scale).
static NumericSteps compile_declared(Compiler *compiler, Expr *expression, const List *arguments) {
    constexpr int32 scale_bits = 0x3ff;
    constexpr int32 negative_scale = 0x400;
    constexpr int precision_shift = 16;
    const auto *modifier = static_cast<const Const *>(lsecond(arguments));
    const int32 declared =
        !IsA(modifier, Const) || modifier->constisnull ? -1 : DatumGetInt32(modifier->constvalue);
    if (declared < VARHDRSZ || ((declared - VARHDRSZ) & negative_scale) != 0 ||
        ((declared - VARHDRSZ) & scale_bits) > kMaxRoundedDigits) {
        refuse_columns(compiler, expression);
        return {0, 0};
    }
    const int scale = (declared - VARHDRSZ) & scale_bits;
    const int precision = (declared - VARHDRSZ) >> precision_shift;
    const NumericSteps argument = compile_numeric(compiler, static_cast<Expr *>(linitial(arguments)));
    uint16 number = round_number(compiler, argument.number, Rounding::Nearest, scale);
    // More digits than 64 bits have room for are never too many.
    if (precision <= kMaxRoundedDigits) {
        int64 limit = 1;
        for (int i = 0; i < precision; i++)
            limit *= 10;
        const uint16 negative = add_step(compiler, AggregateOperation::multiply, sizeof(int64), number,
                                         add_plain_constant(compiler, -1));
        const uint16 fits = add_step(compiler, AggregateOperation::less, 0,
                                     add_step(compiler, AggregateOperation::greater, 0, number, negative),
                                     add_plain_constant(compiler, limit));
        number =
            add_step(compiler, AggregateOperation::add, sizeof(int64), number, require_truth(compiler, fits));
    }
    return {number, add_plain_constant(compiler, scale)};
}

// ---- time that passes -------------------------------------------------------------------------------------

static bool is_epoch(const Expr *field) {
    const auto *word = reinterpret_cast<const Const *>(field);
    if (!IsA(field, Const) || word->constisnull)
        return false;
    char *given = TextDatumGetCString(word->constvalue);
    const bool is = pg_strcasecmp(given, "epoch") == 0;
    pfree(given);
    return is;
}

// Of extract(epoch FROM a - b) the two timestamps; false: it is something else.
static bool read_seconds_between(Oid function, const List *arguments, List **timestamps) {
    Oid difference = InvalidOid;
    return function == F_EXTRACT_TEXT_INTERVAL && is_epoch(static_cast<Expr *>(linitial(arguments))) &&
           read_call(static_cast<Expr *>(lsecond(arguments)), &difference, timestamps) &&
           (difference == F_TIMESTAMP_MI || difference == F_TIMESTAMPTZ_MI);
}

// Microseconds, six digits of which are behind the point. Infinite timestamps overflow when they are doubled,
// as they must: there is no time between them that all versions agree about.
static NumericSteps compile_seconds_between(Compiler *compiler, const List *timestamps) {
    constexpr uint16 digits = 6;
    const auto step = [compiler](AggregateOperation operation, uint16 left, uint16 right) {
        return add_step(compiler, operation, sizeof(int64), left, right);
    };
    const auto doubled = [&](void *timestamp) {
        const uint16 number = compile_number(compiler, static_cast<Expr *>(timestamp));
        return step(AggregateOperation::add, number, number);
    };
    const uint16 twice =
        step(AggregateOperation::subtract, doubled(linitial(timestamps)), doubled(lsecond(timestamps)));
    const uint16 microseconds = step(AggregateOperation::divide, twice, add_plain_constant(compiler, 2));
    const uint16 millionth = add_step(compiler, AggregateOperation::constant, 0, 0, digits, 1);
    return {step(AggregateOperation::multiply, microseconds, millionth),
            add_plain_constant(compiler, digits)};
}

static NumericSteps compile_sign(Compiler *compiler, const List *arguments) {
    const uint16 number = compile_numeric(compiler, static_cast<Expr *>(linitial(arguments))).number;
    const uint16 zero = add_plain_constant(compiler, 0);
    return {add_step(compiler, AggregateOperation::subtract, sizeof(int64),
                     add_step(compiler, AggregateOperation::less, 0, zero, number),
                     add_step(compiler, AggregateOperation::less, 0, number, zero)),
            zero};
}

bool is_cast_of_numeric(Oid function) {
    return function == F_INT2_NUMERIC || function == F_INT4_NUMERIC || function == F_INT8_NUMERIC;
}

uint16 compile_integer_of_numeric(Compiler *compiler, Oid function, Expr *argument) {
    const uint16 rounded =
        round_number(compiler, compile_numeric(compiler, argument).number, Rounding::Nearest, 0);
    const uint8 width = function == F_INT2_NUMERIC   ? sizeof(int16)
                        : function == F_INT4_NUMERIC ? sizeof(int32)
                                                     : sizeof(int64);
    // What doesn't fit fails as the cast does.
    return width == sizeof(int64)
               ? rounded
               : add_step(compiler, AggregateOperation::add, width, rounded, add_plain_constant(compiler, 0));
}

// ---- choices ----------------------------------------------------------------------------------------------

// The first one where it isn't NULL, and the other one where it is.
static NumericSteps take_first(Compiler *compiler, NumericSteps first, NumericSteps other) {
    const uint16 scale = scale_of_numbers(compiler, first);
    align_numerics(compiler, &first.number, &other.number);
    return {add_step(compiler, AggregateOperation::or_else, 0, first.number, other.number),
            add_step(compiler, AggregateOperation::or_else, 0, scale, other.scale)};
}

static NumericSteps compile_numeric_case(Compiler *compiler, const CaseExpr *expression) {
    auto *choices = allocate<Choice>(static_cast<size_t>(max_choices(expression)));
    const int count = list_choices(compiler, expression, choices);
    NumericSteps all = {0, 0};
    for (int i = 0; i < count && !is_refused(compiler); i++) {
        const Branch branch = begin_branch(compiler, choices[i].where);
        NumericSteps chosen = compile_numeric(compiler, choices[i].result);
        end_branch(branch);
        chosen.number =
            add_step(compiler, AggregateOperation::only_where, 0, choices[i].where, chosen.number);
        all = i == 0 ? chosen : take_first(compiler, all, chosen);
    }
    if (count > 0)
        return all;
    const uint16 null = add_step(compiler, AggregateOperation::null, 0, 0, 0);
    return {null, null};
}

static NumericSteps compile_numeric_coalesce(Compiler *compiler, const CoalesceExpr *expression) {
    NumericSteps all = compile_numeric(compiler, static_cast<Expr *>(linitial(expression->args)));
    for (int i = 1; i < list_length(expression->args) && !is_refused(compiler); i++) {
        const Branch branch = begin_branch(compiler, gpu_engine::no_aggregate_step);
        const NumericSteps other =
            compile_numeric(compiler, static_cast<Expr *>(list_nth(expression->args, i)));
        end_branch(branch);
        all = take_first(compiler, all, other);
    }
    return all;
}

// GREATEST and LEAST pass over NULLs. Of equal numbers the first one is taken, whose scale is shown.
static NumericSteps compile_numeric_greatest(Compiler *compiler, const MinMaxExpr *expression) {
    const auto step = [compiler](AggregateOperation operation, uint16 left, uint16 right) {
        return add_step(compiler, operation, 0, left, right);
    };
    const auto first_of = [step](uint16 where, uint16 other, uint16 first) {
        return step(AggregateOperation::or_else, step(AggregateOperation::only_where, where, other), first);
    };
    NumericSteps all = compile_numeric(compiler, static_cast<Expr *>(linitial(expression->args)));
    for (int i = 1; i < list_length(expression->args) && !is_refused(compiler); i++) {
        NumericSteps next = compile_numeric(compiler, static_cast<Expr *>(list_nth(expression->args, i)));
        align_numerics(compiler, &all.number, &next.number);
        const uint16 is_better = expression->op == IS_GREATEST
                                     ? step(AggregateOperation::less, all.number, next.number)
                                     : step(AggregateOperation::less, next.number, all.number);
        const uint16 takes_next =
            step(AggregateOperation::logical_or, step(AggregateOperation::is_true, is_better, 0),
                 step(AggregateOperation::is_null, all.number, 0));
        all = {first_of(takes_next, next.number, all.number),
               first_of(takes_next, scale_of_numbers(compiler, next), all.scale)};
    }
    return all;
}

static NumericSteps compile_numeric_null_if(Compiler *compiler, NullIfExpr *expression) {
    const uint16 is_equal = add_step(compiler, AggregateOperation::is_true, 0,
                                     compile_numeric_comparison(compiler, expression), 0);
    const NumericSteps first = compile_numeric(compiler, static_cast<Expr *>(linitial(expression->args)));
    return {add_step(compiler, AggregateOperation::only_where, 0, negate(compiler, is_equal), first.number),
            first.scale};
}

// ---- expressions ------------------------------------------------------------------------------------------

static bool is_cast_of_integer(Oid function) {
    return function == F_NUMERIC_INT2 || function == F_NUMERIC_INT4 || function == F_NUMERIC_INT8;
}

// Arithmetic of numerics might fail for very many digits, so that it would be evaluated for visible rows'
// codes only. What is computed row by row needs no such care.
static NumericSteps compile_numeric_anew(Compiler *compiler, Expr *expression) {
    if (!contain_var_clause(reinterpret_cast<Node *>(expression)))
        return compile_numeric_constant(compiler, expression);
    Oid function = InvalidOid;
    List *arguments = NIL;
    read_call(expression, &function, &arguments);
    if (is_cast_of_integer(function))
        return {compile_number(compiler, static_cast<Expr *>(linitial(arguments))),
                add_plain_constant(compiler, 0)};
    const bool by_codes = IsA(expression, Var) || has_codes(*compiler, expression);
    if (by_codes && !may_fail(expression))
        return compile_numeric_input(compiler, expression);
    if (is_arithmetic(function))
        return compile_numeric_arithmetic(compiler, function, arguments);
    if (function == F_NUMERIC_MOD || function == F_MOD_NUMERIC_NUMERIC)
        return compile_numeric_remainder(compiler, arguments);
    List *timestamps = NIL;
    if (read_seconds_between(function, arguments, &timestamps))
        return compile_seconds_between(compiler, timestamps);
    if (function == F_NUMERIC_NUMERIC_INT4)
        return compile_declared(compiler, expression, arguments);
    if (function == F_SIGN_NUMERIC)
        return compile_sign(compiler, arguments);
    if (const Rounding rounding = rounding_of(function); rounding != Rounding::None)
        return compile_rounded(compiler, expression, rounding, arguments);
    switch (nodeTag(expression)) {
        case T_CaseExpr:
            return compile_numeric_case(compiler, reinterpret_cast<CaseExpr *>(expression));
        case T_CoalesceExpr:
            return compile_numeric_coalesce(compiler, reinterpret_cast<CoalesceExpr *>(expression));
        case T_MinMaxExpr:
            return compile_numeric_greatest(compiler, reinterpret_cast<MinMaxExpr *>(expression));
        case T_NullIfExpr:
            if (is_comparison_of_numerics(reinterpret_cast<NullIfExpr *>(expression)))
                return compile_numeric_null_if(compiler, reinterpret_cast<NullIfExpr *>(expression));
            refuse_columns(compiler, expression);
            return {0, 0};
        case T_RelabelType:
            return compile_numeric(compiler, reinterpret_cast<RelabelType *>(expression)->arg);
        default:
            if (by_codes)
                return compile_numeric_input(compiler, expression);
            refuse_columns(compiler, expression);
            return {0, 0};
    }
}

NumericSteps compile_numeric(Compiler *compiler, Expr *expression) {
    return compile_once(compiler, StepForm::Numeric, expression, compile_numeric_anew);
}

// ---- comparisons ------------------------------------------------------------------------------------------

bool is_comparison_of_numerics(const OpExpr *comparison) {
    switch (get_opcode(comparison->opno)) {
        case F_NUMERIC_LT:
        case F_NUMERIC_LE:
        case F_NUMERIC_EQ:
        case F_NUMERIC_NE:
        case F_NUMERIC_GE:
        case F_NUMERIC_GT:
            return true;
        default:
            return false;
    }
}

// One with a constant rounds that to the digits of the other operand: an average, say, has many more.
static uint16 compare_numerics(Compiler *compiler, AggregateOperation operation, Expr *left, Expr *right) {
    const auto step = [compiler](AggregateOperation made, uint16 a, uint16 b) {
        return add_step(compiler, made, 0, a, b);
    };
    const bool of_left = !contain_var_clause(reinterpret_cast<Node *>(left));
    const bool of_right = !contain_var_clause(reinterpret_cast<Node *>(right));
    if (of_left == of_right) {
        uint16 a = compile_numeric(compiler, left).number;
        uint16 b = compile_numeric(compiler, right).number;
        align_numerics(compiler, &a, &b);
        return step(operation, a, b);
    }
    const uint16 other = compile_numeric(compiler, of_left ? right : left).number;
    const auto rounded = [&](uint8 width) {
        const uint16 constant =
            compile_cut_constant(compiler, of_left ? left : right, width == kCeilingWidth);
        return add_step(compiler, AggregateOperation::constant, width, constant, other);
    };
    const bool is_less = operation == AggregateOperation::less;
    if (operation == AggregateOperation::equal)
        return step(AggregateOperation::logical_and,
                    step(AggregateOperation::less_or_equal, rounded(kCeilingWidth), other),
                    step(AggregateOperation::less_or_equal, other, rounded(kFloorWidth)));
    return of_right ? step(operation, other, rounded(is_less ? kCeilingWidth : kFloorWidth))
                    : step(operation, rounded(is_less ? kFloorWidth : kCeilingWidth), other);
}

uint16 compile_numeric_comparison(Compiler *compiler, OpExpr *comparison) {
    auto *left = static_cast<Expr *>(linitial(comparison->args));
    auto *right = static_cast<Expr *>(lsecond(comparison->args));
    switch (get_opcode(comparison->opno)) {
        case F_NUMERIC_LT:
            return compare_numerics(compiler, AggregateOperation::less, left, right);
        case F_NUMERIC_LE:
            return compare_numerics(compiler, AggregateOperation::less_or_equal, left, right);
        case F_NUMERIC_GE:
            return compare_numerics(compiler, AggregateOperation::less_or_equal, right, left);
        case F_NUMERIC_GT:
            return compare_numerics(compiler, AggregateOperation::less, right, left);
        case F_NUMERIC_EQ:
            return compare_numerics(compiler, AggregateOperation::equal, left, right);
        default:
            return negate(compiler, compare_numerics(compiler, AggregateOperation::equal, left, right));
    }
}

}  // namespace pg_gpu::plan
