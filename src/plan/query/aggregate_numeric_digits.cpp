// How many digits of a numeric step's integers are behind the point, and which numbers are known before any
// row is looked at.
#include "plan/query/aggregate_numeric_steps.h"

#include "compat.h"
#include "gpu_engine/aggregate_steps.h"
#include "plan/query/aggregate_choices.h"
#include "plan/query/aggregate_common_inputs.h"
#include "plan/query/aggregate_failure.h"
#include "plan/query/aggregate_numeric.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateStep;

// ---- digits behind the point ------------------------------------------------------------------------------

static bool is_factor(const AggregateStep &step) {
    return step.operation == AggregateOperation::constant && step.width == kFactorWidth;
}

static bool fail_of_digits(InputBuilder *builder) {
    builder->problem = "numerics have too many digits for arithmetic between columns";
    return false;
}

// Gives a numeric constant as many digits as the other operand of a comparison has.
static bool settle_rounded(InputBuilder *builder, AggregateStep *step) {
    const AggregateStep &exact = builder->compiled->program.step[step->left];
    if (exact.operation == AggregateOperation::null) {
        *step = exact;
        return true;
    }
    const int power = builder->digits[step->right] - builder->digits[step->left];
    Int128 number = exact.constant;
    if (power > 0 && ((exact.right & kIsCut) != 0 || !column::multiply_by_power(&number, power)))
        return fail_of_digits(builder);
    bool is_cut = false;
    for (int i = power; i < 0; i++) {
        is_cut = is_cut || number % 10 != 0;
        number /= 10;
    }
    // Division has rounded towards 0.
    if (is_cut && step->width == kFloorWidth && exact.constant < 0)
        number--;
    if (is_cut && step->width == kCeilingWidth && exact.constant > 0)
        number++;
    if (number != static_cast<int64>(number))
        return fail_of_digits(builder);
    *step = {AggregateOperation::constant, 0, 0, 0, 0, static_cast<int64>(number)};
    return true;
}

static bool settle_factor(InputBuilder *builder, AggregateStep *step, uint8 *digits) {
    // 10^18 is the greatest power that 63 bits hold.
    constexpr int max_power = 18;
    const int own = builder->digits[step->left];
    const int power = Max(own, static_cast<int>(builder->digits[step->right])) - own;
    if (power > max_power)
        return fail_of_digits(builder);
    *digits = static_cast<uint8>(power);
    step->constant = 1;
    for (int i = 0; i < power; i++)
        step->constant *= 10;
    return true;
}

static bool settle_constant(InputBuilder *builder, uint16 number) {
    AggregateStep *step = &builder->compiled->program.step[number];
    if (step->width == kGroupWidth) {
        const auto *constant = list_nth_node(Const, builder->compiled->group_constants, step->right);
        const uint32 group = number_of_constant(builder, step->left, constant);
        *step = {AggregateOperation::constant, 0, 0, 0, 0, group};
        return builder->problem == nullptr;
    }
    if (step->width == kFactorWidth)
        return settle_factor(builder, step, &builder->digits[number]);
    if (step->width == kFloorWidth || step->width == kCeilingWidth)
        return settle_rounded(builder, step);
    builder->digits[number] = static_cast<uint8>(step->right & ~kIsCut);
    return true;
}

static void settle_input(InputBuilder *builder, uint16 number) {
    AggregateStep *step = &builder->compiled->program.step[number];
    const InputSource &source = builder->compiled->input[step->left];
    if (source.kind == SourceKind::Wide)
        builder->digits[number] = builder->scale[step->left];
    // Where all numerics show as many digits, that isn't looked up.
    if (source.kind == SourceKind::Scale && builder->shown[source.scaled] != kScaleOfGroup)
        *step = {AggregateOperation::constant, 0, 0, 0, 0, builder->shown[source.scaled]};
}

// An operand that is multiplied by 1 is taken itself. Integers of 128 bits can't be taken.
static bool settle_operand(InputBuilder *builder, AggregateOperation operation, uint16 *operand) {
    const AggregateProgram &program = builder->compiled->program;
    const AggregateStep &step = program.step[*operand];
    if (step.operation == AggregateOperation::multiply && is_factor(program.step[step.right]) &&
        program.step[step.right].constant == 1)
        *operand = step.left;
    const AggregateStep &taken = program.step[*operand];
    return taken.operation != AggregateOperation::input || operation == AggregateOperation::is_null ||
           !builder->is_wide[taken.left] || fail_of_digits(builder);
}

