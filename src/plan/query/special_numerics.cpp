// Numerics that may be NaN or infinite. Such a value is one number, so that comparisons, groups and orders
// are those of integers: infinity is a power of ten above all finite numbers, and NaN is twice that. What is
// computed with is taken apart first: the finite number, and which special one there is instead.
#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

static constexpr int kMaxUnit = 37;

// ---- steps ------------------------------------------------------------------------------------------------

static uint16 small_step(Compiler *compiler, Operation operation, uint16 one, uint16 other = no_step) {
    return add_step(compiler->program, make_step(operation, ValueType::int64, one, other));
}

static uint16 small_constant(Compiler *compiler, int64 number) {
    return constant_step(compiler->program, number, ValueType::int64);
}

static uint16 choose_small(Compiler *compiler, uint16 condition, uint16 one, uint16 other) {
    return add_step(compiler->program, make_step(Operation::choose, ValueType::int64, condition, one, other));
}

static uint16 is_small(Compiler *compiler, uint16 step, int64 number) {
    return logic(compiler, Operation::equal, step, small_constant(compiler, number));
}

static uint16 either(Compiler *compiler, uint16 one, uint16 other) {
    return logic(compiler, Operation::logical_or, one, other);
}

static uint16 negate_special(Compiler *compiler, uint16 special) {
    return choose_small(compiler, is_small(compiler, special, column::kNaN), special,
                        small_step(compiler, Operation::negate, special));
}

// NULL where one of the two is.
static uint16 or_null(Compiler *compiler, uint16 one, uint16 other, uint16 step) {
    const uint16 is_missing = either(compiler, logic(compiler, Operation::is_null, one),
                                     logic(compiler, Operation::is_null, other));
    const uint16 null = add_step(compiler->program, make_step(Operation::null, ValueType::int64));
    return choose_small(compiler, is_missing, null, step);
}

// A number that isn't 0 is the sign of an infinity, if it may be one.
static uint16 fail_where(Compiler *compiler, uint16 condition, uint16 step) {
    const uint16 divisor =
        choose_small(compiler, condition, small_constant(compiler, 0), small_constant(compiler, 1));
    return add_guarded(compiler, make_step(Operation::divide, ValueType::int64, step, divisor), true);
}

// ---- one number and two -----------------------------------------------------------------------------------

int16 unit_above(double limit) {
    int16 unit = 1;
    // With a margin for what doubles can't tell.
    while (unit <= kMaxUnit && std::pow(10.0, unit) <= limit * (1 + 1e-9))
        unit++;
    return unit;
}

static Int128 power_of_10(int power) {
    Int128 number = 1;
    column::multiply_by_power(&number, power);
    return number;
}

double limit_of_unit(int16 unit) {
    return 2 * std::pow(10.0, unit);
}

static Value as_extended(Compiler *compiler, Value value, int16 unit) {
    if (unit > kMaxUnit)
        return refuse_value(compiler, "numerics have too many digits");
    value.limit = limit_of_unit(unit);
    if (value.limit >= kMaxInt64)
        value = widen_to(compiler, value, ValueType::int128);
    value.kind = Kind::Extended;
    value.unit = unit;
    value.real = no_step;
    return value;
}

Value value_of_special(Compiler *compiler, int special) {
    constexpr int16 unit = 1;
    return as_extended(compiler, decimal_of(compiler, special * power_of_10(unit)), unit);
}

uint16 special_part(Compiler *compiler, const Value &value) {
    if (value.kind == Kind::Decimal)
        return or_null(compiler, value.step, value.step, small_constant(compiler, 0));
    const Value special = operate(compiler, Operation::divide, value,
                                  decimal_of(compiler, power_of_10(value.unit)), column::kNaN);
    return widen_to(compiler, special, ValueType::int64).step;
}

Value finite_part(Compiler *compiler, const Value &value) {
    if (value.kind == Kind::Decimal)
        return value;
    Value finite = operate(compiler, Operation::modulo, value, decimal_of(compiler, power_of_10(value.unit)),
                           std::pow(10.0, value.unit));
    finite.scale = value.scale;
    show_as(&finite, value);
    return finite;
}

Value require_finite(Compiler *compiler, const Value &value) {
    if (value.kind != Kind::Extended)
        return value;
    Value finite = finite_part(compiler, value);
    const uint16 special = special_part(compiler, value);
    const uint16 is_special = logic(compiler, Operation::logical_not, is_small(compiler, special, 0));
    const uint16 nothing = fail_where(compiler, is_special, special);
    const Value added = operate(compiler, Operation::add, finite,
                                make_value(nothing, Kind::Decimal, ValueType::int64), finite.limit);
    finite.step = added.step;
    finite.type = added.type;
    return finite;
}

