// Requests about groups, as both engines check them: a program comes from another process.
#include "common/column/aggregate.h"

#include <algorithm>

#include "common/column/layout.h"
#include "gpu_engine/guard.h"

namespace gpu_engine {
namespace {

[[noreturn]] void refuse(const char *message) {
    throw Failure{make_status(StatusCode::invalid_argument, message)};
}

// Checks a step by itself. Whether its operands may be numbers of 128 bits is checked by check_wide.
void check_step(const AggregateProgram &program, std::uint32_t number) {
    const AggregateStep &step = program.step[number];
    if (step.operation < AggregateOperation::input || step.operation > AggregateOperation::is_true) {
        refuse("there is no such step");
    }
    if (step.operation == AggregateOperation::input && step.left >= program.input_count) {
        refuse("a step has no such input");
    }
    if ((takes_one(step.operation) || takes_two(step.operation)) && step.left >= number) {
        refuse("a step's operand isn't computed before it");
    }
    if (takes_two(step.operation) && step.right >= number) {
        refuse("a step's operand isn't computed before it");
    }
    if (is_arithmetic(step.operation) && step.width != 2 && step.width != 4 && step.width != 8) {
        refuse("integers have no such width");
    }
}

void check_keys(const AggregateProgram &program) {
    std::uint64_t used[max_aggregate_keys] = {};
    for (std::uint32_t i = 0; i < program.key_count; ++i) {
        const AggregateKey &key = program.key[i];
        if (key.step >= program.step_count || key.word >= program.key_words || key.shift + key.bits > 64) {
            refuse("a key can't lie there");
        }
        const std::uint64_t bits = key.bits == 0 ? 0 : (UINT64_MAX >> (64 - key.bits)) << key.shift;
        if ((used[key.word] & bits) != 0) {
            refuse("two keys lie at the same place");
        }
        if (key.bits < 64 && key.codes > std::uint64_t(1) << key.bits) {
            refuse("a key has more codes than its bits can tell apart");
        }
        used[key.word] |= bits;
    }
}

void check_accumulators(const AggregateProgram &program) {
    bool used[2 * max_aggregate_accumulators] = {};
    for (std::uint32_t i = 0; i < program.accumulator_count; ++i) {
        const Accumulator &accumulator = program.accumulator[i];
        if (accumulator.kind < AccumulatorKind::count || accumulator.kind > AccumulatorKind::bits_xor) {
            refuse("there is no such accumulator");
        }
        const bool has_step = accumulator.step != no_aggregate_step;
        if (has_step ? accumulator.step >= program.step_count : accumulator.kind != AccumulatorKind::count) {
            refuse("an accumulator has no such argument");
        }
        if (accumulator.filter != no_aggregate_step && accumulator.filter >= program.step_count) {
            refuse("an accumulator has no such filter");
        }
        if (is_sum_of_floats(accumulator.kind) &&
            (accumulator.exponent < 1 ||
             accumulator.exponent > (accumulator.kind == AccumulatorKind::sum_float32 ? 254 : 2046))) {
            refuse("no float has such an exponent");
        }
        for (std::uint32_t word = 0; word < accumulator_words(accumulator.kind); ++word) {
            const std::uint32_t place = accumulator.word + word;
            if (place >= program.value_words || used[place]) {
                refuse("an accumulator can't lie there");
            }
            used[place] = true;
        }
    }
}

void check_program(const AggregateProgram &program) {
    if (program.input_count > max_aggregate_inputs || program.step_count > max_aggregate_steps ||
        program.key_count > max_aggregate_keys || program.accumulator_count > max_aggregate_accumulators ||
        program.key_words > max_aggregate_keys || (program.key_count == 0) != (program.key_words == 0) ||
        program.value_words > 2 * max_aggregate_accumulators) {
        refuse("a program has too many parts");
    }
    for (std::uint32_t i = 0; i < program.step_count; ++i) {
        check_step(program, i);
    }
    if (program.filter != no_aggregate_step && program.filter >= program.step_count) {
        refuse("there is no such filter");
    }
    check_keys(program);
    check_accumulators(program);
}

// Rows are listed by their places, which a single accumulator must give.
void check_rows(const AggregateProgram &program, const AggregateTop &top) {
    const bool lists_places =
        program.accumulator_count == 1 && program.accumulator[0].kind == AccumulatorKind::least &&
        program.accumulator[0].filter == no_aggregate_step && program.value_words == 1 &&
        program.step[program.accumulator[0].step].operation == AggregateOperation::place;
    if ((top.of_rows & ~(top_with_ties | top_by_first_key)) != top_of_rows || top.count == 0 ||
        program.key_count == 0 || !lists_places) {
        refuse("rows can't be ordered so");
    }
}

void check_input(const StoreLayout &layout, const AggregateInput &input) {
    if (input.column >= layout.columns) {
        refuse("the run has no such column");
    }
    if (input.kind < AggregateInputKind::code || input.kind > AggregateInputKind::bits) {
        refuse("there is no such input");
    }
    if (input.kind == AggregateInputKind::code) {
        return;
    }
    if (input.places > (std::uint64_t(1) << 32) || (input.places > 0 && input.values == nullptr)) {
        refuse("a map has no values");
    }
    if (input.kind == AggregateInputKind::map128 && !input.column_null_is_null) {
        refuse("a number of 128 bits can't stand for NULL");
    }
}

// Numbers of 128 bits may only be added up, or counted.
void check_wide(const AggregatePlan &plan, const AggregateInput *inputs) {
    const AggregateProgram &program = plan.program;
    const auto is_wide = [&](std::uint16_t step) { return wide_input(program, inputs, step) != nullptr; };
    const auto require_narrow = [&](std::uint16_t step) {
        if (is_wide(step)) {
            refuse("numbers of 128 bits can only be added up");
        }
    };
    for (std::uint32_t i = 0; i < program.step_count; ++i) {
        const AggregateStep &step = program.step[i];
        if (takes_two(step.operation)) {
            require_narrow(step.right);
        }
        if ((takes_one(step.operation) && step.operation != AggregateOperation::is_null) ||
            takes_two(step.operation)) {
            require_narrow(step.left);
        }
    }
    require_narrow(program.filter);
    for (std::uint32_t i = 0; i < program.key_count; ++i) {
        require_narrow(program.key[i].step);
    }
    for (std::uint32_t i = 0; i < program.accumulator_count; ++i) {
        const Accumulator &accumulator = program.accumulator[i];
        require_narrow(accumulator.filter);
        if (accumulator.kind != AccumulatorKind::sum && accumulator.kind != AccumulatorKind::count) {
            require_narrow(accumulator.step);
        }
        if (accumulator.kind == AccumulatorKind::sum && accumulator.exponent != 0 &&
            is_wide(accumulator.step)) {
            refuse("nothing is known of the magnitudes of numbers of 128 bits");
        }
    }
}

class NeededSteps {
  public:
    explicit NeededSteps(const AggregateProgram &program)
        : program_(program), is_needed_(program.step_count, false) {}

