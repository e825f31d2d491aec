// Queries for tests, whose arrays grow as they are written, and values of their rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "gpu_engine/query/query.h"

namespace query_test {

using namespace gpu_engine;
using namespace gpu_engine::query;
// The engine had some of these names before.
using gpu_engine::query::Accumulator;
using gpu_engine::query::AccumulatorKind;
using gpu_engine::query::Span;
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

// ---- values -----------------------------------------------------------------------------------------------

struct Value {
    ValueType type = ValueType::int64;
    bool is_null = true;
    Wide number = 0;  // of all types but float64
    double real = 0;

    static Value of(ValueType type, Wide number) { return {type, false, number, 0}; }
    static Value of_real(double real) { return {ValueType::float64, false, 0, real}; }
    static Value null(ValueType type) { return {type, true, 0, 0}; }
    bool is_true() const { return !is_null && number != 0; }
};
using Row = std::vector<Value>;

// -1, 0 or 1 by SQL's order; neither is NULL.
inline int compare(const Value &a, const Value &b) {
    if (a.type != ValueType::float64) {
        return a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
    }
    if (std::isnan(a.real) || std::isnan(b.real)) {
        return std::isnan(a.real) == std::isnan(b.real) ? 0 : std::isnan(a.real) ? 1 : -1;
    }
    return a.real < b.real ? -1 : a.real > b.real ? 1 : 0;
}
inline bool is_same(const Value &a, const Value &b) {
    return a.is_null || b.is_null ? a.is_null == b.is_null : compare(a, b) == 0;
}
struct RowOrder {
    bool operator()(const Row &a, const Row &b) const {
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (!is_same(a[i], b[i])) {
                return a[i].is_null ? false : b[i].is_null || compare(a[i], b[i]) < 0;
            }
        }
        return false;
    }
};

inline Value read_value(ValueType type, bool is_null, const std::uint64_t *words) {
    Value value = Value::null(type);
    value.is_null = is_null;
    if (type == ValueType::float64) {
        std::memcpy(&value.real, words, sizeof(double));
    } else if (type == ValueType::int128) {
        value.number = static_cast<Wide>(static_cast<UnsignedWide>(words[1]) << 64 | words[0]);
    } else {
        value.number = static_cast<std::int64_t>(words[0]);
    }
    return value;
}
inline void write_value(const Value &value, std::vector<std::uint64_t> *words) {
    std::uint64_t low = static_cast<std::uint64_t>(value.number);
    if (value.type == ValueType::float64) {
        std::memcpy(&low, &value.real, sizeof(low));
    }
    words->push_back(low);
    if (value.type == ValueType::int128) {
        words->push_back(static_cast<std::uint64_t>(static_cast<UnsignedWide>(value.number) >> 64));
    }
}

// ---- queries ----------------------------------------------------------------------------------------------

struct TestInput {
    std::vector<std::vector<std::uint64_t>> values;
    std::vector<std::vector<std::uint64_t>> nulls;
    std::vector<InputColumn> columns;
    std::uint64_t rows = 0;
    std::uint32_t scan = 0;  // node
};

// The arrays of a query, which grow.
struct TestQuery {
    std::vector<Node> nodes;
    std::vector<ValueType> types;
    std::vector<Step> steps;
    std::vector<Constant> constants;
    std::vector<std::uint16_t> outputs;
    std::vector<Accumulator> accumulators;
    std::vector<SortKey> sort_keys;
    std::vector<Zone> zones;
    std::vector<RunSource> runs;
    std::vector<InputSource> inputs;
    std::vector<TestInput> input_data;
    std::uint64_t max_rows = UINT64_MAX;
    std::uint32_t scan = 0;  // the last one
    std::vector<const gpu_engine::HeapBlocks *> blocks;

    // By node: the inputs' rows.
    std::map<std::uint32_t, std::vector<Row>> scanned;

