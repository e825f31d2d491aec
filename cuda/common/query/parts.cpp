#include "gpu_engine/query/parts.h"

#include <algorithm>

#include "common/query/plan.h"

namespace gpu_engine::query {
namespace {

constexpr std::uint8_t whole_width = 8;

// The last node that parts run: the first one that must see all rows, or the last one of all.
std::uint32_t last_of_parts(const Query &query) noexcept {
    std::uint32_t node = 0;
    while (node + 1 < query.node_count && query.nodes[node].kind != NodeKind::aggregate &&
           query.nodes[node].kind != NodeKind::sort && query.nodes[node + 1].kind != NodeKind::window) {
        ++node;
    }
    return node;
}

bool is_added_up(const Accumulator &accumulator) noexcept {
    return !wants_values(accumulator) && accumulator.kind != AccumulatorKind::sum_float;
}

bool is_count(AccumulatorKind kind) noexcept {
    return kind == AccumulatorKind::count_rows || kind == AccumulatorKind::count;
}

// Parts that each stop after so many rows have more of them together.
bool is_limited(const Node &node) noexcept {
    return node.kind == NodeKind::compute && node.limit != UINT64_MAX;
}

}  // namespace

bool can_be_divided(const Query &query) noexcept {
    if (query.nodes[0].kind != NodeKind::scan) {
        return false;
    }
    const std::uint32_t last = last_of_parts(query);
    for (std::uint32_t i = 1; i < query.node_count; ++i) {
        if (query.nodes[i].kind == NodeKind::scan || query.nodes[i].kind == NodeKind::join ||
            query.nodes[i].input != i - 1 || (i < last && is_limited(query.nodes[i]))) {
            return false;
        }
    }
    const Node &node = query.nodes[last];
    for (std::uint32_t i = 0; node.kind == NodeKind::aggregate && i < node.accumulators.count; ++i) {
        if (!is_added_up(query.accumulators[node.accumulators.first + i])) {
            return false;
        }
    }
    return query.node_count + 2 <= max_nodes;
}

QueryParts::QueryParts(const Query &query)
    : query_(query),
      last_(last_of_parts(query)),
      types_(column_types(query, last_)),
      steps_(query.steps, query.steps + query.step_count),
      outputs_(query.outputs, query.outputs + query.output_count),
      accumulators_(query.accumulators, query.accumulators + query.accumulator_count) {
    const Node &parted = query.nodes[last_];
    Node scan = begin_node(NodeKind::scan);
    scan.table = no_table;
    scan.types = {0, static_cast<std::uint32_t>(types_.size())};
    nodes_.push_back(scan);
    if (parted.kind == NodeKind::aggregate) {
        begin_aggregate(query, parted);
    } else if (parted.kind == NodeKind::sort) {
        nodes_.push_back(parted);
        nodes_.back().input = 0;
    } else if (is_limited(parted)) {
        Node some = begin_node(NodeKind::compute);
        some.limit = parted.limit;
        for (std::size_t i = 0; i < types_.size(); ++i) {
            outputs_.push_back(add_step(Operation::column, types_[i], static_cast<std::uint16_t>(i)));
        }
        some.steps.count = some.outputs.count = static_cast<std::uint32_t>(types_.size());
        nodes_.push_back(some);
    }
    for (std::uint32_t i = last_ + 1; i < query.node_count; ++i) {
        nodes_.push_back(query.nodes[i]);
        nodes_.back().input = static_cast<std::uint32_t>(nodes_.size()) - 2;
    }
}

// A node over the one before it, whose steps and outputs are going to be those that are added next.
Node QueryParts::begin_node(NodeKind kind) const {
    Node node = {};
    node.kind = kind;
    node.input = nodes_.empty() ? 0 : static_cast<std::uint32_t>(nodes_.size()) - 1;
    node.filter = no_step;
    node.limit = UINT64_MAX;
    node.steps.first = static_cast<std::uint32_t>(steps_.size());
    node.outputs.first = static_cast<std::uint32_t>(outputs_.size());
    node.accumulators.first = static_cast<std::uint32_t>(accumulators_.size());
    return node;
}

// Returns its number among those of its node, for sources, which come first and in order.
std::uint16_t QueryParts::add_step(Operation operation, ValueType type, std::uint16_t left) {
    steps_.push_back({operation, type, whole_width, left, no_step, no_step, no_step, 0});
    return left;
}

// Groups of groups: counts are added up, in 128 bits, and made counts again.
void QueryParts::begin_aggregate(const Query &query, const Node &parted) {
    const auto columns = static_cast<std::uint16_t>(types_.size());
    Node groups = begin_node(NodeKind::aggregate);
    groups.expected_rows = parted.expected_rows;
    groups.steps.count = columns;
    groups.outputs.count = parted.outputs.count;
    groups.accumulators.count = parted.accumulators.count;
    for (std::uint16_t i = 0; i < columns; ++i) {
        add_step(Operation::column, types_[i], i);
        if (i < parted.outputs.count) {
            outputs_.push_back(i);
            continue;
        }
        Accumulator accumulator = query.accumulators[parted.accumulators.first + i - parted.outputs.count];
        accumulator.kind = is_count(accumulator.kind) ? AccumulatorKind::sum : accumulator.kind;
        accumulator.argument = i;
        accumulator.filter = no_step;
        accumulators_.push_back(accumulator);
    }
    nodes_.push_back(groups);

    Node counts = begin_node(NodeKind::compute);
    std::uint16_t steps = columns;
    for (std::uint16_t i = 0; i < columns; ++i) {
        const bool is_sum =
            i >= parted.outputs.count &&
            is_count(query.accumulators[parted.accumulators.first + i - parted.outputs.count].kind);
        add_step(Operation::column, is_sum ? ValueType::int128 : types_[i], i);
        outputs_.push_back(is_sum ? steps++ : i);
    }
    for (std::uint16_t i = 0; i < columns; ++i) {
        if (outputs_[counts.outputs.first + i] >= columns) {
            add_step(Operation::narrow, ValueType::int64, i);
        }
    }
    counts.steps.count = steps;
    counts.outputs.count = columns;
    nodes_.push_back(counts);
}

Query QueryParts::of_part(Query own) const noexcept {
    own.node_count = std::min(own.node_count, last_ + 1);
    own.max_rows = UINT64_MAX;
    return own;
}

Query QueryParts::merging(const std::vector<InputSource> &parts) {
    nodes_.front().inputs = {0, static_cast<std::uint32_t>(parts.size())};
    Query query = query_;
    query.nodes = nodes_.data();
    query.node_count = static_cast<std::uint32_t>(nodes_.size());
    query.types = types_.data();
    query.type_count = static_cast<std::uint32_t>(types_.size());
    query.steps = steps_.data();
    query.step_count = static_cast<std::uint32_t>(steps_.size());
    query.outputs = outputs_.data();
    query.output_count = static_cast<std::uint32_t>(outputs_.size());
    query.accumulators = accumulators_.data();
    query.accumulator_count = static_cast<std::uint32_t>(accumulators_.size());
    query.runs = nullptr;
    query.run_count = 0;
    query.inputs = parts.data();
    query.input_count = static_cast<std::uint32_t>(parts.size());
    query.blocks = nullptr;
    query.block_count = 0;
    return query;
}

}  // namespace gpu_engine::query