    void add(std::uint16_t step) {
        if (step != no_aggregate_step) {
            is_needed_[step] = true;
        }
    }
    // The steps that are needed, and all steps that those need, which come before them.
    std::vector<std::uint16_t> list() {
        std::vector<std::uint16_t> steps;
        for (std::size_t i = program_.step_count; i-- > 0;) {
            const AggregateStep &step = program_.step[i];
            if (!is_needed_[i]) {
                continue;
            }
            steps.push_back(static_cast<std::uint16_t>(i));
            if (takes_one(step.operation) || takes_two(step.operation)) {
                add(step.left);
            }
            if (takes_two(step.operation)) {
                add(step.right);
            }
        }
        std::reverse(steps.begin(), steps.end());
        return steps;
    }

  private:
    const AggregateProgram &program_;
    std::vector<bool> is_needed_;
};

std::vector<AggregateCondition> list_steps_of_conditions(const AggregateProgram &program) {
    std::vector<AggregateCondition> listed;
    if (program.filter == no_aggregate_step) {
        return listed;
    }
    std::uint16_t conditions[max_aggregate_steps];
    const std::uint32_t count = list_conditions(program, program.filter, conditions);
    for (std::uint32_t i = 0; i < count; ++i) {
        NeededSteps needed(program);
        needed.add(conditions[i]);
        listed.push_back({conditions[i], needed.list()});
    }
    return listed;
}

AggregateSteps list_steps(const AggregateProgram &program, const AggregateTop &top) {
    NeededSteps of_filter(program);
    of_filter.add(program.filter);
    NeededSteps of_first(program);
    if ((top.of_rows & top_by_first_key) != 0) {
        of_first.add(program.key[0].step);
    }
    NeededSteps of_rest(program);
    for (std::uint32_t i = 0; i < program.key_count; ++i) {
        of_rest.add(program.key[i].step);
    }
    for (std::uint32_t i = 0; i < program.accumulator_count; ++i) {
        of_rest.add(program.accumulator[i].step);
        of_rest.add(program.accumulator[i].filter);
    }
    return {of_filter.list(), list_steps_of_conditions(program), of_first.list(), of_rest.list()};
}

}  // namespace

std::uint32_t AggregatePlan::key_bits() const {
    if (program.key_words > 1) {
        return 64;
    }
    std::uint32_t bits = 0;
    for (std::uint32_t i = 0; i < program.key_count; ++i) {
        bits = std::max(bits, std::uint32_t(program.key[i].shift) + program.key[i].bits);
    }
    return bits;
}

std::uint64_t AggregatePlan::codes_of(const AggregateKey &key) {
    return key.codes != 0 ? key.codes : key.bits < 64 ? std::uint64_t(1) << key.bits : UINT64_MAX;
}

std::uint64_t AggregatePlan::max_groups() const {
    std::uint64_t groups = 1;
    for (std::uint32_t i = 0; i < program.key_count; ++i) {
        const std::uint64_t codes = codes_of(program.key[i]);
        groups = codes > UINT64_MAX / groups ? UINT64_MAX : groups * codes;
    }
    return groups;
}

void check_top(const AggregateProgram &program, const AggregateTop &top) {
    const std::uint32_t record_words = program.key_words + program.value_words;
    const std::uint32_t order_words = top.is_wide != 0 ? 2 : 1;
    if (top.count > 0 && (record_words < order_words || top.word > record_words - order_words)) {
        refuse("groups are ordered by a word that they don't have");
    }
    if (top.of_rows != 0 && !wants_only_counts(top)) {
        check_rows(program, top);
    }
}

void check_leaving(const AggregateProgram &program, const AggregateTop &top) {
    check_top(program, top);
    if (program.key_count == 0 || (!wants_only_counts(top) && (top.count == 0 || top.of_rows != 0))) {
        refuse("all groups are wanted");
    }
}

AggregatePlan plan_aggregate(const AggregateRequest &request) {
    AggregatePlan plan;
    plan.program = *request.program;
    check_program(plan.program);
    check_top(plan.program, request.top);
    if (request.part_count == 0) {
        refuse("a request has no runs");
    }
    for (std::uint32_t part = 0; part < request.part_count; ++part) {
        const AggregatePart &requested = request.parts[part];
        const StoreLayout &layout = requested.store->layout();
        plan.rows += layout.rows;
        for (std::uint32_t i = 0; i < plan.program.input_count; ++i) {
            plan.inputs.push_back(requested.inputs[i]);
            check_input(layout, plan.inputs.back());
        }
        check_wide(plan, plan.inputs_of(part));
    }
    plan.rows = std::max(plan.rows, request.rows_of_all);
    plan.steps = list_steps(plan.program, request.top);
    return plan;
}

}  // namespace gpu_engine
