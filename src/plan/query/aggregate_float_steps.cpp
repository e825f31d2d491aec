#include "plan/query/aggregate_float_steps.h"

#include <cmath>

#include "compat.h"
#include "plan/query/aggregate_choices.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateOperation;

namespace {

// Steps: the least and the greatest number of a float that is equal to a certain one. They differ by the two
// zeros. Where no float of the type is equal, the least is above the greatest.
struct EqualFloats {
    uint16 least;
    uint16 greatest;
};

}  // namespace

static int float_strategy(Oid operator_oid) {
    constexpr Oid float_family = 1970;  // float_ops of btree, which has no name in the headers
    return get_op_opfamily_strategy(operator_oid, float_family);
}

bool is_comparison_of_floats(const OpExpr *comparison) {
    const Oid negator = get_negator(comparison->opno);
    return list_length(comparison->args) == 2 &&
           (float_strategy(comparison->opno) != 0 ||
            (OidIsValid(negator) && float_strategy(negator) == BTEqualStrategyNumber));
}

static column::ColumnType type_of(Expr *expression) {
    return column::describe_type(exprType(reinterpret_cast<Node *>(expression)), InvalidOid);
}

static int64 number_of_float(const column::ColumnType &type, double value) {
    return number_of_code(type, type.code == column::IntegerCode::Float4
                                    ? column::encode_float4(static_cast<float>(value))
                                    : column::encode_float8(value));
}

// The next float4 on that side, or the value where it is one.
static double round_to_single(double value, float side) {
    const auto nearest = static_cast<float>(value);
    const bool is_other_side = side > 0 ? nearest < value : nearest > value;
    return is_other_side ? std::nextafterf(nearest, side) : nearest;
}

static EqualFloats compile_constant_float(Compiler *compiler, const column::ColumnType &type,
                                          Expr *expression) {
    Const constant;
    find_constant(compiler, expression, &constant);
    if (constant.constisnull) {
        const uint16 null = compile_constant(compiler, &constant);
        return {null, null};
    }
    const bool is_single = type_of(expression).code == column::IntegerCode::Float4;
    double least = is_single ? double{DatumGetFloat4(constant.constvalue)}  //
                             : DatumGetFloat8(constant.constvalue);
    double greatest = least;
    if (type.code == column::IntegerCode::Float4 && !is_single) {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        least = round_to_single(least, infinity);
        greatest = round_to_single(greatest, -infinity);
    }
    const auto step = [&](double value) {
        return add_step(compiler, AggregateOperation::constant, 0, 0, 0, number_of_float(type, value));
    };
    return {step(least == 0 ? -0.0 : least), step(greatest == 0 ? 0.0 : greatest)};
}

uint16 compile_one_zero(Compiler *compiler, const column::ColumnType &type, uint16 number) {
    const auto constant = [&](double value) {
        return add_step(compiler, AggregateOperation::constant, 0, 0, 0, number_of_float(type, value));
    };
    const auto where = [compiler](uint16 truth, uint16 chosen) {
        return add_step(compiler, AggregateOperation::only_where, 0, truth, chosen);
    };
    const uint16 is_negative_zero = add_step(compiler, AggregateOperation::equal, 0, number, constant(-0.0));
    return add_step(compiler, AggregateOperation::or_else, 0,
                    where(negate(compiler, is_negative_zero), number),
                    where(is_negative_zero, constant(0.0)));
}

uint16 compile_float_comparison(Compiler *compiler, OpExpr *comparison) {
    const auto step = [compiler](AggregateOperation operation, uint16 a, uint16 b) {
        return add_step(compiler, operation, 0, a, b);
    };
    auto *left = static_cast<Expr *>(linitial(comparison->args));
    auto *right = static_cast<Expr *>(lsecond(comparison->args));
    int strategy = float_strategy(comparison->opno);
    if (!contain_var_clause(reinterpret_cast<Node *>(left))) {
        std::swap(left, right);
        constexpr int turned[] = {0,
                                  BTGreaterStrategyNumber,
                                  BTGreaterEqualStrategyNumber,
                                  BTEqualStrategyNumber,
                                  BTLessEqualStrategyNumber,
                                  BTLessStrategyNumber};
        strategy = turned[strategy];
    }
    const column::ColumnType type = type_of(left);
    uint16 number;
    EqualFloats equal;
    if (!contain_var_clause(reinterpret_cast<Node *>(right))) {
        number = compile_number(compiler, left);
        equal = compile_constant_float(compiler, type, right);
    } else if (type.code == type_of(right).code) {
        number = compile_one_zero(compiler, type, compile_number(compiler, left));
        equal.least = equal.greatest = compile_one_zero(compiler, type, compile_number(compiler, right));
    } else {
        refuse(compiler, "floats of different widths are compared", reinterpret_cast<Expr *>(comparison));
        return 0;
    }
    const auto is_equal = [&] {
        return step(AggregateOperation::logical_and,
                    step(AggregateOperation::less_or_equal, equal.least, number),
                    step(AggregateOperation::less_or_equal, number, equal.greatest));
    };
    switch (strategy) {
        case BTLessStrategyNumber:
            return step(AggregateOperation::less, number, equal.least);
        case BTLessEqualStrategyNumber:
            return step(AggregateOperation::less_or_equal, number, equal.greatest);
        case BTGreaterEqualStrategyNumber:
            return step(AggregateOperation::less_or_equal, equal.least, number);
        case BTGreaterStrategyNumber:
            return step(AggregateOperation::less, equal.greatest, number);
        case BTEqualStrategyNumber:
            return is_equal();
        default:
            return negate(compiler, is_equal());
    }
}

// ---- integers ---------------------------------------------------------------------------------------------

uint16 compile_cut_float(Compiler *compiler, uint16 number, const column::ColumnType &type, uint16 *base) {
    const auto step = [compiler](AggregateOperation operation, uint16 left, uint16 right) {
        return add_step(compiler, operation, sizeof(int64), left, right);
    };
    const auto constant = [compiler](int64 value) {
        return add_step(compiler, AggregateOperation::constant, 0, 0, 0, value);
    };
    const bool single = type.code == column::IntegerCode::Float4;
    const uint16 floats = compiler->compiled->program.step[number].left;
    const auto input = [&](SourceKind kind) { return add_dependent_source(compiler, kind, floats); };
    uint16 bits = number;
    if (single)
        bits = step(AggregateOperation::subtract, bits, constant(number_of_float(type, 0)));
    // Negative ones' are complements.
    bits = step(AggregateOperation::add, bits,
                add_step(compiler, AggregateOperation::less, 0, bits, constant(0)));
    constexpr int longer_fraction = 29;
    if (single)
        bits = step(AggregateOperation::multiply, bits, constant(int64{1} << longer_fraction));
    const uint16 divisor = add_input_step(compiler, input(SourceKind::FloatDivisor));
    *base = input(SourceKind::FloatBase);
    return step(AggregateOperation::add, step(AggregateOperation::divide, bits, divisor),
                add_input_step(compiler, *base));
}

}  // namespace pg_gpu::plan