// The number where the step is true, and the special one elsewhere. A unit may be known that is above all
// numbers.
static Value compose_special(Compiler *compiler, Value number, uint16 is_number, uint16 special,
                             int16 known_unit = kMaxUnit + 1) {
    if (is_refused(compiler))
        return {};
    const int16 unit = Min(unit_above(number.limit), known_unit);
    if (unit > kMaxUnit)
        return refuse_value(compiler, "numerics have too many digits");
    const Value zero = widen_to(compiler, decimal_of(compiler, 0), number.type);
    number.step = add_step(compiler->program,
                           make_step(Operation::choose, number.type, is_number, number.step, zero.step));
    if (number.shown == kShownByRow)
        number.shown_step = choose_small(compiler, is_number, number.shown_step, small_constant(compiler, 0));
    const Value units = operate(compiler, Operation::multiply,
                                make_value(special, Kind::Decimal, ValueType::int64, column::kNaN),
                                decimal_of(compiler, power_of_10(unit)), limit_of_unit(unit));
    Value whole = operate(compiler, Operation::add, number, units, limit_of_unit(unit));
    whole.scale = number.scale;
    show_as(&whole, number);
    return as_extended(compiler, whole, unit);
}

Value extend(Compiler *compiler, const Value &value, int16 unit) {
    if (value.kind == Kind::Decimal || value.is_null)
        return as_extended(compiler, value, unit);
    if (value.unit == unit)
        return value;
    const Value units =
        operate(compiler, Operation::multiply,
                make_value(special_part(compiler, value), Kind::Decimal, ValueType::int64, column::kNaN),
                decimal_of(compiler, power_of_10(unit)), limit_of_unit(unit));
    Value moved = operate(compiler, Operation::add, finite_part(compiler, value), units, limit_of_unit(unit));
    moved.scale = value.scale;
    show_as(&moved, value);
    return as_extended(compiler, moved, unit);
}

bool extend_both(Compiler *compiler, Value *one, Value *other) {
    const auto unit_of = [](const Value &value) {
        return value.kind == Kind::Extended ? value.unit : unit_above(value.limit);
    };
    const int16 unit = Max(unit_of(*one), unit_of(*other));
    *one = extend(compiler, *one, unit);
    *other = is_refused(compiler) ? Value{} : extend(compiler, *other, unit);
    return !is_refused(compiler);
}

// ---- arithmetic -------------------------------------------------------------------------------------------

namespace {

// The operands of an operation.
struct Parts {
    Value finite[2];
    uint16 special[2];
    uint16 is_finite;  // both are
};

}  // namespace

static uint16 add_special(Compiler *compiler, uint16 one, uint16 other) {
    const uint16 both_there = choose_small(compiler, logic(compiler, Operation::equal, one, other), one,
                                           small_constant(compiler, column::kNaN));
    return choose_small(compiler, is_small(compiler, one, 0), other,
                        choose_small(compiler, is_small(compiler, other, 0), one, both_there));
}

static uint16 sign_of(Compiler *compiler, const Value &finite) {
    engine::Step sign = make_step(Operation::sign, finite.type, finite.step);
    sign.width = finite.type == ValueType::int128 ? 16 : 8;
    return widen_to(compiler, make_value(add_step(compiler->program, sign), Kind::Decimal, finite.type, 1),
                    ValueType::int64)
        .step;
}

static uint16 is_either_nan(Compiler *compiler, const Parts &parts) {
    return either(compiler, is_small(compiler, parts.special[0], column::kNaN),
                  is_small(compiler, parts.special[1], column::kNaN));
}

// Infinity times 0 is NaN.
static uint16 multiply_special(Compiler *compiler, const Parts &parts) {
    uint16 signs[2];
    for (int i = 0; i < 2; i++)
        signs[i] = choose_small(compiler, is_small(compiler, parts.special[i], 0),
                                sign_of(compiler, parts.finite[i]), parts.special[i]);
    const uint16 sign = small_step(compiler, Operation::multiply, signs[0], signs[1]);
    const uint16 nan = small_constant(compiler, column::kNaN);
    const uint16 is_nan = either(compiler, is_either_nan(compiler, parts), is_small(compiler, sign, 0));
    return choose_small(compiler, parts.is_finite, small_constant(compiler, 0),
                        choose_small(compiler, is_nan, nan, sign));
}

