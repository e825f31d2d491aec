#include "device/column/aggregate/program.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace gpu_engine::device {
namespace {

constexpr std::size_t always = SIZE_MAX;

// Gives steps their slots, and makes instructions of those that have one, stage by stage.
class Compiler {
  public:
    explicit Compiler(const AggregateProgram &program)
        : program_(program),
          is_listed_(program.step_count, false),
          uses_(program.step_count),
          last_use_(program.step_count),
          operands_(program.step_count) {}

    // Steps of an earlier stage are not computed again. `condition` may be no_aggregate_step.
    void add_stage(const std::vector<std::uint16_t> &steps, std::uint16_t condition) {
        for (const std::uint16_t step : steps) {
            if (!is_listed_[step]) {
                order_.push_back(step);
                is_listed_[step] = true;
            }
        }
        stages_.push_back({order_.size(), condition, {}});
    }
    // Names a step that is wanted when all stages have been computed.
    void keep(std::uint16_t step) { use(step, always); }

    void compile() {
        for (std::size_t place = 0; place < order_.size(); ++place) {
            const AggregateStep &step = program_.step[order_[place]];
            if (takes_one(step.operation) || takes_two(step.operation)) {
                use(step.left, place);
            }
            if (takes_two(step.operation)) {
                use(step.right, place);
            }
        }
        for (const Steps &stage : stages_) {
            use(stage.condition, stage.end);
        }
        std::size_t place = 0;
        for (Steps &stage : stages_) {
            for (; place < stage.end; ++place) {
                compile(place, &stage.instructions);
            }
        }
    }

    const std::vector<Instruction> &steps(std::size_t stage) const noexcept {
        return stages_[stage].instructions;
    }
    Operand operand(std::uint16_t step) const noexcept { return operands_[step]; }
    std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(busy_until_.size()); }

  private:
    struct Steps {
        std::size_t end;  // where its steps end in order_
        std::uint16_t condition;
        std::vector<Instruction> instructions;
    };

    void use(std::uint16_t step, std::size_t place) {
        if (step != no_aggregate_step) {
            ++uses_[step];
            last_use_[step] = std::max(last_use_[step], place);
        }
    }

    void compile(std::size_t place, std::vector<Instruction> *instructions) {
        const std::uint16_t number = order_[place];
        const AggregateStep &step = program_.step[number];
        switch (step.operation) {
            case AggregateOperation::constant:
                operands_[number] = {Source::constant, number};
                return;
            case AggregateOperation::null:
                operands_[number] = {Source::null, 0};
                return;
            case AggregateOperation::input:
                operands_[number] = {Source::input, step.left};
                break;
            case AggregateOperation::place:
                operands_[number] = {Source::place, 0};
                break;
            default:
                break;
        }
        const bool is_looked_up =
            step.operation == AggregateOperation::input || step.operation == AggregateOperation::place;
        if (is_looked_up && uses_[number] < 2) {
            return;
        }
        Instruction instruction = {step.operation, step.width, 0, operands_[number], {Source::null, 0}};
        if (!is_looked_up) {
            instruction.left = operands_[step.left];
            instruction.right = takes_two(step.operation) ? operands_[step.right] : instruction.left;
        }
        // The result may take an operand's slot, because operands are read before the result is written.
        instruction.to = take_slot(place, last_use_[number]);
        operands_[number] = {Source::slot, instruction.to};
        instructions->push_back(instruction);
    }
    // Takes a slot whose value isn't wanted from `place` on.
    std::uint16_t take_slot(std::size_t place, std::size_t last_use) {
        std::size_t slot = 0;
        while (slot < busy_until_.size() && busy_until_[slot] > place) {
            ++slot;
        }
        if (slot == busy_until_.size()) {
            busy_until_.push_back(0);
        }
        busy_until_[slot] = last_use;
        return static_cast<std::uint16_t>(slot);
    }

    const AggregateProgram &program_;
    std::vector<std::uint16_t> order_;
    std::vector<bool> is_listed_;
    std::vector<Steps> stages_;
    std::vector<std::uint32_t> uses_;
    std::vector<std::size_t> last_use_;
    std::vector<Operand> operands_;
    std::vector<std::size_t> busy_until_;
};

