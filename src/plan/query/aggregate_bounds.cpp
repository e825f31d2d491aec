#include "plan/query/aggregate_bounds.h"

#include "plan/query/aggregate_numeric.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateStep;

static constexpr NumberBounds kNone = {PG_INT64_MAX, PG_INT64_MIN};
static constexpr NumberBounds kTruth = {0, 1};

static bool is_none(const NumberBounds &bounds) {
    return bounds.least > bounds.greatest;
}

// ---- arithmetic -------------------------------------------------------------------------------------------

static int64 clamp(Int128 number, Int128 least, Int128 greatest) {
    return static_cast<int64>(Max(Min(number, greatest), least));
}

static Int128 magnitude_of(const NumberBounds &bounds) {
    return Max(Max(-Int128{bounds.least}, Int128{bounds.greatest}), Int128{0});
}

static NumberBounds bounds_of_arithmetic(const AggregateStep &step, const NumberBounds &left,
                                         const NumberBounds &right) {
    if (is_none(left) || is_none(right))
        return kNone;
    Int128 least = 0;
    Int128 greatest = 0;
    switch (step.operation) {
        case AggregateOperation::add:
            least = Int128{left.least} + right.least;
            greatest = Int128{left.greatest} + right.greatest;
            break;
        case AggregateOperation::subtract:
            least = Int128{left.least} - right.greatest;
            greatest = Int128{left.greatest} - right.least;
            break;
        case AggregateOperation::multiply: {
            const Int128 corners[] = {Int128{left.least} * right.least, Int128{left.least} * right.greatest,
                                      Int128{left.greatest} * right.least,
                                      Int128{left.greatest} * right.greatest};
            least = greatest = corners[0];
            for (const Int128 corner : corners) {
                least = Min(least, corner);
                greatest = Max(greatest, corner);
            }
            break;
        }
        case AggregateOperation::divide:
            greatest = magnitude_of(left);
            least = -greatest;
            break;
        default: {
            // A remainder has the dividend's sign, and is closer to 0 than either operand or the divisor.
            const Int128 most = Min(magnitude_of(left), Max(magnitude_of(right) - 1, Int128{0}));
            least = left.least < 0 ? -most : 0;
            greatest = left.greatest > 0 ? most : 0;
        }
    }
    const Int128 end = Int128{1} << (step.width * 8 - 1);
    return {clamp(least, -end, end - 1), clamp(greatest, -end, end - 1)};
}

static NumberBounds join_bounds(const NumberBounds &left, const NumberBounds &right) {
    return {Min(left.least, right.least), Max(left.greatest, right.greatest)};
}

// The integers that floats are cut to: the base is added last.
static bool is_cut_float(const InputBuilder &builder, const AggregateProgram &program,
                         const AggregateStep &step) {
    const AggregateStep &added = program.step[step.right];
    return step.operation == AggregateOperation::add && added.operation == AggregateOperation::input &&
           builder.compiled->input[added.left].kind == SourceKind::FloatBase;
}

// ---- steps ------------------------------------------------------------------------------------------------

static NumberBounds bounds_of_input(const InputBuilder &builder, uint16 input) {
    switch (builder.compiled->input[input].kind) {
        case SourceKind::Truth:
        case SourceKind::Exists:
            return kTruth;
        default:
            return {builder.least[input], builder.greatest[input]};
    }
}

void find_bounds(const InputBuilder &builder, const AggregateProgram &program, NumberBounds *bounds) {
    for (uint32 i = 0; i < program.step_count; i++) {
        const AggregateStep &step = program.step[i];
        switch (step.operation) {
            case AggregateOperation::input:
                bounds[i] = bounds_of_input(builder, step.left);
                break;
            case AggregateOperation::constant:
                bounds[i] = {step.constant, step.constant};
                break;
            case AggregateOperation::null:
                bounds[i] = kNone;
                break;
            case AggregateOperation::place:
                bounds[i] = {0, PG_INT64_MAX};
                break;
            case AggregateOperation::only_where:
                bounds[i] = bounds[step.right];
                break;
            case AggregateOperation::greater:
            case AggregateOperation::or_else:
                bounds[i] = join_bounds(bounds[step.left], bounds[step.right]);
                break;
            case AggregateOperation::add:
            case AggregateOperation::subtract:
            case AggregateOperation::multiply:
            case AggregateOperation::divide:
            case AggregateOperation::modulo:
                bounds[i] = is_cut_float(builder, program, step)
                                ? bounds[step.right]
                                : bounds_of_arithmetic(step, bounds[step.left], bounds[step.right]);
                break;
            default:
                bounds[i] = kTruth;
        }
    }
}

bool may_be_any_number(const AggregateProgram &program, uint16 number) {
    bool may[gpu_engine::max_aggregate_steps];
    // Operands come before the steps that take them.
    for (uint32 i = 0; i <= number; i++) {
        const AggregateStep &step = program.step[i];
        switch (step.operation) {
            case AggregateOperation::add:
            case AggregateOperation::subtract:
            case AggregateOperation::multiply:
            case AggregateOperation::divide:
                may[i] = step.width == sizeof(int64);
                break;
            case AggregateOperation::only_where:
                may[i] = may[step.right];
                break;
            case AggregateOperation::greater:
            case AggregateOperation::or_else:
                may[i] = may[step.left] || may[step.right];
                break;
            default:
                // A remainder is never the least number, or is the dividend itself.
                may[i] = false;
        }
    }
    return may[number];
}

// ---- a number for NULL ------------------------------------------------------------------------------------

bool find_absent_number(const InputBuilder &builder, uint16 input, int64 *absent) {
    const InputSource &source = builder.compiled->input[input];
    if (source.type.base_type == TIMESTAMPOID || source.type.base_type == TIMESTAMPTZOID) {
        // This lies between -infinity and the first moment that there is.
        *absent = PG_INT64_MIN + 1;
        return true;
    }
    if (source.kind != SourceKind::Value)
        return false;
    // From both ends on, as long as there are values at both.
    constexpr int max_rounds = 8;
    uint64 lowest = 1;
    uint64 highest = PG_UINT64_MAX - 1;
    for (int round = 0; round < max_rounds; round++, lowest++, highest--) {
        uint64 least = highest;
        uint64 greatest = lowest;
        for (int part = 0; part < builder.parts->count; part++) {
            uint64 first;
            uint64 last;
            if (!column::find_code_bounds_within(builder.parts->part[part], source.type, source.column,
                                                 lowest, highest, &first, &last))
                continue;
            least = Min(least, first);
            greatest = Max(greatest, last);
        }
        if (least > lowest || greatest < highest) {
            *absent = number_of_code(source.type, least > lowest ? lowest : highest);
            return true;
        }
    }
    return false;
}

}  // namespace pg_gpu::plan
