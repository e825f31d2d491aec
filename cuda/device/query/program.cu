#include "device/query/program.h"

#include <algorithm>
#include <iterator>

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

bool can_probe(const Query &query, const Node &join, const BuildSide &build) {
    if (join.join_keys.count == 0 || join.join == JoinKind::right || join.join == JoinKind::full) {
        return false;
    }
    if (join.filter == no_step) {
        return build.is_unique || join.join == JoinKind::semi || join.join == JoinKind::anti ||
               join.join == JoinKind::anti_null;
    }
    if (join.join == JoinKind::inner || join.join == JoinKind::semi) {
        return build.is_unique;
    }
    // The filter is computed of rows without a match, too, in which it mustn't fail.
    const Step *steps = query.steps + join.steps.first;
    return build.is_unique && std::none_of(steps, steps + join.steps.count,
                                           [](const Step &step) { return may_fail(step.operation); });
}

Composer::Composer(const std::vector<SourceColumn> &source) {
    for (std::uint32_t column = 0; column < source.size(); ++column) {
        FlatStep step;
        step.task = Task::read;
        step.operation = Operation::column;
        step.type = source[column].type;
        step.may_be_null = source[column].may_be_null;
        step.source = column;
        columns.push_back(push(std::move(step)));
    }
}

Composer::Number Composer::push(FlatStep step) {
    steps_.push_back(std::move(step));
    return static_cast<Number>(steps_.size() - 1);
}

Composer::Number Composer::push(const Step &step, const std::vector<Number> &numbers) {
    const auto number_of = [&](std::uint16_t operand) {
        return operand == no_step ? none : numbers[operand];
    };
    FlatStep flat;
    flat.operation = step.operation;
    flat.type = step.type;
    flat.width = step.width;
    flat.may_fail = may_fail(step.operation);
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
    return push(std::move(flat));
}

std::vector<Composer::Number> Composer::push_steps(const Query &query, const Node &node) {
    std::vector<Number> numbers;
    for (std::uint32_t i = 0; i < node.steps.count; ++i) {
        const Step &step = query.steps[node.steps.first + i];
        numbers.push_back(step.operation == Operation::column ? columns[step.left] : push(step, numbers));
    }
    return numbers;
}

void Composer::add_conditions(const Query &query, const Node &node, const std::vector<Number> &numbers) {
    for (const StepPass &pass : passes_of(query, node)) {
        if (pass.condition != no_step) {
            gates_.push_back({{}, numbers[pass.condition]});
        }
    }
}