// Compiles the filter, unless rows needn't be looked at for it, and then what keys and accumulators need.
Compiler compile_all(const AggregatePlan &plan, bool has_filter) {
    const AggregateProgram &program = plan.program;
    Compiler compiler(program);
    if (has_filter) {
        compiler.add_stage(plan.steps.filter, program.filter);
    } else {
        compiler.add_stage({}, no_aggregate_step);
    }
    compiler.add_stage(plan.steps.rest, no_aggregate_step);
    for (std::uint32_t i = 0; i < program.key_count; ++i) {
        compiler.keep(program.key[i].step);
    }
    for (std::uint32_t i = 0; i < program.accumulator_count; ++i) {
        compiler.keep(program.accumulator[i].step);
        compiler.keep(program.accumulator[i].filter);
    }
    compiler.compile();
    return compiler;
}

// Returns the first condition that rows aren't tested for; nullptr without one.
const AggregateCondition *find_first(const AggregatePlan &plan, const std::vector<bool> &is_tested) {
    for (std::size_t i = 0; i < plan.steps.conditions.size(); ++i) {
        if (!is_tested[i]) {
            return &plan.steps.conditions[i];
        }
    }
    return nullptr;
}

// Returns for each input whether it is looked up.
std::vector<bool> list_inputs(const AggregatePlan &plan, bool has_filter) {
    std::vector<bool> is_needed(plan.program.input_count, false);
    const auto add = [&](const std::vector<std::uint16_t> &steps) {
        for (const std::uint16_t number : steps) {
            const AggregateStep &step = plan.program.step[number];
            if (step.operation == AggregateOperation::input) {
                is_needed[step.left] = true;
            }
        }
    };
    add(plan.steps.rest);
    if (has_filter) {
        add(plan.steps.filter);
    }
    return is_needed;
}

}  // namespace

bool is_narrow_sum(const Accumulator &accumulator, std::uint64_t rows) {
    const bool is_plain =
        accumulator.kind == AccumulatorKind::sum || accumulator.kind == AccumulatorKind::sum_squares;
    return is_plain && accumulator.exponent != 0 && accumulator.exponent + std::bit_width(rows) <= 63;
}

bool is_narrow_top(const AggregateProgram &program, const AggregateTop &top, std::uint64_t rows) {
    for (std::uint32_t i = 0; i < program.accumulator_count; ++i) {
        const Accumulator &accumulator = program.accumulator[i];
        if (program.key_words + accumulator.word == top.word) {
            return is_narrow_sum(accumulator, rows);
        }
    }
    return false;
}

std::uint32_t find_rows_word(const AggregateProgram &program) {
    for (std::uint32_t i = 0; i < program.accumulator_count; ++i) {
        const Accumulator &accumulator = program.accumulator[i];
        if (accumulator.kind == AccumulatorKind::count && accumulator.step == no_aggregate_step &&
            accumulator.filter == no_aggregate_step) {
            return accumulator.word;
        }
    }
    return program.value_words;
}

// Maps have at least one place, because codes beyond a map are looked up at the first one.
const void *PartProgram::upload(const Call &call, const void *values, std::uint64_t bytes) {
    constexpr std::uint64_t least = 2 * sizeof(std::uint64_t);
    held_.push_back(call.buffer<std::uint64_t>((std::max(bytes, least) + 7) / 8));
    auto *device = reinterpret_cast<char *>(held_.back().data());
    if (bytes < least) {
        call.fill(device, 0, least);
    }
    call.copy(device, static_cast<const char *>(values), bytes);
    return device;
}

std::vector<InputView> PartProgram::upload_inputs(const Call &call, const AggregatePlan &plan,
                                                  const AggregateInput *inputs, const StoreParts &parts,
                                                  bool has_filter) {
    const std::vector<bool> is_needed = list_inputs(plan, has_filter);
    std::vector<InputView> views;
    for (std::uint32_t i = 0; i < plan.program.input_count; ++i) {
        InputView view{inputs[i], parts.codes(inputs[i].column), parts.null_bits(inputs[i].column),
                       parts.layout.column[inputs[i].column].bits};
        if (view.input.kind == AggregateInputKind::code || !is_needed[i]) {
            view.input.values = nullptr;
            view.input.nulls = nullptr;
        } else {
            view.input.values = upload(call, inputs[i].values, bytes_of_map(inputs[i]));
            if (inputs[i].nulls != nullptr) {
                view.input.nulls = static_cast<const std::uint64_t *>(
                    upload(call, inputs[i].nulls, (inputs[i].places + 63) / 64 * sizeof(std::uint64_t)));
            }
        }
        views.push_back(view);
    }
    return views;
}

