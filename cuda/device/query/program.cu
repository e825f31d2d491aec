#include "device/query/program.h"

#include <algorithm>

#include "common/query/plan.h"

namespace gpu_engine::query::on_device {
namespace {

constexpr std::uint32_t max_slots = 8192;

// Gives out slots. Those of two words lie beside each other.
class Slots {
  public:
    std::uint32_t take(std::uint32_t words) {
        std::uint32_t first = 0;
        while (!is_free(first) || (words == 2 && !is_free(first + 1))) {
            ++first;
        }
        if (first + words > is_taken_.size()) {
            is_taken_.resize(first + words);
        }
        set(first, words, true);
        if (is_taken_.size() > max_slots) {
            throw Failure{make_status(StatusCode::unavailable, "a query has too many values at once")};
        }
        return first;
    }
    void give_back(std::uint32_t first, std::uint32_t words) { set(first, words, false); }
    std::uint32_t count() const { return static_cast<std::uint32_t>(is_taken_.size()); }

  private:
    bool is_free(std::uint32_t slot) const { return slot >= is_taken_.size() || !is_taken_[slot]; }
    void set(std::uint32_t first, std::uint32_t words, bool taken) {
        std::fill_n(is_taken_.begin() + first, words, taken);
    }

    std::vector<bool> is_taken_;
};

}  // namespace

QueryData::QueryData(const Call &call, const Query &query)
    : constants(upload(call, query.constants, query.constant_count)) {
    std::uint64_t count = 0;
    for (std::uint32_t i = 0; i < query.zone_count; ++i) {
        count += query.zones[i].count;
    }
    transitions = call.buffer<ZoneTransition>(count);
    std::vector<Zone> views(query.zones, query.zones + query.zone_count);
    ZoneTransition *to = transitions.data();
    for (Zone &zone : views) {
        call.copy(to, zone.transitions, zone.count);
        zone.transitions = to;
        to += zone.count;
    }
    zones = upload(call, views);
}

Composer::Composer(const std::vector<SourceColumn> &source) {
    for (std::uint32_t column = 0; column < source.size(); ++column) {
        columns.push_back(static_cast<Number>(steps_.size()));
        steps_.push_back({Operation::column,
                          source[column].type,
                          8,
                          source[column].may_be_null,
                          false,
                          {none, none, none},
                          none,
                          column,
                          0,
                          0,
                          0});
    }
}

Composer::Number Composer::push(const Step &step, const std::vector<Number> &numbers) {
    const auto number_of = [&](std::uint16_t operand) {
        return operand == no_step ? none : numbers[operand];
    };
    FlatStep flat = {};
    flat.operation = step.operation;
    flat.type = step.type;
    flat.width = step.width;
    flat.may_fail = may_fail(step.operation);
    std::fill_n(flat.operands, 3, none);
    flat.source = step.left;
    flat.detail = step.detail;
    const std::uint32_t operands = operands_of(step.operation);
    const std::uint16_t own[3] = {step.left, step.right, step.third};
    bool any_null = false;
    bool all_null = true;
    for (std::uint32_t i = 0; i < operands; ++i) {
        flat.operands[i] = numbers[own[i]];
        any_null |= may_be_null(flat.operands[i]);
        all_null &= may_be_null(flat.operands[i]);
        flat.may_fail |= steps_[flat.operands[i]].may_fail;
    }
    flat.guard = number_of(step.guard);
    flat.may_fail |= flat.guard != none && steps_[flat.guard].may_fail;
    switch (step.operation) {
        case Operation::in_list:
            flat.list_count = step.right;
            flat.list_first = step.third;
            flat.may_be_null = any_null || step.detail == 1;
            break;
        case Operation::constant:
        case Operation::is_null:
        case Operation::is_true:
        case Operation::is_false:
        case Operation::is_distinct:
            flat.may_be_null = false;
            break;
        case Operation::null:
        case Operation::null_if_equal:
            flat.may_be_null = true;
            break;
        case Operation::coalesce:
        case Operation::greater:
        case Operation::lesser:
            flat.may_be_null = all_null;
            break;
        case Operation::choose:
            flat.may_be_null = may_be_null(flat.operands[1]) || may_be_null(flat.operands[2]);
            break;
        default:
            flat.may_be_null = any_null;
    }
    flat.may_be_null |= flat.guard != none;
    steps_.push_back(flat);
    return static_cast<Number>(steps_.size() - 1);
}

std::vector<Composer::Number> Composer::add(const Query &query, const Node &node) {
    std::vector<Number> numbers;
    for (std::uint32_t i = 0; i < node.steps.count; ++i) {
        const Step &step = query.steps[node.steps.first + i];
        numbers.push_back(step.operation == Operation::column ? columns[step.left] : push(step, numbers));
    }
    for (const StepPass &pass : passes_of(query, node)) {
        if (pass.condition != no_step) {
            gates_.push_back({{}, numbers[pass.condition]});
        }
    }
    if (node.kind == NodeKind::compute) {
        std::vector<Number> outputs;
        std::vector<Number> failing;
        for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
            outputs.push_back(numbers[query.outputs[node.outputs.first + i]]);
            if (steps_[outputs.back()].may_fail) {
                failing.push_back(outputs.back());
            }
        }
        columns = std::move(outputs);
        if (!failing.empty()) {
            gates_.push_back({std::move(failing), none});
        }
    }
    return numbers;
}

