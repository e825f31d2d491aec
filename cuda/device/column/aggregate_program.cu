#include "device/column/aggregate_program.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {
namespace {

constexpr std::size_t always = SIZE_MAX;

// Gives steps their slots, and makes instructions of those that have one.
class Compiler {
  public:
    explicit Compiler(const AggregatePlan &plan)
        : plan_(plan),
          uses_(plan.program.step_count),
          last_use_(plan.program.step_count),
          operands_(plan.program.step_count) {
        std::vector<bool> is_listed(plan.program.step_count, false);
        for (const std::uint16_t step : plan.steps.filter) {
            order_.push_back(step);
            is_listed[step] = true;
        }
        filter_steps_ = order_.size();
        for (const std::uint16_t step : plan.steps.rest) {
            if (!is_listed[step]) {
                order_.push_back(step);
            }
        }
        count_uses();
        for (std::size_t place = 0; place < order_.size(); ++place) {
            compile(place);
        }
    }

    const std::vector<Instruction> &filter_steps() const noexcept { return instructions_[0]; }
    const std::vector<Instruction> &steps() const noexcept { return instructions_[1]; }
    Operand operand(std::uint16_t step) const noexcept { return operands_[step]; }
    std::uint32_t slots() const noexcept { return slots_; }

  private:
    void use(std::uint16_t step, std::size_t place) {
        if (step != no_aggregate_step) {
            ++uses_[step];
            last_use_[step] = std::max(last_use_[step], place);
        }
    }
    void count_uses() {
        const AggregateProgram &program = plan_.program;
        for (std::size_t place = 0; place < order_.size(); ++place) {
            const AggregateStep &step = program.step[order_[place]];
            if (takes_one(step.operation) || takes_two(step.operation)) {
                use(step.left, place);
            }
            if (takes_two(step.operation)) {
                use(step.right, place);
            }
        }
        use(program.filter, filter_steps_);
        for (std::uint32_t i = 0; i < program.key_count; ++i) {
            use(program.key[i].step, always);
        }
        for (std::uint32_t i = 0; i < program.accumulator_count; ++i) {
            use(program.accumulator[i].step, always);
            use(program.accumulator[i].filter, always);
        }
    }

    void compile(std::size_t place) {
        const std::uint16_t number = order_[place];
        const AggregateStep &step = plan_.program.step[number];
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
        instructions_[place < filter_steps_ ? 0 : 1].push_back(instruction);
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
        slots_ = static_cast<std::uint32_t>(busy_until_.size());
        return static_cast<std::uint16_t>(slot);
    }

    const AggregatePlan &plan_;
    std::vector<std::uint16_t> order_;
    std::size_t filter_steps_ = 0;
    std::vector<std::uint32_t> uses_;
    std::vector<std::size_t> last_use_;
    std::vector<Operand> operands_;
    std::vector<std::size_t> busy_until_;
    std::vector<Instruction> instructions_[2];
    std::uint32_t slots_ = 0;
};

std::uint64_t bytes_of_map(const AggregateInput &input) {
    switch (input.kind) {
        case AggregateInputKind::map8:
            return input.places;
        case AggregateInputKind::map32:
            return input.places * sizeof(std::uint32_t);
        case AggregateInputKind::map64:
            return input.places * sizeof(std::uint64_t);
        default:
            return input.places * 2 * sizeof(std::uint64_t);
    }
}

}  // namespace

bool is_narrow_sum(const Accumulator &accumulator, std::uint64_t rows) {
    const bool is_plain =
        accumulator.kind == AccumulatorKind::sum || accumulator.kind == AccumulatorKind::sum_squares;
    return is_plain && accumulator.exponent != 0 && accumulator.exponent + std::bit_width(rows) <= 63;
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
                                                  const AggregateInput *inputs, const StoreParts &parts) {
    std::vector<InputView> views;
    for (std::uint32_t i = 0; i < plan.program.input_count; ++i) {
        InputView view{inputs[i], parts.codes(inputs[i].column), parts.null_bits(inputs[i].column),
                       parts.layout.column[inputs[i].column].bits};
        if (view.input.kind == AggregateInputKind::code) {
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
                         const StoreParts &parts, std::uint32_t rows_word) {
    const AggregateProgram &program = plan.program;
    const Compiler compiler(plan);
    const std::vector<InputView> input_views = upload_inputs(call, plan, inputs, parts);
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
            {AccumulatorKind::count, false, false, false, true, 0, rows_word, {}, {}, nullptr});
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
    view_.filter_step_count = give(compiler.filter_steps(), &view_.filter_steps);
    view_.step_count = give(compiler.steps(), &view_.steps);
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
    view_.slots = compiler.slots();
    view_.has_filter = program.filter != no_aggregate_step;
    if (view_.has_filter) {
        view_.filter = compiler.operand(program.filter);
    }
}

}  // namespace gpu_engine::device