PartProgram::PartProgram(const Call &call, const AggregatePlan &plan, const AggregateInput *inputs,
                         const StoreParts &parts, const std::vector<bool> &is_tested,
                         std::uint32_t rows_word) {
    const AggregateProgram &program = plan.program;
    const AggregateCondition *condition = find_first(plan, is_tested);
    const bool has_filter = condition != nullptr;
    Compiler first(program);
    if (has_filter) {
        first.add_stage(condition->steps, condition->step);
        first.compile();
    }
    const Compiler compiler = compile_all(plan, has_filter);
    const std::vector<InputView> input_views = upload_inputs(call, plan, inputs, parts, has_filter);
    std::vector<std::int64_t> constants;
    for (std::uint32_t i = 0; i < program.step_count; ++i) {
        constants.push_back(program.step[i].constant);
    }
    std::vector<KeyView> keys;
    // Factors that overflow belong to groups that aren't dense.
    std::uint64_t factor = 1;
    for (std::uint32_t i = 0; i < program.key_count; ++i) {
        const AggregateKey &key = program.key[i];
        const std::uint64_t codes = AggregatePlan::codes_of(key);
        keys.push_back({key, compiler.operand(key.step), codes, factor});
        factor *= codes;
    }
    std::vector<AccumulatorView> accumulators;
    for (std::uint32_t i = 0; i < program.accumulator_count; ++i) {
        const Accumulator &accumulator = program.accumulator[i];
        AccumulatorView view = {accumulator.kind,
                                accumulator.step != no_aggregate_step,
                                accumulator.filter != no_aggregate_step,
                                is_narrow_sum(accumulator, plan.rows),
                                false,
                                plan.rows <= UINT32_MAX,
                                accumulator.exponent,
                                accumulator.word,
                                {},
                                {},
                                nullptr};
        if (view.has_argument) {
            view.argument = compiler.operand(accumulator.step);
        }
        if (view.has_filter) {
            view.filter = compiler.operand(accumulator.filter);
        }
        if (wide_input(program, inputs, accumulator.step) != nullptr) {
            view.wide = static_cast<const std::uint64_t *>(
                input_views[program.step[accumulator.step].left].input.values);
        }
        accumulators.push_back(view);
    }
    view_.value_words = program.value_words;
    if (rows_word == program.value_words) {
        accumulators.push_back(
            {AccumulatorKind::count, false, false, false, true, true, 0, rows_word, {}, {}, nullptr});
        ++view_.value_words;
    }
    // All lists go to the device in one copy.
    std::vector<std::uint64_t> image;
    std::vector<std::function<void(const std::uint64_t *)>> pointers;
    const auto give = [&]<typename Element>(const std::vector<Element> &elements, const Element **view) {
        static_assert(alignof(Element) <= alignof(std::uint64_t));
        const std::size_t place = image.size();
        image.resize(place + (elements.size() * sizeof(Element) + 7) / 8);
        std::copy_n(reinterpret_cast<const char *>(elements.data()), elements.size() * sizeof(Element),
                    reinterpret_cast<char *>(image.data() + place));
        pointers.emplace_back([view, place](const std::uint64_t *device) {
            *view = reinterpret_cast<const Element *>(device + place);
        });
        return static_cast<std::uint32_t>(elements.size());
    };
    const auto give_stage = [&](Stage stage, const std::vector<Instruction> &steps) {
        view_.stage[stage].count = give(steps, &view_.stage[stage].steps);
    };
    if (has_filter) {
        view_.stage[first_stage].has_condition = true;
        view_.stage[first_stage].condition = first.operand(condition->step);
        give_stage(first_stage, first.steps(0));
        view_.stage[filter_stage].has_condition = true;
        view_.stage[filter_stage].condition = compiler.operand(program.filter);
    }
    give_stage(filter_stage, compiler.steps(0));
    give_stage(rest_stage, compiler.steps(1));
    give(input_views, &view_.inputs);
    give(constants, &view_.constants);
    view_.key_count = give(keys, &view_.keys);
    view_.key_words = program.key_words;
    view_.accumulator_count = give(accumulators, &view_.accumulators);
    // The memory isn't pinned, so it has been read when the call returns.
    const void *device = upload(call, image.data(), image.size() * sizeof(std::uint64_t));
    for (const auto &point : pointers) {
        point(static_cast<const std::uint64_t *>(device));
    }
    view_.slots = std::max(first.slots(), compiler.slots());
}

}  // namespace gpu_engine::device
