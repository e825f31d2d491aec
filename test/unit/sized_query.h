// A query over one input of any size, node by node, whose records are read.
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "engine_under_test.h"
#include "gpu_engine/query/query.h"

namespace query_sizes {

using namespace gpu_engine;
using query::Accumulator;
using query::AccumulatorKind;
using query::no_step;
using query::Operation;
using query::ValueType;

using Number = std::optional<std::int64_t>;

// A query over one input, node by node.
struct SizedQuery {
    std::vector<query::Node> nodes;
    std::vector<ValueType> types;
    std::vector<query::Step> steps;
    std::vector<query::Constant> constants;
    std::vector<std::uint16_t> outputs;
    std::vector<Accumulator> accumulators;
    std::vector<query::SortKey> sort_keys;
    std::vector<std::vector<std::uint64_t>> values;
    std::vector<std::vector<std::uint64_t>> nulls;
    std::uint64_t rows;
    std::uint32_t first_step = 0;

    explicit SizedQuery(std::uint64_t row_count) : rows(row_count) { begin(query::NodeKind::scan); }

    query::Node &begin(query::NodeKind kind) {
        query::Node node = {};
        node.kind = kind;
        node.input = static_cast<std::uint32_t>(nodes.empty() ? 0 : nodes.size() - 1);
        node.filter = no_step;
        node.limit = UINT64_MAX;
        node.table = query::no_table;
        node.steps.first = first_step;
        node.steps.count = static_cast<std::uint32_t>(steps.size()) - first_step;
        first_step = static_cast<std::uint32_t>(steps.size());
        nodes.push_back(node);
        return nodes.back();
    }
    template <typename WordOf>
    std::uint32_t add_column(ValueType type, WordOf word_of) {
        types.push_back(type);
        values.emplace_back(rows);
        nulls.emplace_back((rows + 63) / 64);
        for (std::uint64_t row = 0; row < rows; ++row) {
            const Number word = word_of(row);
            values.back()[row] = static_cast<std::uint64_t>(word.value_or(0));
            nulls.back()[row / 64] |= std::uint64_t(word ? 0 : 1) << (row % 64);
        }
        return static_cast<std::uint32_t>(types.size() - 1);
    }
    std::uint16_t step(Operation operation, ValueType type, std::uint16_t left,
                       std::uint16_t right = no_step) {
        const auto width = static_cast<std::uint8_t>(type == ValueType::int128 ? 16 : 8);
        steps.push_back({operation, type, width, left, right, no_step, no_step, 0});
        return static_cast<std::uint16_t>(steps.size() - 1 - first_step);
    }
    std::uint16_t constant(std::int64_t value) {
        constants.push_back({static_cast<std::uint64_t>(value), 0});
        return step(Operation::constant, ValueType::int64, static_cast<std::uint16_t>(constants.size() - 1));
    }
    void set_outputs(query::Node *node, const std::vector<std::uint16_t> &own) {
        node->outputs = {static_cast<std::uint32_t>(outputs.size()), static_cast<std::uint32_t>(own.size())};
        outputs.insert(outputs.end(), own.begin(), own.end());
    }
    void aggregate(const std::vector<std::uint16_t> &keys, const std::vector<Accumulator> &own) {
        query::Node &node = begin(query::NodeKind::aggregate);
        set_outputs(&node, keys);
        node.accumulators = {static_cast<std::uint32_t>(accumulators.size()),
                             static_cast<std::uint32_t>(own.size())};
        accumulators.insert(accumulators.end(), own.begin(), own.end());
    }

    // The records, in the order in which they come.
    std::vector<std::vector<std::uint64_t>> run(Engine &engine, Stream &stream) {
        std::vector<query::InputColumn> columns;
        for (std::size_t i = 0; i < values.size(); ++i) {
            columns.push_back({values[i].data(), nulls[i].data()});
        }
        const query::InputSource input = {rows, columns.data()};
        nodes[0].types = {0, static_cast<std::uint32_t>(types.size())};
        nodes[0].inputs = {0, 1};
        query::Query requested = {};
        requested.nodes = nodes.data();
        requested.types = types.data();
        requested.steps = steps.data();
        requested.constants = constants.data();
        requested.outputs = outputs.data();
        requested.accumulators = accumulators.data();
        requested.sort_keys = sort_keys.data();
        requested.inputs = &input;
        requested.node_count = static_cast<std::uint32_t>(nodes.size());
        requested.type_count = static_cast<std::uint32_t>(types.size());
        requested.step_count = static_cast<std::uint32_t>(steps.size());
        requested.constant_count = static_cast<std::uint32_t>(constants.size());
        requested.output_count = static_cast<std::uint32_t>(outputs.size());
        requested.accumulator_count = static_cast<std::uint32_t>(accumulators.size());
        requested.sort_key_count = static_cast<std::uint32_t>(sort_keys.size());
        requested.input_count = 1;
        requested.max_rows = UINT64_MAX;
        std::unique_ptr<query::QueryResult> result;
        const Status status = engine.queries().run(stream, requested, &result);
        EXPECT_TRUE(status.ok()) << status.message;
        std::vector<std::vector<std::uint64_t>> records;
        if (!status.ok()) {
            return records;
        }
        EXPECT_EQ(result->outcome(), query::QueryOutcome::answered);
        const std::uint32_t words = result->record_words();
        std::vector<std::uint64_t> all(result->rows() * words);
        EXPECT_TRUE(result->read_rows(stream, 0, result->rows(), all.data()).ok());
        for (std::size_t at = 0; at < all.size(); at += words) {
            records.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                                 all.begin() + static_cast<std::ptrdiff_t>(at + words));
        }
        return records;
    }
};

inline Accumulator of(AccumulatorKind kind, std::uint16_t argument) {
    return {kind, 0, argument, no_step, 0, 0};
}
inline Accumulator count_rows() {
    return of(AccumulatorKind::count_rows, 0);
}
inline std::uint64_t bits_of(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}
inline std::int64_t signed_bits_of(double value) {
    return static_cast<std::int64_t>(bits_of(value));
}

}  // namespace query_sizes
