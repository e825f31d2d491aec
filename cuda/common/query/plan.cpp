#include "common/query/plan.h"

#include <algorithm>
#include <iterator>

#include "common/query/dispatch.h"

namespace gpu_engine::query {
namespace {

struct CountOperands {
    std::uint32_t *count;
    template <typename Class>
    bool operator()(Class) const {
        *count = Class::operands;
        return true;
    }
};

// Calls visit(step) for the steps that a step takes.
template <typename Visit>
void for_taken(const Step &step, Visit visit) {
    const std::uint16_t taken[3] = {step.left, step.right, step.third};
    for (std::uint32_t i = 0; i < operands_of(step.operation); ++i) {
        visit(taken[i]);
    }
    if (step.guard != no_step) {
        visit(step.guard);
    }
}

// Marks what the marked steps need.
void mark_taken(const Step *steps, std::vector<bool> *is_marked) {
    for (std::size_t i = is_marked->size(); i-- > 0;) {
        if ((*is_marked)[i]) {
            for_taken(steps[i], [&](std::uint16_t taken) { (*is_marked)[taken] = true; });
        }
    }
}

// The conditions whose conjunction a filter is, in the order of their steps.
std::vector<std::uint16_t> conditions_of(const Step *steps, std::uint16_t filter) {
    std::vector<bool> is_needed(filter + 1U);
    std::vector<bool> is_condition(filter + 1U);
    is_needed[filter] = true;
    is_condition[filter] = true;
    mark_taken(steps, &is_needed);
    for (std::uint32_t i = filter + 1U; i-- > 0;) {
        if (is_needed[i] && may_fail(steps[i].operation)) {
            return {filter};
        }
        if (is_condition[i] && steps[i].operation == Operation::logical_and && steps[i].guard == no_step) {
            is_condition[i] = false;
            is_condition[steps[i].left] = true;
            is_condition[steps[i].right] = true;
        }
    }
    std::vector<std::uint16_t> conditions;
    for (std::uint16_t i = 0; i <= filter; ++i) {
        if (is_condition[i]) {
            conditions.push_back(i);
        }
    }
    return conditions;
}

// Marks the steps that a node gives or adds up.
void mark_results(const Query &query, const Node &node, std::vector<bool> *is_marked) {
    // Those of a join aren't steps.
    for (std::uint32_t i = 0; node.kind != NodeKind::join && i < node.outputs.count; ++i) {
        (*is_marked)[query.outputs[node.outputs.first + i]] = true;
    }
    for (std::uint32_t i = 0; node.kind == NodeKind::aggregate && i < node.accumulators.count; ++i) {
        const Accumulator &accumulator = query.accumulators[node.accumulators.first + i];
        if (takes_argument(accumulator.kind)) {
            (*is_marked)[accumulator.argument] = true;
        }
        if (accumulator.filter != no_step) {
            (*is_marked)[accumulator.filter] = true;
        }
    }
}

}  // namespace

std::uint32_t operands_of(Operation operation) noexcept {
    std::uint32_t count = 0;
    with_operation(operation, ValueType::int64, CountOperands{&count});
    return count;
}

bool may_fail(Operation operation) noexcept {
    switch (operation) {
        case Operation::add:
        case Operation::subtract:
        case Operation::multiply:
        case Operation::divide:
        case Operation::modulo:
        case Operation::negate:
        case Operation::absolute:
        case Operation::divide_round:
        case Operation::divide_ceiling:
        case Operation::divide_floor:
        case Operation::quotient_digits:
        case Operation::quotient:
        case Operation::square_root:
        case Operation::product_rest:
        case Operation::float_function:
        case Operation::float_function_of_two:
        case Operation::narrow:
        case Operation::float_to_float:
        case Operation::float_to_integer:
        case Operation::float_to_decimal:
        case Operation::float_scale:
        case Operation::look_up:
            return true;
        default:
            return operation >= Operation::date_of_timestamp;
    }
}

bool needs_processors(const Query &query) noexcept {
    return std::any_of(query.steps, query.steps + query.step_count, [](const Step &step) {
        return step.operation == Operation::float_function ||
               step.operation == Operation::float_function_of_two;
    });
}

std::uint32_t column_count(const Query &query, std::uint32_t node) noexcept {
    while (query.nodes[node].kind == NodeKind::sort) {
        node = query.nodes[node].input;
    }
    const Node &giving = query.nodes[node];
    if (giving.kind == NodeKind::window) {
        return column_count(query, giving.input) + giving.accumulators.count;
    }
    return giving.kind == NodeKind::scan
               ? giving.types.count
               : giving.outputs.count + (giving.kind == NodeKind::aggregate ? giving.accumulators.count : 0);
}

ValueType column_type(const Query &query, std::uint32_t node, std::uint32_t column) noexcept {
    while (query.nodes[node].kind == NodeKind::sort) {
        node = query.nodes[node].input;
    }
    const Node &giving = query.nodes[node];
    if (giving.kind == NodeKind::scan) {
        return query.types[giving.types.first + column];
    }
    if (giving.kind == NodeKind::join) {
        return step_column_type(query, giving, query.outputs[giving.outputs.first + column]);
    }
    if (giving.kind == NodeKind::window) {
        const std::uint32_t columns = column_count(query, giving.input);
        if (column < columns) {
            return column_type(query, giving.input, column);
        }
        const Accumulator &own = query.accumulators[giving.accumulators.first + (column - columns)];
        return result_type(own.kind, takes_argument(own.kind) ? column_type(query, giving.input, own.argument)
                                                              : ValueType::int64);
    }
    const Step *steps = query.steps + giving.steps.first;
    if (column < giving.outputs.count) {
        return steps[query.outputs[giving.outputs.first + column]].type;
    }
    const Accumulator &accumulator =
        query.accumulators[giving.accumulators.first + (column - giving.outputs.count)];
    return result_type(accumulator.kind, takes_argument(accumulator.kind) ? steps[accumulator.argument].type
                                                                          : ValueType::int64);
}

std::vector<ValueType> column_types(const Query &query, std::uint32_t node) {
    std::vector<ValueType> types;
    for (std::uint32_t i = 0; i < column_count(query, node); ++i) {
        types.push_back(column_type(query, node, i));
    }
    return types;
}

std::uint32_t step_column_count(const Query &query, const Node &node) noexcept {
    return column_count(query, node.input) +
           (node.kind == NodeKind::join ? column_count(query, node.build) : 0);
}

ValueType step_column_type(const Query &query, const Node &node, std::uint32_t column) noexcept {
    const std::uint32_t probed = column_count(query, node.input);
    return column < probed ? column_type(query, node.input, column)
                           : column_type(query, node.build, column - probed);
}

ValueType result_type(AccumulatorKind kind, ValueType argument) noexcept {
    switch (kind) {
        case AccumulatorKind::count_rows:
        case AccumulatorKind::count:
        case AccumulatorKind::row_number:
        case AccumulatorKind::rank:
        case AccumulatorKind::dense_rank:
        case AccumulatorKind::ntile:
            return ValueType::int64;
        case AccumulatorKind::sum:
            return ValueType::int128;
        case AccumulatorKind::sum_float:
        case AccumulatorKind::percent_rank:
        case AccumulatorKind::cume_dist:
            return ValueType::float64;
        default:
            return argument;
    }
}

std::uint32_t gathering(const Accumulator *accumulators, std::uint32_t number) noexcept {
    const Accumulator &own = accumulators[number];
    if (own.distinct != 0 || (own.kind != AccumulatorKind::sum_float && !wants_values(own))) {
        return number;
    }
    std::uint32_t first = 0;
    while (accumulators[first].distinct != 0 || accumulators[first].argument != own.argument ||
           accumulators[first].filter != own.filter ||
           (own.kind == AccumulatorKind::sum_float ? accumulators[first].kind != own.kind
                                                   : !wants_values(accumulators[first]))) {
        ++first;
    }
    return first;
}

StepContext context_of(const Query &query, const Step &step) noexcept {
    StepContext context = {};
    context.width = step.width;
    context.detail = step.detail;
    if (step.operation == Operation::to_float) {
        context.power = static_cast<Int128>(power_of_ten(static_cast<std::int32_t>(step.detail)));
    }
    if (step.operation == Operation::in_list) {
        context.list = query.constants + step.third;
        context.list_count = step.right;
    }
    if (step.operation == Operation::look_up) {
        context.list = query.constants + step.detail + 1;
        context.list_count = static_cast<std::uint32_t>(query.constants[step.detail].low);
    }
    if (step.operation == Operation::shift_zone || step.operation == Operation::unshift_zone) {
        context.zone = query.zones[step.detail];
    }
    return context;
}

RecordLayout::RecordLayout(std::vector<ValueType> column_types) : types(std::move(column_types)) {
    record_words = null_words(static_cast<std::uint32_t>(types.size()));
    for (const ValueType type : types) {
        words.push_back(record_words);
        record_words += words_of(type);
    }
}

std::vector<StepPass> passes_of(const Query &query, const Node &node) {
    const Step *steps = query.steps + node.steps.first;
    std::vector<StepPass> passes;
    if (node.filter != no_step) {
        for (const std::uint16_t condition : conditions_of(steps, static_cast<std::uint16_t>(node.filter))) {
            passes.push_back({{}, condition, {}});
        }
    }
    passes.push_back({{}, no_step, {}});
    std::vector<bool> results(node.steps.count);
    mark_results(query, node, &results);
    std::vector<bool> is_known(node.steps.count);
    for (StepPass &pass : passes) {
        std::vector<bool> wanted = results;
        if (pass.condition != no_step) {
            wanted.assign(wanted.size(), false);
            wanted[pass.condition] = true;
        }
        mark_taken(steps, &wanted);
        for (std::uint16_t i = 0; i < node.steps.count; ++i) {
            if (wanted[i] && !is_known[i]) {
                is_known[i] = true;
                pass.steps.push_back(i);
            }
        }
    }
    // From the last pass on: what is needed behind a pass.
    std::vector<bool> is_needed = results;
    for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
        if (pass->condition != no_step) {
            for (auto earlier = pass; earlier != passes.rend(); ++earlier) {
                std::copy_if(earlier->steps.begin(), earlier->steps.end(), std::back_inserter(pass->needed),
                             [&](std::uint16_t step) { return is_needed[step]; });
            }
            is_needed[pass->condition] = true;
        }
        for (const std::uint16_t step : pass->steps) {
            for_taken(steps[step], [&](std::uint16_t taken) { is_needed[taken] = true; });
        }
    }
    return passes;
}

std::vector<std::uint32_t> path_of(const Query &query, std::uint32_t last) {
    std::vector<std::uint32_t> path;
    for (std::uint32_t node = last;; node = query.nodes[node].input) {
        path.push_back(node);
        if (query.nodes[node].kind == NodeKind::scan) {
            break;
        }
    }
    std::reverse(path.begin(), path.end());
    return path;
}

}  // namespace gpu_engine::query
