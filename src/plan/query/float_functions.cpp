// Functions of floats that are the C library's: the server process computes them on processors by the same
// library as PostgreSQL does, bit for bit, which no device can.
#include "plan/query/aggregates.h"
#include "plan/query/nested_groups.h"

namespace pg_gpu::plan::query {

using engine::FloatFunction;

namespace {

struct KnownFunction {
    Oid function;
    FloatFunction meaning;
};

}  // namespace

static constexpr KnownFunction functions[] = {
    {F_EXP_FLOAT8, FloatFunction::exponential},
    {F_DEXP, FloatFunction::exponential},
    {F_LN_FLOAT8, FloatFunction::natural_logarithm},
    {F_DLOG1, FloatFunction::natural_logarithm},
    {F_LOG_FLOAT8, FloatFunction::decimal_logarithm},
    {F_LOG10_FLOAT8, FloatFunction::decimal_logarithm},
    {F_DLOG10, FloatFunction::decimal_logarithm},
    {F_CBRT, FloatFunction::cube_root},
    {F_DCBRT, FloatFunction::cube_root},
    {F_SIN, FloatFunction::sine},
    {F_COS, FloatFunction::cosine},
    {F_TAN, FloatFunction::tangent},
    {F_COT, FloatFunction::cotangent},
    {F_ASIN, FloatFunction::arc_sine},
    {F_ACOS, FloatFunction::arc_cosine},
    {F_ATAN, FloatFunction::arc_tangent},
    {F_SINH, FloatFunction::hyperbolic_sine},
    {F_COSH, FloatFunction::hyperbolic_cosine},
    {F_TANH, FloatFunction::hyperbolic_tangent},
    {F_ASINH, FloatFunction::area_sine},
    {F_ACOSH, FloatFunction::area_cosine},
    {F_ATANH, FloatFunction::area_tangent},
    {F_POW_FLOAT8_FLOAT8, FloatFunction::power},
    {F_POWER_FLOAT8_FLOAT8, FloatFunction::power},
    {F_DPOW, FloatFunction::power},
    {F_ATAN2, FloatFunction::arc_tangent_of_two},
};

static const KnownFunction *find_function(Oid function) {
    for (const KnownFunction &known : functions)
        if (known.function == function)
            return &known;
    return nullptr;
}

// Some give -0, of which alone it looks different from 0.
static bool may_give_minus_0(FloatFunction function) {
    switch (function) {
        case FloatFunction::exponential:
        case FloatFunction::natural_logarithm:
        case FloatFunction::decimal_logarithm:
        case FloatFunction::cosine:
        case FloatFunction::arc_cosine:
        case FloatFunction::hyperbolic_cosine:
        case FloatFunction::area_cosine:
            return false;
        default:
            return true;
    }
}

static Value real_of_step(Compiler *compiler, const engine::Step &step, bool may_be_minus_0) {
    Value value = make_value(add_guarded(compiler, step, true), Kind::Float, ValueType::float64);
    value.may_be_minus_0 = may_be_minus_0;
    return value;
}

// Multiplications and divisions are the same on all engines.
static Value compile_angle(Compiler *compiler, Operation operation, const Value &angle) {
    // As float.c has it.
    constexpr double radians_of_degree = 0.0174532925199432957692;
    return real_of_step(compiler,
                        make_step(operation, ValueType::float64, angle.step,
                                  constant_step(compiler->program, radians_of_degree)),
                        angle.may_be_minus_0);
}

bool compile_float_call(Compiler *compiler, Oid function, const List *arguments, Value *value) {
    const bool is_angle = function == F_RADIANS || function == F_DEGREES;
    const KnownFunction *known = find_function(function);
    if (known == nullptr && !is_angle)
        return false;
    if (!is_angle && compiler->is_for_device) {
        *value = refuse_value(compiler, "no device computes a function of floats as PostgreSQL does");
        return true;
    }
    const Value one = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    const bool has_two = list_length(arguments) > 1;
    const Value other = has_two && !is_refused(compiler)
                            ? compile(compiler, static_cast<const Expr *>(lsecond(arguments)))
                            : one;
    *value = {};
    if (is_refused(compiler))
        return true;
    if (one.is_null || other.is_null) {
        *value = null_value(compiler, FLOAT8OID);
    } else if (one.kind != Kind::Float || other.kind != Kind::Float) {
        *value = refuse_value(compiler, "something is computed with that isn't a number");
    } else if (is_angle) {
        *value =
            compile_angle(compiler, function == F_RADIANS ? Operation::multiply : Operation::divide, one);
    } else {
        engine::Step step = make_step(has_two ? Operation::float_function_of_two : Operation::float_function,
                                      ValueType::float64, one.step, has_two ? other.step : no_step);
        step.detail = static_cast<uint32>(known->meaning);
        *value = real_of_step(compiler, step, may_give_minus_0(known->meaning));
    }
    return true;
}

static bool has_function(const NodeSteps &steps) {
    for (uint32 i = 0; i < steps.count; i++)
        if (steps.steps[i].operation == Operation::float_function ||
            steps.steps[i].operation == Operation::float_function_of_two)
            return true;
    return false;
}

bool needs_processors(const CompiledQuery &compiled) {
    const Program &program = *compiled.program;
    if (has_function({program.steps, program.step_count, 0, nullptr}) || has_function(compiled.having.steps))
        return true;
    for (int i = 0; i < compiled.tree.count; i++) {
        const CompiledNode &node = compiled.nodes[i];
        if (has_function(node.rows) || has_function(node.pairs) ||
            (node.groups != nullptr &&
             (has_function(node.groups->steps) || has_function(node.groups->column_steps))))
            return true;
    }
    return false;
}

}  // namespace pg_gpu::plan::query