// What is divided by infinity is 0; an infinite dividend fails where the divisor is 0.
static uint16 divide_special(Compiler *compiler, const Parts &parts) {
    const uint16 is_dividend = is_small(compiler, parts.special[1], 0);
    const uint16 is_divisor = is_small(compiler, parts.special[0], 0);
    const uint16 is_nan =
        either(compiler, is_either_nan(compiler, parts),
               logic(compiler, Operation::logical_not, either(compiler, is_dividend, is_divisor)));
    const uint16 is_infinite = logic(compiler, Operation::logical_not, either(compiler, is_nan, is_divisor));
    const Guarded guarded = begin_guarded(compiler, is_infinite);
    const uint16 infinite = add_guarded(
        compiler,
        make_step(Operation::divide, ValueType::int64, parts.special[0], sign_of(compiler, parts.finite[1])),
        true);
    end_guarded(guarded);
    return choose_small(compiler, is_nan, small_constant(compiler, column::kNaN),
                        choose_small(compiler, is_infinite, infinite, small_constant(compiler, 0)));
}

Value compute_special(Compiler *compiler, Operation operation, const Value &one, const Value &other) {
    if (operation == Operation::modulo)
        return compute_decimal(compiler, operation, require_finite(compiler, one),
                               require_finite(compiler, other));
    Parts parts = {{finite_part(compiler, one), finite_part(compiler, other)},
                   {special_part(compiler, one), special_part(compiler, other)},
                   no_step};
    parts.is_finite = logic(compiler, Operation::logical_and, is_small(compiler, parts.special[0], 0),
                            is_small(compiler, parts.special[1], 0));
    const Guarded guarded = begin_guarded(compiler, parts.is_finite);
    const Value number = compute_decimal(compiler, operation, parts.finite[0], parts.finite[1]);
    end_guarded(guarded);
    if (is_refused(compiler))
        return {};
    const auto special = [&] {
        switch (operation) {
            case Operation::add:
                return add_special(compiler, parts.special[0], parts.special[1]);
            case Operation::subtract:
                return add_special(compiler, parts.special[0], negate_special(compiler, parts.special[1]));
            case Operation::multiply:
                return multiply_special(compiler, parts);
            default:
                return divide_special(compiler, parts);
        }
    };
    return compose_special(compiler, number, parts.is_finite,
                           or_null(compiler, parts.special[0], parts.special[1], special()));
}

// ---- of one numeric ---------------------------------------------------------------------------------------

Value change_special(Compiler *compiler, Operation operation, const Value &value, const Value &number) {
    const uint16 special = special_part(compiler, value);
    const uint16 is_nan = is_small(compiler, special, column::kNaN);
    switch (operation) {
        case Operation::negate:
            return compose_special(compiler, number, is_small(compiler, special, 0),
                                   negate_special(compiler, special), value.unit);
        case Operation::absolute:
            return compose_special(compiler, number, is_small(compiler, special, 0),
                                   small_step(compiler, Operation::absolute, special), value.unit);
        case Operation::sign: {
            // An infinite one has a sign like others.
            Value sign = widen_to(compiler, number, ValueType::int64);
            sign.step = choose_small(compiler, is_small(compiler, special, 0), sign.step, special);
            const uint16 zero = choose_small(compiler, is_nan, special, small_constant(compiler, 0));
            return compose_special(compiler, sign, logic(compiler, Operation::logical_not, is_nan),
                                   or_null(compiler, special, special, zero));
        }
        case Operation::narrow: {
            // numeric(precision, scale) has no infinities.
            const uint16 is_infinite =
                is_small(compiler, small_step(compiler, Operation::absolute, special), column::kInfinity);
            return compose_special(compiler, number, is_small(compiler, special, 0),
                                   fail_where(compiler, is_infinite, special));
        }
        default:
            return compose_special(compiler, number, is_small(compiler, special, 0), special);
    }
}

Value float_of_special(Compiler *compiler, const Value &value, Value of_finite) {
    const auto choose = [&](uint16 condition, uint16 one, uint16 other) {
        return add_step(compiler->program,
                        make_step(Operation::choose, ValueType::float64, condition, one, other));
    };
    const auto constant = [&](float8 number) { return constant_step(compiler->program, number); };
    const uint16 special = special_part(compiler, value);
    const uint16 infinite = choose(is_small(compiler, special, -column::kInfinity),
                                   constant(-get_float8_infinity()), constant(get_float8_infinity()));
    const uint16 not_finite =
        choose(is_small(compiler, special, column::kNaN), constant(get_float8_nan()), infinite);
    const uint16 is_special = logic(compiler, Operation::logical_not, is_small(compiler, special, 0));
    of_finite.step = choose(is_special, not_finite, of_finite.step);
    return of_finite;
}

Value compose_sum(Compiler *compiler, const Value &sum, uint16 least, uint16 greatest) {
    const uint16 special = or_null(compiler, least, greatest, add_special(compiler, least, greatest));
    return compose_special(compiler, sum, is_small(compiler, special, 0), special);
}

}  // namespace pg_gpu::plan::query
