#include "bench/query/statements.h"

#include "bench/query/rows.h"

namespace gpu_engine::bench {
namespace {

using query::Accumulator;
using query::AccumulatorKind;
using query::no_step;
using query::Operation;
using query::ValueType;

constexpr ValueType number = ValueType::int64;

Accumulator count_rows() {
    return {AccumulatorKind::count_rows, 0, 0, no_step, 0, 0};
}
Accumulator of(AccumulatorKind kind, std::uint16_t argument, bool distinct = false,
               std::uint32_t detail = 0) {
    return {kind, static_cast<std::uint8_t>(distinct ? 1 : 0), argument, no_step, 0, detail};
}

// Eight aggregates of decimals by two flags.
Statement make_pricing(std::uint64_t) {
    Statement statement;
    const auto quantities = statement.column(quantity);
    const auto price = statement.column(extended_price);
    const auto off = statement.column(discount);
    const auto taxes = statement.column(tax);
    const auto hundred = statement.constant(100);
    const auto left = statement.step(Operation::subtract, number, hundred, off);
    const auto paid = statement.step(Operation::multiply, number, price, left);
    const auto with_tax = statement.step(Operation::add, number, hundred, taxes);
    const auto charged = statement.step(Operation::multiply, number, paid, with_tax);
    const auto low = statement.step(Operation::less, ValueType::boolean, off, statement.constant(5));
    const auto high = statement.step(Operation::less, ValueType::boolean, taxes, statement.constant(4));
    const auto wanted =
        statement.step(Operation::less, ValueType::boolean, statement.column(date), statement.constant(2370));
    statement.aggregate(wanted, {low, high},
                        {of(AccumulatorKind::sum, quantities), of(AccumulatorKind::sum, price),
                         of(AccumulatorKind::sum, paid), of(AccumulatorKind::sum, charged),
                         of(AccumulatorKind::count, quantities), of(AccumulatorKind::count, price),
                         of(AccumulatorKind::sum, off), count_rows()},
                        4);
    statement.sort({{0, 0, 0, 0}, {1, 0, 0, 0}}, UINT64_MAX);
    return statement;
}

Statement make_one(std::uint64_t) {
    Statement statement;
    const auto off = statement.column(discount);
    const auto few = statement.step(Operation::less, ValueType::boolean, statement.column(quantity),
                                    statement.constant(25));
    const auto low = statement.step(Operation::less, ValueType::boolean, off, statement.constant(4));
    const auto wanted = statement.step(Operation::logical_and, ValueType::boolean, few, low);
    const auto product = statement.step(Operation::multiply, number, statement.column(extended_price), off);
    statement.aggregate(wanted, {}, {of(AccumulatorKind::sum, product)}, 1);
    return statement;
}

Statement make_bounds(std::uint64_t) {
    Statement statement;
    const auto price = statement.column(extended_price);
    const auto wide = statement.step(Operation::widen, ValueType::int128, price);
    const auto square = statement.step(Operation::multiply, ValueType::int128, wide, wide);
    statement.aggregate(no_step, {},
                        {of(AccumulatorKind::least, price), of(AccumulatorKind::greatest, price),
                         of(AccumulatorKind::sum, square), of(AccumulatorKind::greatest, square),
                         of(AccumulatorKind::bit_or, price)},
                        1);
    return statement;
}

Statement make_many(std::uint64_t) {
    Statement statement;
    statement.aggregate(no_step, {statement.column(wide_key)}, {count_rows()}, 1000000);
    return statement;
}

// The planner thought of few groups.
Statement make_surprise(std::uint64_t) {
    Statement statement;
    statement.aggregate(no_step, {statement.column(wide_key)}, {count_rows()}, 200);
    return statement;
}

Statement make_pairs(std::uint64_t) {
    Statement statement;
    const auto revenues = statement.column(revenue);
    statement.aggregate(no_step, {statement.column(date), statement.column(line_number)},
                        {of(AccumulatorKind::sum, revenues), count_rows()}, 16842);
    return statement;
}

Statement make_top(std::uint64_t rows) {
    Statement statement;
    const auto revenues = statement.column(revenue);
    statement.aggregate(no_step, {statement.column(customer)}, {of(AccumulatorKind::sum, revenues)},
                        codes_of(customer, rows));
    statement.sort({{1, 1, 0, 0}, {0, 0, 0, 0}}, 10);
    return statement;
}

Statement make_floats(std::uint64_t) {
    Statement statement;
    const auto ratio = statement.step(
        Operation::divide, ValueType::float64,
        statement.step(Operation::to_float, ValueType::float64, statement.column(extended_price)),
        statement.step(Operation::to_float, ValueType::float64,
                       statement.step(Operation::add, number, statement.column(tax), statement.constant(1))));
    statement.aggregate(no_step, {statement.column(priority)}, {of(AccumulatorKind::sum_float, ratio)}, 5);
    return statement;
}

Statement make_float(std::uint64_t) {
    Statement statement;
    const auto ratio =
        statement.step(Operation::to_float, ValueType::float64, statement.column(extended_price), no_step, 2);
    statement.aggregate(no_step, {}, {of(AccumulatorKind::sum_float, ratio)}, 1);
    return statement;
}

Statement make_distinct(std::uint64_t) {
    Statement statement;
    const auto parts = statement.column(part);
    statement.aggregate(no_step, {statement.column(priority)},
                        {of(AccumulatorKind::count, parts, true), of(AccumulatorKind::sum, parts, true)}, 5);
    return statement;
}

Statement make_ordered(std::uint64_t) {
    Statement statement;
    const auto price = statement.column(extended_price);
    const auto half = statement.constant(0x3fe0000000000000);  // 0.5
    static_cast<void>(half);
    statement.aggregate(no_step, {statement.column(line_number)},
                        {of(AccumulatorKind::percentile_discrete, price, false, 0),
                         of(AccumulatorKind::mode, statement.column(quantity))},
                        7);
    return statement;
}

Statement make_rows(std::uint64_t) {
    Statement statement;
    const auto price = statement.column(extended_price);
    const auto wanted =
        statement.step(Operation::less, ValueType::boolean, price, statement.constant(1 << 12));
    statement.compute(wanted, {price, statement.column(customer), statement.column(order)});
    statement.sort({{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 0}}, 100);
    return statement;
}

}  // namespace

Statement::Statement() {
    scan();
}

std::uint32_t Statement::scan() {
    begin(query::NodeKind::scan).types = {static_cast<std::uint32_t>(types_.size()), fact_columns};
    types_.insert(types_.end(), fact_columns, number);
    return last();
}

std::uint32_t Statement::input(std::vector<std::vector<std::uint64_t>> columns) {
    query::Node &node = begin(query::NodeKind::scan);
    node.types = {static_cast<std::uint32_t>(types_.size()), static_cast<std::uint32_t>(columns.size())};
    types_.insert(types_.end(), columns.size(), number);
    node.inputs = {static_cast<std::uint32_t>(inputs_.size()), 1};
    input_data_.push_back({std::move(columns), {}});
    Input &data = input_data_.back();
    for (const std::vector<std::uint64_t> &values : data.values) {
        data.columns.push_back({values.data(), nullptr});
    }
    inputs_.push_back({data.values[0].size(), data.columns.data()});
    return last();
}

void Statement::join(query::JoinKind kind, std::uint32_t probed, std::uint16_t probed_key,
                     std::uint32_t build, std::uint16_t build_key,
                     const std::vector<std::uint16_t> &outputs) {
    query::Node &node = begin(query::NodeKind::join);
    node.input = probed;
    node.build = build;
    node.join = kind;
    finish_steps(&node, no_step, outputs);
    node.join_keys = {static_cast<std::uint32_t>(outputs_.size()), 2};
    outputs_.insert(outputs_.end(), {probed_key, build_key});
}

query::Node &Statement::begin(query::NodeKind kind) {
    query::Node node = {};
    node.kind = kind;
    node.input = static_cast<std::uint32_t>(nodes_.empty() ? 0 : nodes_.size() - 1);
    node.filter = no_step;
    node.limit = UINT64_MAX;
    node.table = query::no_table;
    nodes_.push_back(node);
    return nodes_.back();
}

std::uint16_t Statement::column(std::uint32_t number_of_column, ValueType type) {
    return step(Operation::column, type, static_cast<std::uint16_t>(number_of_column));
}
std::uint16_t Statement::constant(std::int64_t value) {
    constants_.push_back({static_cast<std::uint64_t>(value), 0});
    return step(Operation::constant, number, static_cast<std::uint16_t>(constants_.size() - 1));
}
std::uint16_t Statement::step(Operation operation, ValueType type, std::uint16_t left, std::uint16_t right,
                              std::uint32_t detail) {
    steps_.push_back({operation, type, static_cast<std::uint8_t>(type == ValueType::int128 ? 16 : 8), left,
                      right, no_step, no_step, detail});
    return static_cast<std::uint16_t>(steps_.size() - 1 - first_step_);
}

void Statement::finish_steps(query::Node *node, std::uint16_t filter,
                             const std::vector<std::uint16_t> &outputs) {
    node->steps = {first_step_, static_cast<std::uint32_t>(steps_.size()) - first_step_};
    node->filter = filter;
    node->outputs = {static_cast<std::uint32_t>(outputs_.size()), static_cast<std::uint32_t>(outputs.size())};
    outputs_.insert(outputs_.end(), outputs.begin(), outputs.end());
    first_step_ = static_cast<std::uint32_t>(steps_.size());
}

void Statement::compute(std::uint16_t filter, const std::vector<std::uint16_t> &outputs) {
    finish_steps(&begin(query::NodeKind::compute), filter, outputs);
}

void Statement::aggregate(std::uint16_t filter, const std::vector<std::uint16_t> &keys,
                          const std::vector<Accumulator> &accumulators, std::uint64_t expected_groups) {
    query::Node &node = begin(query::NodeKind::aggregate);
    finish_steps(&node, filter, keys);
    node.accumulators = {static_cast<std::uint32_t>(accumulators_.size()),
                         static_cast<std::uint32_t>(accumulators.size())};
    node.expected_rows = expected_groups;
    accumulators_.insert(accumulators_.end(), accumulators.begin(), accumulators.end());
}

void Statement::sort(const std::vector<query::SortKey> &keys, std::uint64_t limit) {
    query::Node &node = begin(query::NodeKind::sort);
    node.sort_keys = {static_cast<std::uint32_t>(sort_keys_.size()), static_cast<std::uint32_t>(keys.size())};
    node.limit = limit;
    sort_keys_.insert(sort_keys_.end(), keys.begin(), keys.end());
}

query::Query Statement::over(const std::vector<const ColumnStore *> &stores) {
    columns_.clear();
    for (std::uint32_t c = 0; c < fact_columns; ++c) {
        columns_.push_back({});
        columns_.back().form = query::ColumnForm::integer;
        columns_.back().column = c;
    }
    runs_.clear();
    for (const ColumnStore *store : stores) {
        runs_.push_back({store, nullptr, 0, 0, columns_.data()});
    }
    for (query::Node &node : nodes_) {
        if (node.kind == query::NodeKind::scan && node.inputs.count == 0) {
            node.runs = {0, static_cast<std::uint32_t>(runs_.size())};
        }
    }
    query::Query requested = {};
    requested.nodes = nodes_.data();
    requested.node_count = static_cast<std::uint32_t>(nodes_.size());
    requested.types = types_.data();
    requested.type_count = static_cast<std::uint32_t>(types_.size());
    requested.steps = steps_.data();
    requested.step_count = static_cast<std::uint32_t>(steps_.size());
    requested.constants = constants_.data();
    requested.constant_count = static_cast<std::uint32_t>(constants_.size());
    requested.outputs = outputs_.data();
    requested.output_count = static_cast<std::uint32_t>(outputs_.size());
    requested.accumulators = accumulators_.data();
    requested.accumulator_count = static_cast<std::uint32_t>(accumulators_.size());
    requested.sort_keys = sort_keys_.data();
    requested.sort_key_count = static_cast<std::uint32_t>(sort_keys_.size());
    requested.runs = runs_.data();
    requested.run_count = static_cast<std::uint32_t>(runs_.size());
    requested.inputs = inputs_.data();
    requested.input_count = static_cast<std::uint32_t>(inputs_.size());
    requested.max_rows = UINT64_MAX;
    return requested;
}

const std::vector<NamedStatement> &statements() {
    static const std::vector<NamedStatement> all = [] {
        std::vector<NamedStatement> named = {
            {"pricing", make_pricing},   {"one", make_one},           {"bounds", make_bounds},
            {"many", make_many},         {"surprise", make_surprise}, {"pairs", make_pairs},
            {"top", make_top},           {"floats", make_floats},     {"float", make_float},
            {"distinct", make_distinct}, {"ordered", make_ordered},   {"rows", make_rows},
        };
        const std::vector<NamedStatement> joins = join_statements();
        named.insert(named.end(), joins.begin(), joins.end());
        return named;
    }();
    return all;
}

}  // namespace gpu_engine::bench