std::vector<Composer::Number> Composer::add(const Query &query, const Node &node) {
    std::vector<Number> numbers = push_steps(query, node);
    add_conditions(query, node, numbers);
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

void Composer::add_filter(const Query &query, const Node &join) {
    add_conditions(query, join, push_steps(query, join));
}

void Composer::choose_columns(const Query &query, const Node &join) {
    std::vector<Number> chosen;
    for (std::uint32_t i = 0; i < join.outputs.count; ++i) {
        chosen.push_back(columns[query.outputs[join.outputs.first + i]]);
    }
    columns = std::move(chosen);
}

void Composer::push_gathers(const BuildSide &build, Number row, bool may_lack_row, std::vector<Number> *to) {
    for (std::uint32_t column = 0; column < build.columns.size(); ++column) {
        FlatStep step;
        step.task = Task::gather;
        step.type = build.columns[column].type;
        step.may_be_null = may_lack_row || build.columns[column].may_be_null;
        step.may_fail = steps_[row].may_fail;
        step.operands[0] = row;
        step.list_first = column;
        step.detail = static_cast<std::uint32_t>(joins_.size() - 1);
        to->push_back(push(std::move(step)));
    }
}

Composer::Number Composer::push_row_if(Number condition, Number row) {
    FlatStep nothing;
    nothing.operation = Operation::null;
    nothing.type = ValueType::int64;
    nothing.may_be_null = true;
    FlatStep step;
    step.operation = Operation::choose;
    step.type = ValueType::int64;
    step.may_be_null = true;
    step.may_fail = steps_[condition].may_fail || steps_[row].may_fail;
    step.operands[0] = condition;
    step.operands[1] = row;
    step.operands[2] = push(std::move(nothing));
    return push(std::move(step));
}

Composer::Number Composer::push_probe(const Query &query, const Node &join, const BuildSide &build) {
    joins_.push_back(build.view);
    FlatStep probe;
    probe.task = Task::probe;
    probe.type = ValueType::int64;
    probe.may_be_null = true;
    probe.detail = static_cast<std::uint32_t>(joins_.size() - 1);
    for (std::uint32_t k = 0; k < join.join_keys.count; k += 2) {
        probe.keys.push_back(columns[query.outputs[join.join_keys.first + k]]);
        probe.may_fail |= steps_[probe.keys.back()].may_fail;
    }
    return push(std::move(probe));
}

void Composer::keep_matching(const Query &query, const Node &join, const BuildSide &build) {
    gates_.push_back({{}, push_probe(query, join, build), Passing::is_not_null});
}

void Composer::add_join(const Query &query, const Node &join, const BuildSide &build) {
    Number row = push_probe(query, join, build);
    const std::vector<Number> keys = steps_[row].keys;
    const bool is_inner = join.join == JoinKind::inner || join.join == JoinKind::semi;
    const std::vector<Number> probed = columns;
    if (is_inner) {
        gates_.push_back({{}, row, Passing::is_not_null});
    }
    if (join.filter != no_step) {
        push_gathers(build, row, !is_inner, &columns);
        if (is_inner) {
            add_filter(query, join);
        } else {
            row = push_row_if(push_steps(query, join)[join.filter], row);
            columns = probed;
        }
    }
    switch (join.join) {
        case JoinKind::inner:
            if (join.filter == no_step) {
                push_gathers(build, row, false, &columns);
            }
            break;
        case JoinKind::left:
            push_gathers(build, row, true, &columns);
            break;
        case JoinKind::anti_null:
            if (build.has_null_key) {
                // Of no row can it be said that its key isn't among these.
                gates_.push_back({{}, row, Passing::is_null});
                gates_.push_back({{}, row, Passing::is_not_null});
            } else if (build.view.rows > 0) {
                gates_.push_back({{}, keys[0], Passing::is_not_null});
                gates_.push_back({{}, row, Passing::is_null});
            }
            break;
        case JoinKind::anti:
            gates_.push_back({{}, row, Passing::is_null});
            break;
        default:
            break;
    }
    choose_columns(query, join);
}

Program::Program(const Call &call, const QueryData &data, const Composer &composer,
                 const std::vector<Composer::Number> &roots, std::uint32_t own_slots,
                 bool are_roots_in_slots) {
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
            is_operand[root] = are_roots_in_slots;
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
        for (const Number key : steps[step].keys) {
            visit(key);
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
    std::vector<Operand> key_operands;
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
                                       step.task,
                                       0,
                                       operand_of(step.operands[0]),
                                       operand_of(step.operands[1]),
                                       operand_of(step.operands[2]),
                                       operand_of(step.guard),
                                       step.detail,
                                       step.list_first,
                                       step.list_count};
            if (step.task == Task::read) {
                instruction.left = {Source::column, step.type, static_cast<std::uint16_t>(step.source)};
            } else if (step.task == Task::probe) {
                instruction.list_first = static_cast<std::uint32_t>(key_operands.size());
                instruction.list_count = static_cast<std::uint32_t>(step.keys.size());
                std::transform(step.keys.begin(), step.keys.end(), std::back_inserter(key_operands),
                               operand_of);
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
            has_failing_steps_ = has_failing_steps_ || step.may_fail;
            instructions.push_back(instruction);
        }
        const Number filter = stage < composer.gates_.size() ? composer.gates_[stage].filter : none;
        const Passing passing =
            stage < composer.gates_.size() ? composer.gates_[stage].passing : Passing::is_true;
        stages.push_back({first, stage_ends[stage] - first, operand_of(filter), passing});
        filter_stages = filter != none ? stages.size() : filter_stages;
        first = stage_ends[stage];
    }
    for (const Number root : roots) {
        roots_.push_back(operand_of(root));
    }
    first_own_slot_ = slots.count();
    instructions_ = upload(call, instructions);
    stages_ = upload(call, stages);
    joins_ = upload(call, composer.joins_);
    key_operands_ = upload(call, key_operands);
    view_ = {instructions_.data(), stages_.data(), data.constants.data(), data.zones.data(), joins_.data(),
             key_operands_.data(), static_cast<std::uint32_t>(stages.size()),
             static_cast<std::uint32_t>(filter_stages),
             // A thread has words of its own that a NULL may be read from.
             std::max(first_own_slot_ + own_slots, 1U)};
}

}  // namespace gpu_engine::query::on_device
