// Arithmetic and casts of numbers. Decimals are integers without their points, and show as many digits as
// PostgreSQL's numerics would.
#include <cfloat>

#include "plan/query/numbers.h"

namespace pg_gpu::plan::query {

// ---- scales -----------------------------------------------------------------------------------------------

static constexpr int kMaxDigits = 38;
// How many digits quotients have that lie in a decimal.
static constexpr int kQuotientScale = 24;

static Int128 power_of_10(int power) {
    Int128 number = 1;
    column::multiply_by_power(&number, power);
    return number;
}

Value widen_to(Compiler *compiler, Value value, ValueType type) {
    if (value.type == type)
        return value;
    engine::Step step =
        make_step(type == ValueType::int128 ? Operation::widen : Operation::narrow, type, value.step);
    value.step = add_guarded(compiler, step, type == ValueType::int64 && value.limit >= kMaxInt64);
    value.type = type;
    return value;
}

Value operate(Compiler *compiler, Operation operation, Value one, Value other, double limit, bool may_fail) {
    const ValueType type =
        limit >= kMaxInt64 || one.type == ValueType::int128 || other.type == ValueType::int128
            ? ValueType::int128
            : ValueType::int64;
    one = widen_to(compiler, one, type);
    other = widen_to(compiler, other, type);
    engine::Step step = make_step(operation, type, one.step, other.step);
    step.width = type == ValueType::int128 ? 16 : 8;
    may_fail = may_fail || limit >= kMaxInt128;
    return make_value(add_guarded(compiler, step, may_fail), Kind::Decimal, type, Min(limit, kMaxInt128));
}

Value decimal_of(Compiler *compiler, Int128 value) {
    const auto limit = std::fabs(static_cast<double>(value));
    const ValueType type = limit >= kMaxInt64 ? ValueType::int128 : ValueType::int64;
    return make_value(constant_step(compiler->program, value, type), Kind::Decimal, type, limit);
}

void show_as(Value *value, const Value &other) {
    value->shown = other.shown;
    value->shown_step = other.shown_step;
}

Value rescale(Compiler *compiler, Value value, int scale) {
    if (value.scale == scale)
        return value;
    if (value.is_null) {
        value.scale = static_cast<int16>(scale);
        return value;
    }
    const int more = scale - value.scale;
    if (more > kMaxDigits || (value.kind == Kind::Extended && value.unit + more >= kMaxDigits))
        return refuse_value(compiler, "numerics have too many digits");
    const Value factor = decimal_of(compiler, power_of_10(more));
    Value scaled = operate(compiler, Operation::multiply, value, factor, value.limit * factor.limit);
    scaled.scale = static_cast<int16>(scale);
    show_as(&scaled, value);
    if (value.kind == Kind::Extended) {
        scaled.kind = value.kind;
        scaled.unit = static_cast<int16>(value.unit + more);
    }
    return scaled;
}

Value as_decimal(Value integer) {
    integer.kind = Kind::Decimal;
    integer.scale = integer.shown = 0;
    return integer;
}

// How many digits are shown of a result that shows what its operands together do: the most, or all.
static void combine_shown(Compiler *compiler, Operation operation, const Value &one, const Value &other,
                          Value *result) {
    if (one.shown != kShownByRow && other.shown != kShownByRow) {
        result->shown = operation == Operation::add ? static_cast<int16>(one.shown + other.shown)
                                                    : Max(one.shown, other.shown);
        return;
    }
    result->shown = kShownByRow;
    result->shown_step = add_step(
        compiler->program,
        make_step(operation, ValueType::int64, shown_step_of(compiler, one), shown_step_of(compiler, other)));
}

Value multiply_decimals(Compiler *compiler, const Value &one, const Value &other) {
    if (one.scale + other.scale > kMaxDigits)
        return refuse_value(compiler, "numerics have too many digits");
    Value product = operate(compiler, Operation::multiply, one, other, one.limit * other.limit);
    product.scale = static_cast<int16>(one.scale + other.scale);
    combine_shown(compiler, Operation::add, one, other, &product);
    return product;
}

Value append_shown(Compiler *compiler, const Value &value, bool is_turned) {
    Value shown = make_value(shown_step_of(compiler, value), Kind::Integer, ValueType::int64, kMaxShown);
    if (is_turned)
        shown = operate(compiler, Operation::subtract, decimal_of(compiler, kMaxShown), shown, kMaxShown);
    const Value moved = operate(compiler, Operation::multiply, value, decimal_of(compiler, kMaxShown + 1),
                                value.limit * (kMaxShown + 1));
    return operate(compiler, Operation::add, moved, shown, moved.limit + kMaxShown);
}

// Of a constant that isn't 0 it is known that dividing by it doesn't fail.
static bool may_be_zero(const Compiler *compiler, const Value &value) {
    const engine::Step &step = compiler->program->steps[value.step];
    if (step.operation != Operation::constant)
        return true;
    const engine::Constant &constant = compiler->program->constants[step.left];
    return constant.low == 0 && constant.high == 0;
}

Value divide_decimals(Compiler *compiler, Value one, Value other) {
    const uint32 scales = static_cast<uint32>(one.scale) | static_cast<uint32>(other.scale) << 8 |
                          static_cast<uint32>(kQuotientScale) << 16;
    one = widen_to(compiler, one, ValueType::int128);
    other = widen_to(compiler, other, ValueType::int128);
    engine::Step digits = make_step(Operation::quotient_digits, ValueType::int64, one.step, other.step);
    digits.detail = scales;
    uint16 shown = add_guarded(compiler, digits, true);
    for (const Value *operand : {&one, &other})
        shown = add_step(compiler->program, make_step(Operation::greater, ValueType::int64, shown,
                                                      shown_step_of(compiler, *operand)));
    engine::Step step = make_step(Operation::quotient, ValueType::int128, one.step, other.step, shown);
    step.width = 16;
    step.detail = scales;
    // No divisor is less than the least that its scale has.
    const double limit = one.limit * std::pow(10.0, kQuotientScale + other.scale - one.scale) + 1;
    Value quotient = make_value(add_guarded(compiler, step, true), Kind::Decimal, ValueType::int128,
                                Min(limit, kMaxInt128));
    quotient.scale = kQuotientScale;
    quotient.shown = kShownByRow;
    quotient.shown_step = shown;
    return quotient;
}

Value compute_decimal(Compiler *compiler, Operation operation, const Value &one, const Value &other) {
    if (operation == Operation::multiply)
        return multiply_decimals(compiler, one, other);
    if (operation == Operation::divide)
        return divide_decimals(compiler, one, other);
    const int scale = Max(one.scale, other.scale);
    const Value left = rescale(compiler, one, scale);
    const Value right = rescale(compiler, other, scale);
    if (is_refused(compiler))
        return {};
    const bool is_remainder = operation == Operation::modulo;
    Value result = operate(compiler, operation, left, right,
                           is_remainder ? Max(left.limit, right.limit) : left.limit + right.limit,
                           is_remainder && may_be_zero(compiler, right));
    result.scale = static_cast<int16>(scale);
    combine_shown(compiler, Operation::greater, one, other, &result);
    return result;
}

// ---- integers and floats ----------------------------------------------------------------------------------

static double max_of_width(int width) {
    return width == 2 ? 32767.0 : width == 4 ? 2147483647.0 : kMaxInt64;
}

static Value compute_integer(Compiler *compiler, Operation operation, const Value &one, const Value &other,
                             uint8 width) {
    const double most = max_of_width(width);
    double limit = one.limit + other.limit;
    bool may_fail = false;
    if (operation == Operation::multiply)
        limit = one.limit * other.limit;
    if (operation == Operation::divide || operation == Operation::modulo) {
        const bool has_divisor = !may_be_zero(compiler, other);
        limit = operation == Operation::modulo ? Min(one.limit, other.limit)
                : has_divisor                  ? one.limit / other.limit
                                               : one.limit;
        // The least integer has no opposite.
        may_fail = !has_divisor || one.limit >= most;
    }
    engine::Step step = make_step(operation, ValueType::int64, one.step, other.step);
    step.width = width;
    Value value = make_value(add_guarded(compiler, step, may_fail || limit > most), Kind::Integer,
                             ValueType::int64, Min(limit, most + 1));
    value.width = width;
    return value;
}

Value compute_float(Compiler *compiler, Operation operation, const Value &one, uint16 other, uint8 width,
                    bool may_fail) {
    engine::Step step = make_step(operation, ValueType::float64, one.step, other);
    step.width = width;
    Value value = make_value(add_guarded(compiler, step, may_fail), Kind::Float, ValueType::float64);
    value.width = width;
    // A sum is one of zeros that are negative.
    value.may_be_minus_0 =
        operation == Operation::add || operation == Operation::subtract || operation == Operation::floor
            ? one.may_be_minus_0
            : operation != Operation::absolute && operation != Operation::sign;
    return value;
}

Value compute(Compiler *compiler, Operation operation, const Value &one, const Value &other, Oid result) {
    if (is_numeric(one) && is_numeric(other) && one.kind != other.kind)
        return compute_special(compiler, operation, one, other);
    if (one.kind != other.kind)
        return refuse_value(compiler, "numbers of different kinds are computed with");
    switch (one.kind) {
        case Kind::Extended:
            return compute_special(compiler, operation, one, other);
        case Kind::Integer:
            return compute_integer(compiler, operation, one, other, width_of_type(result));
        case Kind::Float:
            return compute_float(compiler, operation, one, other.step, width_of_type(result), true);
        case Kind::Decimal:
            return compute_decimal(compiler, operation, one, other);
        default:
            return refuse_value(compiler, "something is computed with that isn't a number");
    }
}

// Of one operand, with a result of its kind.
Value compute_one(Compiler *compiler, Operation operation, const Value &one) {
    if (one.kind == Kind::Float)
        return compute_float(compiler, operation, one, no_step, one.width, false);
    if (one.kind == Kind::Extended)
        return change_special(compiler, operation, one,
                              compute_one(compiler, operation, finite_part(compiler, one)));
    if (one.kind != Kind::Integer && one.kind != Kind::Decimal)
        return refuse_value(compiler, "something is computed with that isn't a number");
    engine::Step step = make_step(operation, one.type, one.step);
    step.width = one.kind == Kind::Integer ? one.width : one.type == ValueType::int128 ? 16 : 8;
    const bool may_fail = one.kind == Kind::Integer && one.limit > max_of_width(one.width);
    Value value = one;
    value.real = no_step;
    value.step = add_guarded(compiler, step, may_fail);
    if (operation == Operation::sign) {
        value.scale = value.shown = 0;
        value.limit = 1;
    }
    return value;
}

Value compute_bits(Compiler *compiler, Operation operation, const Value &one, uint16 other) {
    if (one.kind != Kind::Integer)
        return refuse_value(compiler, "bits of something else than integers are computed with");
    engine::Step step = make_step(operation, ValueType::int64, one.step, other);
    step.width = one.width;
    Value value = one;
    value.limit = max_of_width(one.width) + 1;
    value.step = add_step(compiler->program, step);
    return value;
}

// ---- digits that are left out -----------------------------------------------------------------------------

// A decimal of so many digits behind the point, and of no more than so many in all.
static Value decimal_of_real(Compiler *compiler, uint16 real, uint8 real_digits, int scale, int digits,
                             bool is_exact) {
    constexpr int narrow_digits = 18;
    engine::Step step = make_step(Operation::float_to_decimal, ValueType::int128, real);
    step.width = 16;
    step.detail = static_cast<uint32>(scale) | static_cast<uint32>(real_digits) << 8 |
                  static_cast<uint32>(digits) << 16 | (is_exact ? uint32{1} << 24 : 0);
    Value decimal = make_value(add_guarded(compiler, step, true), Kind::Decimal, ValueType::int128,
                               Min(std::pow(10.0, digits), kMaxInt128));
    decimal.scale = decimal.shown = static_cast<int16>(scale);
    return digits <= narrow_digits ? widen_to(compiler, decimal, ValueType::int64) : decimal;
}

// All digits that PostgreSQL has of a float, where there is room for them.
static Value decimal_of_float(Compiler *compiler, const Value &value) {
    const auto digits = static_cast<uint8>(value.width == 4 ? FLT_DIG : DBL_DIG);
    Value decimal = decimal_of_real(compiler, value.step, digits, kQuotientScale, kMaxDigits, true);
    engine::Step shown = make_step(Operation::float_scale, ValueType::int64, value.step);
    shown.detail = static_cast<uint32>(digits) << 8;
    decimal.shown = kShownByRow;
    decimal.shown_step = add_guarded(compiler, shown, true);
    decimal.real = value.step;
    decimal.real_digits = digits;
    return decimal;
}

// Leaves so many digits behind the point, which may be less than none, and shows as many.
static Value cut_digits(Compiler *compiler, Operation operation, Value value, int digits) {
    if (value.real != no_step && operation == Operation::divide_round && digits >= 0 && digits < value.scale)
        return decimal_of_real(compiler, value.real, value.real_digits, digits, kMaxDigits, false);
    value.real = no_step;
    const int shown = Max(digits, 0);
    const int less = value.scale - digits;
    if (less > kMaxDigits || -less > kMaxDigits)
        return refuse_value(compiler, "numerics have too many digits");
    if (less > 0) {
        const Value divisor = decimal_of(compiler, power_of_10(less));
        value = operate(compiler, operation, value, divisor, value.limit / divisor.limit + 1);
        value.scale = static_cast<int16>(digits);
        if (digits < 0) {
            const Value factor = decimal_of(compiler, power_of_10(-digits));
            value = operate(compiler, Operation::multiply, value, factor, value.limit * factor.limit);
            value.scale = 0;
        }
    }
    value.shown = static_cast<int16>(shown);
    return value;
}

static bool read_digits(const List *arguments, int *digits) {
    if (list_length(arguments) == 1) {
        *digits = 0;
        return true;
    }
    const auto *node = static_cast<const Node *>(lsecond(arguments));
    if (!IsA(node, Const) || reinterpret_cast<const Const *>(node)->constisnull)
        return false;
    *digits = DatumGetInt32(reinterpret_cast<const Const *>(node)->constvalue);
    return true;
}

Value compile_cut(Compiler *compiler, Operation of_decimals, Operation of_floats, const List *arguments) {
    int digits;
    const Value value = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    if (is_refused(compiler))
        return {};
    if (value.kind == Kind::Float)
        return compute_float(compiler, of_floats, value, no_step, value.width, false);
    if (!is_numeric(value) || !read_digits(arguments, &digits))
        return refuse_value(compiler, "how many digits are left isn't a constant");
    if (value.kind == Kind::Extended)
        return change_special(compiler, of_decimals, value,
                              cut_digits(compiler, of_decimals, finite_part(compiler, value), digits));
    return cut_digits(compiler, of_decimals, value, digits);
}

// numeric(precision, scale)
static Value cut_to_typmod(Compiler *compiler, const Value &value, int typmod) {
    int precision;
    int scale;
    read_numeric_typmod(typmod, &precision, &scale);
    if (scale < 0)
        return refuse_value(compiler, "a numeric's scale is negative");
    if (value.real != no_step && scale < value.scale && precision <= kMaxDigits)
        return decimal_of_real(compiler, value.real, value.real_digits, scale, precision, false);
    const Value cut = cut_digits(compiler, Operation::divide_round, value, scale);
    // The planner doesn't know the numbers of dictionaries.
    if (!is_refused(compiler) && compiler->context != nullptr &&
        cut.limit >= std::pow(10.0, precision - scale + cut.scale) * (1 - 1e-9))
        return refuse_value(compiler, "a numeric may have more digits than it is cast to");
    return cut;
}

Value compile_typmod(Compiler *compiler, const List *arguments) {
    int typmod;
    const Value value = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    if (is_refused(compiler))
        return {};
    if (!is_numeric(value) || !read_digits(arguments, &typmod))
        return refuse_value(compiler, "how many digits are left isn't a constant");
    if (typmod < static_cast<int>(VARHDRSZ))
        return value;
    return value.kind == Kind::Extended
               ? change_special(compiler, Operation::narrow, value,
                                cut_to_typmod(compiler, finite_part(compiler, value), typmod))
               : cut_to_typmod(compiler, value, typmod);
}

// ---- casts ------------------------------------------------------------------------------------------------

static Value cast_to_integer(Compiler *compiler, Value value, Oid result) {
    const uint8 width = width_of_type(result);
    const double most = max_of_width(width);
    if (value.kind == Kind::Boolean)
        value.limit = 1;
    if (value.kind == Kind::Decimal)
        value = cut_digits(compiler, Operation::divide_round, value, 0);
    if (is_refused(compiler))
        return {};
    if (value.kind == Kind::Group)
        return refuse_value(compiler, "something is computed with that isn't a number");
    const bool is_float = value.kind == Kind::Float;
    if (is_float || value.type != ValueType::int64 || value.limit > most) {
        engine::Step step = make_step(is_float ? Operation::float_to_integer : Operation::narrow,
                                      ValueType::int64, value.step);
        step.width = width;
        value.step = add_guarded(compiler, step, is_float || value.limit > most);
    }
    Value integer = make_value(value.step, Kind::Integer, ValueType::int64,
                               is_float ? most + 1 : Min(value.limit, most + 1));
    integer.width = width;
    integer.is_null = value.is_null;
    return integer;
}

static Value cast_to_float(Compiler *compiler, const Value &value, Oid result) {
    const uint8 width = width_of_type(result);
    if (value.kind == Kind::Float && value.width <= width) {
        Value same = value;
        same.width = width;
        return same;
    }
    engine::Step step = make_step(value.kind == Kind::Float ? Operation::float_to_float : Operation::to_float,
                                  ValueType::float64, value.step);
    step.width = width;
    step.detail = value.kind == Kind::Decimal ? static_cast<uint32>(value.scale) : 0;
    Value real = make_value(add_guarded(compiler, step, true), Kind::Float, ValueType::float64);
    real.width = width;
    real.is_null = value.is_null;
    real.may_be_minus_0 = value.may_be_minus_0;
    return real;
}

Value cast_number(Compiler *compiler, const Value &value, Oid result) {
    if (value.kind == Kind::Extended)
        return kind_of_type(result) == Kind::Float
                   ? float_of_special(compiler, value,
                                      cast_to_float(compiler, finite_part(compiler, value), result))
                   : cast_number(compiler, require_finite(compiler, value), result);
    if (value.kind == Kind::Group || value.kind == Kind::Date || value.kind == Kind::Timestamp ||
        value.kind == Kind::Interval)
        return refuse_value(compiler, "something is computed with that isn't a number");
    switch (kind_of_type(result)) {
        case Kind::Integer:
            return cast_to_integer(compiler, value, result);
        case Kind::Float:
            return value.kind == Kind::Boolean
                       ? refuse_value(compiler, "something is computed with that isn't a number")
                       : cast_to_float(compiler, value, result);
        case Kind::Decimal:
            return value.kind == Kind::Integer ? as_decimal(value)
                   : value.kind == Kind::Float
                       ? decimal_of_float(compiler, value)
                       : refuse_value(compiler, "something is computed with that isn't a number");
        case Kind::Boolean:
            return make_value(
                add_step(compiler->program, make_step(Operation::to_boolean, ValueType::boolean, value.step)),
                Kind::Boolean, ValueType::boolean);
        default:
            return refuse_value(compiler, "a number becomes something else");
    }
}

}  // namespace pg_gpu::plan::query