Program::Program(const Call &call, const QueryData &data, const Composer &composer,
                 const std::vector<Composer::Number> &roots, std::uint32_t own_slots) {
    using Number = Composer::Number;
    constexpr Number none = Composer::none;
    const auto &steps = composer.steps_;
    const std::size_t count = steps.size();

    // How often each value is used, if at all. Operands come before the steps that take them.
    std::vector<std::uint32_t> uses(count, 0);
    std::vector<bool> is_operand(count, false);
    for (const Number root : roots) {
        if (root != none) {
            ++uses[root];
        }
    }
    const auto for_gate = [](const Composer::Gate &gate, auto visit) {
        for (const Number needed : gate.needed) {
            visit(needed);
        }
        if (gate.filter != none) {
            visit(gate.filter);
        }
    };
    for (const Composer::Gate &gate : composer.gates_) {
        for_gate(gate, [&](Number number) { ++uses[number]; });
    }
    const auto for_operands = [&](Number step, auto visit) {
        for (const Number operand : steps[step].operands) {
            if (operand != none) {
                visit(operand);
            }
        }
        if (steps[step].guard != none) {
            visit(steps[step].guard);
        }
    };
    for (std::size_t i = count; i-- > 0;) {
        if (uses[i] > 0) {
            for_operands(static_cast<Number>(i), [&](Number operand) {
                ++uses[operand];
                is_operand[operand] = true;
            });
        }
    }

    // The order: what a filter needs comes before it, and all that only later ones need behind it.
    std::vector<Number> order;
    std::vector<std::uint32_t> stage_ends;
    std::vector<bool> is_needed(count, false);
    std::vector<bool> is_done(count, false);
    const auto emit_needed = [&] {
        for (std::size_t i = count; i-- > 0;) {
            if (is_needed[i]) {
                for_operands(static_cast<Number>(i), [&](Number operand) { is_needed[operand] = true; });
            }
        }
        for (Number i = 0; i < count; ++i) {
            const Operation operation = steps[i].operation;
            const bool has_slot = operation == Operation::column
                                      ? uses[i] > 1 || is_operand[i]
                                      : operation != Operation::constant && operation != Operation::null;
            if (is_needed[i] && !is_done[i] && has_slot) {
                order.push_back(i);
                is_done[i] = true;
            }
        }
        stage_ends.push_back(static_cast<std::uint32_t>(order.size()));
    };
    for (const Composer::Gate &gate : composer.gates_) {
        for_gate(gate, [&](Number number) { is_needed[number] = true; });
        emit_needed();
    }
    for (const Number root : roots) {
        if (root != none) {
            is_needed[root] = true;
        }
    }
    emit_needed();

    // A slot is free again behind the last step that reads it; that step may store its result there. What a
    // filter reads stays until the next stage has begun, and what the sink reads until the end.
    std::vector<std::size_t> last_use(count, 0);
    for (std::size_t at = 0; at < order.size(); ++at) {
        for_operands(order[at], [&](Number operand) { last_use[operand] = at; });
    }
    for (std::size_t i = 0; i < composer.gates_.size(); ++i) {
        if (const Number filter = composer.gates_[i].filter; filter != none) {
            last_use[filter] = std::max<std::size_t>(last_use[filter], stage_ends[i]);
        }
    }
    for (const Number root : roots) {
        if (root != none) {
            last_use[root] = SIZE_MAX;
        }
    }

    Slots slots;
    std::vector<std::uint32_t> slot_of(count, 0);
    const auto operand_of = [&](Number number) {
        if (number == none) {
            return Operand{Source::none, ValueType::boolean, 0};
        }
        const auto &step = steps[number];
        if (is_done[number]) {
            return Operand{Source::slot, step.type, static_cast<std::uint16_t>(slot_of[number])};
        }
        const Source source = step.operation == Operation::column     ? Source::column
                              : step.operation == Operation::constant ? Source::constant
                                                                      : Source::null;
        return Operand{source, step.type, static_cast<std::uint16_t>(step.source)};
    };
    std::vector<Instruction> instructions;
    std::vector<Stage> stages;
    std::size_t filter_stages = 0;
    std::vector<Number> with_slot;
    std::uint32_t first = 0;
    for (std::size_t stage = 0; stage < stage_ends.size(); ++stage) {
        for (std::size_t at = first; at < stage_ends[stage]; ++at) {
            const auto &step = steps[order[at]];
            Instruction instruction = {step.operation,
                                       step.type,
                                       step.width,
                                       0,
                                       0,
                                       operand_of(step.operands[0]),
                                       operand_of(step.operands[1]),
                                       operand_of(step.operands[2]),
                                       operand_of(step.guard),
                                       step.detail,
                                       step.list_first,
                                       step.list_count};
            if (step.operation == Operation::column) {
                instruction.left = {Source::column, step.type, static_cast<std::uint16_t>(step.source)};
            }
            std::erase_if(with_slot, [&](Number number) {
                if (last_use[number] > at) {
                    return false;
                }
                slots.give_back(slot_of[number], words_of(steps[number].type));
                return true;
            });
            slot_of[order[at]] = slots.take(words_of(step.type));
            with_slot.push_back(order[at]);
            instruction.to = static_cast<std::uint16_t>(slot_of[order[at]]);
            instructions.push_back(instruction);
        }
        const Number filter = stage < composer.gates_.size() ? composer.gates_[stage].filter : none;
        stages.push_back({first, stage_ends[stage] - first, operand_of(filter)});
        filter_stages = filter != none ? stages.size() : filter_stages;
        first = stage_ends[stage];
    }
    for (const Number root : roots) {
        roots_.push_back(operand_of(root));
    }
    first_own_slot_ = slots.count();
    instructions_ = upload(call, instructions);
    stages_ = upload(call, stages);
    view_ = {instructions_.data(),
             stages_.data(),
             data.constants.data(),
             data.zones.data(),
             static_cast<std::uint32_t>(stages.size()),
             static_cast<std::uint32_t>(filter_stages),
             first_own_slot_ + own_slots};
}

}  // namespace gpu_engine::query::on_device