    // A scan: the inputs that are added next are its own, and if it is the only one all runs are, too.
    // Returns its number.
    std::uint32_t begin(const std::vector<ValueType> &columns) {
        Node &node = add_node(NodeKind::scan);
        node.types = {static_cast<std::uint32_t>(types.size()), static_cast<std::uint32_t>(columns.size())};
        types.insert(types.end(), columns.begin(), columns.end());
        scan = last();
        return scan;
    }
    std::uint32_t last() const { return static_cast<std::uint32_t>(nodes.size()) - 1; }
    // Pairs of columns are its keys; what it gives is added by output.
    Node &add_join(JoinKind kind, std::uint32_t probed, std::uint32_t build,
                   const std::vector<std::pair<std::uint16_t, std::uint16_t>> &keys) {
        const auto first = static_cast<std::uint32_t>(outputs.size());
        for (const auto &[one, other] : keys) {
            outputs.insert(outputs.end(), {one, other});
        }
        Node &node = add_node(NodeKind::join);
        node.join = kind;
        node.input = probed;
        node.build = build;
        node.join_keys = {first, static_cast<std::uint32_t>(2 * keys.size())};
        return node;
    }
    // Columns of the two sides that a join has as a bound.
    Span add_bound(std::uint16_t probed, std::uint16_t build) {
        const auto first = static_cast<std::uint32_t>(outputs.size());
        outputs.insert(outputs.end(), {probed, build});
        if (nodes.back().outputs.count == 0) {
            nodes.back().outputs.first = first + 2;
        }
        return {first, 2};
    }
    // The types of a node's columns; of a join's joined rows.
    std::vector<ValueType> columns_of(std::uint32_t number) const {
        const Node &node = nodes[number];
        std::vector<ValueType> columns;
        if (node.kind == NodeKind::scan) {
            columns.assign(types.begin() + node.types.first,
                           types.begin() + node.types.first + node.types.count);
        } else if (node.kind == NodeKind::sort) {
            columns = columns_of(node.input);
        } else if (node.kind == NodeKind::window) {
            columns = columns_of(node.input);
            for (std::uint32_t i = 0; i < node.accumulators.count; ++i) {
                columns.push_back(
                    type_of_function(accumulators[node.accumulators.first + i], columns_of(node.input)));
            }
        } else if (node.kind == NodeKind::join) {
            const std::vector<ValueType> joined = joined_columns(node);
            for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
                columns.push_back(joined[outputs[node.outputs.first + i]]);
            }
        } else {
            for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
                columns.push_back(steps[node.steps.first + outputs[node.outputs.first + i]].type);
            }
            for (std::uint32_t i = 0; node.kind == NodeKind::aggregate && i < node.accumulators.count; ++i) {
                const Accumulator &accumulator = accumulators[node.accumulators.first + i];
                columns.push_back(accumulator.kind == AccumulatorKind::count_rows ||
                                          accumulator.kind == AccumulatorKind::count
                                      ? ValueType::int64
                                  : accumulator.kind == AccumulatorKind::sum
                                      ? ValueType::int128
                                      : steps[node.steps.first + accumulator.argument].type);
            }
        }
        return columns;
    }
    static ValueType type_of_function(const Accumulator &function, const std::vector<ValueType> &columns) {
        switch (function.kind) {
            case AccumulatorKind::count_rows:
            case AccumulatorKind::count:
            case AccumulatorKind::row_number:
            case AccumulatorKind::rank:
            case AccumulatorKind::dense_rank:
            case AccumulatorKind::ntile:
                return ValueType::int64;
            case AccumulatorKind::sum:
                return ValueType::int128;
            case AccumulatorKind::percent_rank:
            case AccumulatorKind::cume_dist:
                return ValueType::float64;
            default:
                return columns[function.argument];
        }
    }
    std::vector<ValueType> joined_columns(const Node &join) const {
        std::vector<ValueType> columns = columns_of(join.input);
        const std::vector<ValueType> build = columns_of(join.build);
        columns.insert(columns.end(), build.begin(), build.end());
        return columns;
    }
    Node &add_node(NodeKind kind) {
        Node node = {};
        node.kind = kind;
        node.input = nodes.empty() ? 0 : static_cast<std::uint32_t>(nodes.size()) - 1;
        node.steps.first = static_cast<std::uint32_t>(steps.size());
        node.outputs.first = static_cast<std::uint32_t>(outputs.size());
        node.accumulators.first = static_cast<std::uint32_t>(accumulators.size());
        node.sort_keys.first = static_cast<std::uint32_t>(sort_keys.size());
        node.filter = no_step;
        node.limit = UINT64_MAX;
        node.table = no_table;
        nodes.push_back(node);
        return nodes.back();
    }
    const Step &step(std::uint16_t number) const { return steps[nodes.back().steps.first + number]; }
    std::uint16_t add(Operation operation, ValueType type, std::uint16_t left = 0, std::uint16_t right = 0,
                      std::uint16_t third = 0, std::uint32_t detail = 0, std::uint8_t width = 0,
                      std::uint16_t guard = no_step) {
        if (width == 0) {
            width = type == ValueType::int128 ? 16 : 8;
        }
        steps.push_back({operation, type, width, left, right, third, guard, detail});
        return static_cast<std::uint16_t>(nodes.back().steps.count++);
    }
    std::uint16_t add_column(std::uint16_t column, ValueType type) {
        return add(Operation::column, type, column);
    }
    std::uint16_t add_list(const std::vector<Value> &values) {
        for (const Value &value : values) {
            std::vector<std::uint64_t> words;
            write_value(value, &words);
            constants.push_back({words[0], words.size() > 1 ? words[1] : 0});
        }
        return static_cast<std::uint16_t>(constants.size() - values.size());
    }
    std::uint16_t add_constant(const Value &value) {
        return add(Operation::constant, value.type, add_list({value}));
    }
    void output(std::uint16_t step) {
        outputs.push_back(step);
        ++nodes.back().outputs.count;
    }
    void accumulate(AccumulatorKind kind, std::uint16_t argument = 0, std::uint16_t filter = no_step,
                    bool distinct = false, std::uint32_t detail = 0) {
        accumulators.push_back(
            {kind, static_cast<std::uint8_t>(distinct ? 1 : 0), argument, filter, 0, detail});
        ++nodes.back().accumulators.count;
    }
    void sort_by(std::uint32_t column, bool descends, bool nulls_first) {
        sort_keys.push_back({column, static_cast<std::uint8_t>(descends ? 1 : 0),
                             static_cast<std::uint8_t>(nulls_first ? 1 : 0), 0});
        ++nodes.back().sort_keys.count;
    }
    void add_input(const std::vector<Row> &rows) {
        TestInput input;
        input.rows = rows.size();
        input.scan = scan;
        scanned[scan].insert(scanned[scan].end(), rows.begin(), rows.end());
        for (std::size_t column = 0; column < nodes[scan].types.count; ++column) {
            std::vector<std::uint64_t> values;
            std::vector<std::uint64_t> nulls((rows.size() + 63) / 64 + 1);
            bool any_null = false;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                write_value(rows[i][column], &values);
                nulls[i / 64] |= std::uint64_t{rows[i][column].is_null} << (i % 64);
                any_null |= rows[i][column].is_null;
            }
            values.push_back(0);
            input.values.push_back(values);
            input.nulls.push_back(any_null ? nulls : std::vector<std::uint64_t>());
        }
        input_data.push_back(std::move(input));
    }

    // Valid until something is added.
    Query view() {
        inputs.clear();
        for (TestInput &input : input_data) {
            input.columns.clear();
            for (std::size_t i = 0; i < input.values.size(); ++i) {
                input.columns.push_back(
                    {input.values[i].data(), input.nulls[i].empty() ? nullptr : input.nulls[i].data()});
            }
            inputs.push_back({input.rows, input.columns.data()});
        }
        if (scan == 0) {
            nodes[0].runs = {0, static_cast<std::uint32_t>(runs.size())};
        }
        for (std::size_t i = 0, first = 0; i < nodes.size(); ++i) {
            const auto count = std::count_if(input_data.begin(), input_data.end(),
                                             [&](const TestInput &input) { return input.scan == i; });
            if (count > 0 || i == 0) {
                nodes[i].inputs = {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)};
            }
            first += static_cast<std::size_t>(count);
        }
        Query query = {};
        const auto give = [](const auto &from, auto *array, std::uint32_t *count) {
            *array = from.data();
            *count = static_cast<std::uint32_t>(from.size());
        };
        give(nodes, &query.nodes, &query.node_count);
        give(types, &query.types, &query.type_count);
        give(steps, &query.steps, &query.step_count);
        give(constants, &query.constants, &query.constant_count);
        give(outputs, &query.outputs, &query.output_count);
        give(accumulators, &query.accumulators, &query.accumulator_count);
        give(sort_keys, &query.sort_keys, &query.sort_key_count);
        give(zones, &query.zones, &query.zone_count);
        give(runs, &query.runs, &query.run_count);
        give(inputs, &query.inputs, &query.input_count);
        give(blocks, &query.blocks, &query.block_count);
        query.max_rows = max_rows;
        return query;
    }
};

}  // namespace query_test
