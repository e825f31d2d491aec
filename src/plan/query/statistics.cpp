// Variances, covariances and regressions, of which the engine adds up the sums.
#include "compat.h"
#include "plan/query/accumulators.h"
#include "plan/query/float_moments.h"

namespace pg_gpu::plan::query {

static FinalFunctions read_final_functions(Oid aggregate) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
    const auto *form = reinterpret_cast<const FormData_pg_aggregate *>(GETSTRUCT(tuple));
    const FinalFunctions functions = {form->aggdeserialfn, form->aggfinalfn};
    ReleaseSysCache(tuple);
    return functions;
}

// ---- floats -----------------------------------------------------------------------------------------------

static void accumulate_parts(CompiledQuery *compiled, uint16 step, uint16 filter, uint16 *columns) {
    for (uint32 part = 0; part < engine::sum_parts; part++)
        columns[part] = accumulate(compiled, AccumulatorKind::sum_float, step, filter, false, part);
}

// A product of floats is two of them, so that its sum is as exact as theirs.
static void accumulate_products(Compiler *compiler, CompiledQuery *compiled, const Value &one,
                                const Value &other, uint16 filter, uint16 *columns) {
    const auto product = [&](Operation operation) {
        return add_guarded(compiler, make_step(operation, ValueType::float64, one.step, other.step), true);
    };
    accumulate_parts(compiled, product(Operation::multiply), filter, columns);
    accumulate_parts(compiled, product(Operation::product_rest), filter, columns + engine::sum_parts);
}

static void compile_float_deviation(Compiler *compiler, CompiledQuery *compiled, const Argument &argument,
                                    Result *result) {
    const Value &value = argument.value;
    auto *columns = allocate_zeroed<FloatColumns>(1);
    result->kind = ResultKind::FloatMoments;
    result->floats = columns;
    accumulate_parts(compiled, value.step, argument.filter, columns->x);
    accumulate_products(compiler, compiled, value, value, argument.filter, columns->xx);
    result->value = columns->x[0];
    result->count = accumulate(compiled, AccumulatorKind::count, value.step, argument.filter);
}

static void compile_float_regression(Compiler *compiler, CompiledQuery *compiled, uint16 filter,
                                     Result *result) {
    const Value &x = result->argument;
    const Value &y = result->other;
    auto *columns = allocate_zeroed<FloatColumns>(1);
    columns->has_y = true;
    result->kind = ResultKind::FloatMoments;
    result->floats = columns;
    accumulate_parts(compiled, x.step, filter, columns->x);
    accumulate_products(compiler, compiled, x, x, filter, columns->xx);
    accumulate_parts(compiled, y.step, filter, columns->y);
    accumulate_products(compiler, compiled, y, y, filter, columns->yy);
    accumulate_products(compiler, compiled, x, y, filter, columns->xy);
    result->value = columns->x[0];
}

// ---- of one argument --------------------------------------------------------------------------------------

void compile_deviation(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate,
                       Argument argument, Result *result) {
    accumulate_special(compiler, compiled, &argument, result);
    Value value = argument.value;
    result->functions = read_final_functions(aggregate->aggfnoid);
    if (value.kind == Kind::Float && !argument.is_distinct) {
        compile_float_deviation(compiler, compiled, argument, result);
        return;
    }
    result->is_wide = value.kind == Kind::Decimal || value.width == 8;
    if (value.kind == Kind::Integer)
        value = as_decimal(value);
    if (value.kind != Kind::Decimal || argument.is_distinct) {
        refuse(&compiler->refusal, "a variance isn't one of numbers");
        return;
    }
    const auto sum = [&](const Value &of) {
        return accumulate(compiled, AccumulatorKind::sum, of.step, argument.filter);
    };
    const auto product = [&](const Value &one, const Value &other) {
        return sum(operate(compiler, Operation::multiply, one, other, one.limit * other.limit));
    };
    result->argument = value;
    result->value = sum(value);
    if (value.limit < static_cast<double>(kLowerPart)) {
        result->part_products = no_step;
        result->squares = product(value, value);
    } else {
        const Value unit = decimal_of(compiler, kLowerPart);
        const Value high = operate(compiler, Operation::divide, value, unit, value.limit / unit.limit + 1);
        const Value low = operate(compiler, Operation::modulo, value, unit, unit.limit);
        result->squares = product(high, high);
        result->part_products = product(high, low);
        result->lower_squares = product(low, low);
    }
    result->count = accumulate(compiled, AccumulatorKind::count, value.step, argument.filter);
    result->shown = accumulate_shown(compiler, compiled, {value, argument.filter, false, InvalidOid});
}

