// Which of PostgreSQL's functions of numbers the engine computes, and by what.
#include "plan/query/numbers.h"

namespace pg_gpu::plan::query {

namespace {

enum class Call : uint8 { Two, One, Same, Bits, Cast, Round, Ceiling, Floor, Truncate, Typmod, Scale };

struct NumberFunction {
    Oid function;
    Call call;
    Operation operation;
};

}  // namespace

static constexpr NumberFunction functions[] = {
    {F_INT2PL, Call::Two, Operation::add},
    {F_INT4PL, Call::Two, Operation::add},
    {F_INT8PL, Call::Two, Operation::add},
    {F_INT24PL, Call::Two, Operation::add},
    {F_INT42PL, Call::Two, Operation::add},
    {F_INT28PL, Call::Two, Operation::add},
    {F_INT82PL, Call::Two, Operation::add},
    {F_INT48PL, Call::Two, Operation::add},
    {F_INT84PL, Call::Two, Operation::add},
    {F_FLOAT4PL, Call::Two, Operation::add},
    {F_FLOAT8PL, Call::Two, Operation::add},
    {F_FLOAT48PL, Call::Two, Operation::add},
    {F_FLOAT84PL, Call::Two, Operation::add},
    {F_NUMERIC_ADD, Call::Two, Operation::add},
    {F_INT2MI, Call::Two, Operation::subtract},
    {F_INT4MI, Call::Two, Operation::subtract},
    {F_INT8MI, Call::Two, Operation::subtract},
    {F_INT24MI, Call::Two, Operation::subtract},
    {F_INT42MI, Call::Two, Operation::subtract},
    {F_INT28MI, Call::Two, Operation::subtract},
    {F_INT82MI, Call::Two, Operation::subtract},
    {F_INT48MI, Call::Two, Operation::subtract},
    {F_INT84MI, Call::Two, Operation::subtract},
    {F_FLOAT4MI, Call::Two, Operation::subtract},
    {F_FLOAT8MI, Call::Two, Operation::subtract},
    {F_FLOAT48MI, Call::Two, Operation::subtract},
    {F_FLOAT84MI, Call::Two, Operation::subtract},
    {F_NUMERIC_SUB, Call::Two, Operation::subtract},
    {F_INT2MUL, Call::Two, Operation::multiply},
    {F_INT4MUL, Call::Two, Operation::multiply},
    {F_INT8MUL, Call::Two, Operation::multiply},
    {F_INT24MUL, Call::Two, Operation::multiply},
    {F_INT42MUL, Call::Two, Operation::multiply},
    {F_INT28MUL, Call::Two, Operation::multiply},
    {F_INT82MUL, Call::Two, Operation::multiply},
    {F_INT48MUL, Call::Two, Operation::multiply},
    {F_INT84MUL, Call::Two, Operation::multiply},
    {F_FLOAT4MUL, Call::Two, Operation::multiply},
    {F_FLOAT8MUL, Call::Two, Operation::multiply},
    {F_FLOAT48MUL, Call::Two, Operation::multiply},
    {F_FLOAT84MUL, Call::Two, Operation::multiply},
    {F_NUMERIC_MUL, Call::Two, Operation::multiply},
    {F_INT2DIV, Call::Two, Operation::divide},
    {F_INT4DIV, Call::Two, Operation::divide},
    {F_INT8DIV, Call::Two, Operation::divide},
    {F_INT24DIV, Call::Two, Operation::divide},
    {F_INT42DIV, Call::Two, Operation::divide},
    {F_INT28DIV, Call::Two, Operation::divide},
    {F_INT82DIV, Call::Two, Operation::divide},
    {F_INT48DIV, Call::Two, Operation::divide},
    {F_INT84DIV, Call::Two, Operation::divide},
    {F_FLOAT4DIV, Call::Two, Operation::divide},
    {F_FLOAT8DIV, Call::Two, Operation::divide},
    {F_FLOAT48DIV, Call::Two, Operation::divide},
    {F_FLOAT84DIV, Call::Two, Operation::divide},
    {F_NUMERIC_DIV, Call::Two, Operation::divide},
    {F_INT2MOD, Call::Two, Operation::modulo},
    {F_INT4MOD, Call::Two, Operation::modulo},
    {F_INT8MOD, Call::Two, Operation::modulo},
    {F_MOD_INT2_INT2, Call::Two, Operation::modulo},
    {F_MOD_INT4_INT4, Call::Two, Operation::modulo},
    {F_MOD_INT8_INT8, Call::Two, Operation::modulo},
    {F_NUMERIC_MOD, Call::Two, Operation::modulo},
    {F_MOD_NUMERIC_NUMERIC, Call::Two, Operation::modulo},
    {F_INT2UM, Call::One, Operation::negate},
    {F_INT4UM, Call::One, Operation::negate},
    {F_INT8UM, Call::One, Operation::negate},
    {F_FLOAT4UM, Call::One, Operation::negate},
    {F_FLOAT8UM, Call::One, Operation::negate},
    {F_NUMERIC_UMINUS, Call::One, Operation::negate},
    {F_INT2ABS, Call::One, Operation::absolute},
    {F_INT4ABS, Call::One, Operation::absolute},
    {F_INT8ABS, Call::One, Operation::absolute},
    {F_FLOAT4ABS, Call::One, Operation::absolute},
    {F_FLOAT8ABS, Call::One, Operation::absolute},
    {F_NUMERIC_ABS, Call::One, Operation::absolute},
    {F_ABS_INT2, Call::One, Operation::absolute},
    {F_ABS_INT4, Call::One, Operation::absolute},
    {F_ABS_INT8, Call::One, Operation::absolute},
    {F_ABS_FLOAT4, Call::One, Operation::absolute},
    {F_ABS_FLOAT8, Call::One, Operation::absolute},
    {F_ABS_NUMERIC, Call::One, Operation::absolute},
    {F_SIGN_FLOAT8, Call::One, Operation::sign},
    {F_SIGN_NUMERIC, Call::One, Operation::sign},
    {F_SQRT_FLOAT8, Call::One, Operation::square_root},
    {F_DSQRT, Call::One, Operation::square_root},
    {F_INT2UP, Call::Same, Operation::null},
    {F_INT4UP, Call::Same, Operation::null},
    {F_INT8UP, Call::Same, Operation::null},
    {F_FLOAT4UP, Call::Same, Operation::null},
    {F_FLOAT8UP, Call::Same, Operation::null},
    {F_NUMERIC_UPLUS, Call::Same, Operation::null},
    {F_INT2AND, Call::Bits, Operation::bit_and},
    {F_INT4AND, Call::Bits, Operation::bit_and},
    {F_INT8AND, Call::Bits, Operation::bit_and},
    {F_INT2OR, Call::Bits, Operation::bit_or},
    {F_INT4OR, Call::Bits, Operation::bit_or},
    {F_INT8OR, Call::Bits, Operation::bit_or},
    {F_INT2XOR, Call::Bits, Operation::bit_xor},
    {F_INT4XOR, Call::Bits, Operation::bit_xor},
    {F_INT8XOR, Call::Bits, Operation::bit_xor},
    {F_INT2NOT, Call::Bits, Operation::bit_not},
    {F_INT4NOT, Call::Bits, Operation::bit_not},
    {F_INT8NOT, Call::Bits, Operation::bit_not},
    {F_INT2SHL, Call::Bits, Operation::shift_left},
    {F_INT4SHL, Call::Bits, Operation::shift_left},
    {F_INT8SHL, Call::Bits, Operation::shift_left},
    {F_INT2SHR, Call::Bits, Operation::shift_right},
    {F_INT4SHR, Call::Bits, Operation::shift_right},
    {F_INT8SHR, Call::Bits, Operation::shift_right},
    {F_INT2_INT4, Call::Cast, Operation::null},
    {F_INT2_INT8, Call::Cast, Operation::null},
    {F_INT2_FLOAT4, Call::Cast, Operation::null},
    {F_INT2_FLOAT8, Call::Cast, Operation::null},
    {F_INT2_NUMERIC, Call::Cast, Operation::null},
    {F_INT4_INT2, Call::Cast, Operation::null},
    {F_INT4_INT8, Call::Cast, Operation::null},
    {F_INT4_FLOAT4, Call::Cast, Operation::null},
    {F_INT4_FLOAT8, Call::Cast, Operation::null},
    {F_INT4_NUMERIC, Call::Cast, Operation::null},
    {F_INT4_BOOL, Call::Cast, Operation::null},
    {F_INT8_INT2, Call::Cast, Operation::null},
    {F_INT8_INT4, Call::Cast, Operation::null},
    {F_INT8_FLOAT4, Call::Cast, Operation::null},
    {F_INT8_FLOAT8, Call::Cast, Operation::null},
    {F_INT8_NUMERIC, Call::Cast, Operation::null},
    {F_FLOAT4_INT2, Call::Cast, Operation::null},
    {F_FLOAT4_INT4, Call::Cast, Operation::null},
    {F_FLOAT4_INT8, Call::Cast, Operation::null},
    {F_FLOAT4_FLOAT8, Call::Cast, Operation::null},
    {F_FLOAT4_NUMERIC, Call::Cast, Operation::null},
    {F_FLOAT8_INT2, Call::Cast, Operation::null},
    {F_FLOAT8_INT4, Call::Cast, Operation::null},
    {F_FLOAT8_INT8, Call::Cast, Operation::null},
    {F_FLOAT8_FLOAT4, Call::Cast, Operation::null},
    {F_FLOAT8_NUMERIC, Call::Cast, Operation::null},
    {F_NUMERIC_INT2, Call::Cast, Operation::null},
    {F_NUMERIC_INT4, Call::Cast, Operation::null},
    {F_NUMERIC_INT8, Call::Cast, Operation::null},
    {F_NUMERIC_FLOAT4, Call::Cast, Operation::null},
    {F_NUMERIC_FLOAT8, Call::Cast, Operation::null},
    {F_BOOL_INT4, Call::Cast, Operation::null},
    {F_ROUND_FLOAT8, Call::Round, Operation::null},
    {F_ROUND_NUMERIC, Call::Round, Operation::null},
    {F_ROUND_NUMERIC_INT4, Call::Round, Operation::null},
    {F_CEIL_FLOAT8, Call::Ceiling, Operation::null},
    {F_CEIL_NUMERIC, Call::Ceiling, Operation::null},
    {F_CEILING_FLOAT8, Call::Ceiling, Operation::null},
    {F_CEILING_NUMERIC, Call::Ceiling, Operation::null},
    {F_FLOOR_FLOAT8, Call::Floor, Operation::null},
    {F_FLOOR_NUMERIC, Call::Floor, Operation::null},
    {F_TRUNC_FLOAT8, Call::Truncate, Operation::null},
    {F_TRUNC_NUMERIC, Call::Truncate, Operation::null},
    {F_TRUNC_NUMERIC_INT4, Call::Truncate, Operation::null},
    {F_NUMERIC_NUMERIC_INT4, Call::Typmod, Operation::null},
    {F_SCALE, Call::Scale, Operation::null},
};

static const NumberFunction *find_function(Oid function) {
    for (const NumberFunction &known : functions)
        if (known.function == function)
            return &known;
    return nullptr;
}

bool has_all_digits(Oid function) {
    const NumberFunction *known = find_function(function);
    return known != nullptr && known->call != Call::Round && known->call != Call::Truncate;
}

// NULL where there is no finite number.
static Value scale_of(Compiler *compiler, const Value &value) {
    if (!is_numeric(value))
        return refuse_value(compiler, "something is computed with that isn't a number");
    uint16 is_finite = logic(compiler, Operation::equal, value.step, value.step);
    if (value.kind == Kind::Extended)
        is_finite = logic(compiler, Operation::equal, special_part(compiler, value),
                          constant_step(compiler->program, 0, ValueType::int64));
    const uint16 null = add_step(compiler->program, make_step(Operation::null, ValueType::int64));
    const engine::Step scale =
        make_step(Operation::choose, ValueType::int64, is_finite, shown_step_of(compiler, value), null);
    Value result = make_value(add_step(compiler->program, scale), Kind::Integer, ValueType::int64, kMaxShown);
    result.width = 4;
    return result;
}

static Value compile_operands(Compiler *compiler, const NumberFunction &known, const List *arguments,
                              Oid result) {
    const Value one = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    const Value other = list_length(arguments) > 1 && !is_refused(compiler)
                            ? compile(compiler, static_cast<const Expr *>(lsecond(arguments)))
                            : Value{};
    if (is_refused(compiler))
        return {};
    if (one.is_null || other.is_null)
        return null_value(compiler, result);
    switch (known.call) {
        case Call::Two:
            return compute(compiler, known.operation, one, other, result);
        case Call::One:
            return known.operation == Operation::square_root && one.kind == Kind::Float
                       ? compute_float(compiler, known.operation, one, no_step, one.width, true)
                       : compute_one(compiler, known.operation, one);
        case Call::Bits:
            return compute_bits(compiler, known.operation, one,
                                list_length(arguments) > 1 ? other.step : no_step);
        case Call::Cast:
            return cast_number(compiler, one, result);
        case Call::Scale:
            return scale_of(compiler, one);
        default:
            return one;
    }
}

bool compile_number_call(Compiler *compiler, Oid function, const List *arguments, Oid result, Value *value) {
    const NumberFunction *known = find_function(function);
    if (known == nullptr)
        return false;
    switch (known->call) {
        case Call::Round:
            *value = compile_cut(compiler, Operation::divide_round, Operation::round_even, arguments);
            break;
        case Call::Ceiling:
            *value = compile_cut(compiler, Operation::divide_ceiling, Operation::ceiling, arguments);
            break;
        case Call::Floor:
            *value = compile_cut(compiler, Operation::divide_floor, Operation::floor, arguments);
            break;
        case Call::Truncate:
            *value = compile_cut(compiler, Operation::divide, Operation::truncate, arguments);
            break;
        case Call::Typmod:
            *value = compile_typmod(compiler, arguments);
            break;
        default:
            *value = compile_operands(compiler, *known, arguments, result);
    }
    return true;
}

}  // namespace pg_gpu::plan::query