static int digits_of_step(const InputBuilder &builder, const AggregateStep &step) {
    const int left = builder.digits[step.left];
    const int right = builder.digits[step.right];
    switch (step.operation) {
        case AggregateOperation::add:
        case AggregateOperation::subtract:
        case AggregateOperation::modulo:
        case AggregateOperation::greater:
        case AggregateOperation::or_else:
            return Max(left, right);
        case AggregateOperation::multiply:
            return left + right;
        case AggregateOperation::divide:
            return left - right;
        case AggregateOperation::only_where:
            return right;
        default:
            return 0;
    }
}

// A constant times a power of 10 is another constant.
static bool fold_factor(InputBuilder *builder, AggregateStep *step) {
    const AggregateProgram &program = builder->compiled->program;
    if (step->operation != AggregateOperation::multiply || !is_factor(program.step[step->right]) ||
        program.step[step->left].operation != AggregateOperation::constant)
        return true;
    int64 product;
    if (__builtin_mul_overflow(program.step[step->left].constant, program.step[step->right].constant,
                               &product))
        return fail_of_digits(builder);
    *step = {AggregateOperation::constant, 0, 0, 0, 0, product};
    return true;
}

bool settle_step(InputBuilder *builder, uint16 number) {
    // As many as numerics that are read may have.
    constexpr int max_digits = 38;
    AggregateStep *step = &builder->compiled->program.step[number];
    if (step->operation == AggregateOperation::constant)
        return settle_constant(builder, number);
    if (step->operation == AggregateOperation::input)
        settle_input(builder, number);
    const bool takes_two = gpu_engine::takes_two(step->operation);
    if (!takes_two && !gpu_engine::takes_one(step->operation))
        return true;
    if (!settle_operand(builder, step->operation, &step->left) ||
        (takes_two && !settle_operand(builder, step->operation, &step->right)))
        return false;
    const int digits = takes_two ? digits_of_step(*builder, *step) : 0;
    if (digits > max_digits)
        return fail_of_digits(builder);
    builder->digits[number] = static_cast<uint8>(digits);
    return fold_factor(builder, step);
}

// ---- numbers that are known -------------------------------------------------------------------------------

static KnownNumber known_of_two(AggregateOperation operation, const KnownNumber &left,
                                const KnownNumber &right) {
    using State = KnownNumber::State;
    const bool chooses = operation == AggregateOperation::or_else;
    if (operation == AggregateOperation::only_where || (chooses && left.state == State::AlwaysNull))
        return right;
    if (chooses && right.state == State::AlwaysNull)
        return left;
    if (left.state == State::AlwaysNull || right.state == State::AlwaysNull)
        return {State::AlwaysNull, 0};
    int64 sum;
    if (left.state == State::Known && right.state == State::Known) {
        if (operation == AggregateOperation::greater || (chooses && left.number == right.number))
            return {State::Known, Max(left.number, right.number)};
        if (operation == AggregateOperation::add && !__builtin_add_overflow(left.number, right.number, &sum))
            return {State::Known, sum};
    }
    return {State::Unknown, 0};
}

void find_known_numbers(const AggregateProgram &program, KnownNumber *known) {
    for (uint32 i = 0; i < program.step_count; i++) {
        const AggregateStep &step = program.step[i];
        known[i] = {KnownNumber::State::Unknown, 0};
        if (step.operation == AggregateOperation::constant && step.width == 0)
            known[i] = {KnownNumber::State::Known, step.constant};
        else if (step.operation == AggregateOperation::null)
            known[i].state = KnownNumber::State::AlwaysNull;
        else if (step.operation == AggregateOperation::add || step.operation == AggregateOperation::greater ||
                 step.operation == AggregateOperation::only_where ||
                 step.operation == AggregateOperation::or_else)
            known[i] = known_of_two(step.operation, known[step.left], known[step.right]);
    }
}

}  // namespace pg_gpu::plan