// ---- of two arguments -------------------------------------------------------------------------------------

bool is_regression(Oid aggregate) {
    switch (aggregate) {
        case F_CORR:
        case F_COVAR_POP:
        case F_COVAR_SAMP:
        case F_REGR_AVGX:
        case F_REGR_AVGY:
        case F_REGR_INTERCEPT:
        case F_REGR_R2:
        case F_REGR_SLOPE:
        case F_REGR_SXX:
        case F_REGR_SXY:
        case F_REGR_SYY:
        case F_REGR_COUNT:
            return true;
        default:
            return false;
    }
}

// Is it a number that is cast to a float, and would be exact without that?
static bool is_exact_number(const Expr *expression) {
    const auto *call = reinterpret_cast<const FuncExpr *>(expression);
    return IsA(expression, FuncExpr) && (call->funcid == F_FLOAT8_INT2 || call->funcid == F_FLOAT8_INT4 ||
                                         call->funcid == F_FLOAT8_INT8 || call->funcid == F_FLOAT8_NUMERIC);
}

// The number that is cast. False: its squares may have no room, or it may be NaN.
static bool compile_number(Compiler *compiler, const Expr *expression, Value *value) {
    constexpr int max_scale = 19;
    if (!is_exact_number(expression))
        return false;
    const auto *call = reinterpret_cast<const FuncExpr *>(expression);
    *value = compile(compiler, static_cast<const Expr *>(linitial(call->args)));
    if (value->kind == Kind::Integer)
        *value = as_decimal(*value);
    const bool has_room = !is_refused(compiler) && value->kind == Kind::Decimal &&
                          value->scale <= max_scale && value->limit < static_cast<double>(kLowerPart);
    compiler->refusal = {};
    return has_room;
}

static uint16 is_there(Compiler *compiler, const Value &value) {
    return logic(compiler, Operation::logical_not, logic(compiler, Operation::is_null, value.step));
}

// The dependent variable comes first. Only rows count that have both.
void compile_regression(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate, uint16 filter,
                        Result *result) {
    const Expr *dependent = linitial_node(TargetEntry, aggregate->args)->expr;
    const Expr *independent = lsecond_node(TargetEntry, aggregate->args)->expr;
    Value y;
    Value x;
    const bool is_exact =
        compile_number(compiler, dependent, &y) && compile_number(compiler, independent, &x);
    if (!is_exact) {
        y = compile(compiler, dependent);
        x = compile(compiler, independent);
    }
    if (is_refused(compiler))
        return;
    filter = both(compiler, both(compiler, filter, is_there(compiler, x)), is_there(compiler, y));
    result->count = accumulate(compiled, AccumulatorKind::count_rows, no_step, filter);
    if (aggregate->aggfnoid == F_REGR_COUNT) {
        result->value = result->count;
        return;
    }
    result->functions = read_final_functions(aggregate->aggfnoid);
    result->argument = x;
    result->other = y;
    if (!is_exact) {
        compile_float_regression(compiler, compiled, filter, result);
        return;
    }
    const auto sum = [&](const Value &value) {
        return accumulate(compiled, AccumulatorKind::sum, value.step, filter);
    };
    result->kind = ResultKind::Regression;
    result->value = sum(x);
    result->squares = sum(multiply_decimals(compiler, x, x));
    result->other_sum = sum(y);
    result->other_squares = sum(multiply_decimals(compiler, y, y));
    result->products = sum(multiply_decimals(compiler, x, y));
}

}  // namespace pg_gpu::plan::query
