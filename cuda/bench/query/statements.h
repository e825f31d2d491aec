// Statements of the benchmark of queries.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "gpu_engine/query/query.h"

namespace gpu_engine::bench {

// A query over fact runs (bench/query/rows.h), with the arrays that it refers to.
class Statement {
  public:
    Statement();

    // Of the node in the making: numbers of its steps.
    std::uint16_t column(std::uint32_t number, query::ValueType type = query::ValueType::int64);
    std::uint16_t constant(std::int64_t value);
    std::uint16_t step(query::Operation operation, query::ValueType type, std::uint16_t left,
                       std::uint16_t right = query::no_step, std::uint32_t detail = 0);

    // Sources that a join may take, by number of their node. The first one is there from the beginning.
    static constexpr std::uint32_t first_scan = 0;
    std::uint32_t scan();
    std::uint32_t input(std::vector<std::vector<std::uint64_t>> columns);
    std::uint32_t last() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }
    // Rows of `probed` by those of `build` whose column has the same number. Its columns are `outputs`, of
    // joined rows.
    void join(query::JoinKind kind, std::uint32_t probed, std::uint16_t probed_key, std::uint32_t build,
              std::uint16_t build_key, const std::vector<std::uint16_t> &outputs);

    void compute(std::uint16_t filter, const std::vector<std::uint16_t> &outputs);
    void aggregate(std::uint16_t filter, const std::vector<std::uint16_t> &keys,
                   const std::vector<query::Accumulator> &accumulators, std::uint64_t expected_groups);
    void sort(const std::vector<query::SortKey> &keys, std::uint64_t limit);

    // The query over these runs.
    query::Query over(const std::vector<const ColumnStore *> &stores);

  private:
    query::Node &begin(query::NodeKind kind);
    void finish_steps(query::Node *node, std::uint16_t filter, const std::vector<std::uint16_t> &outputs);

    std::vector<query::Node> nodes_;
    std::vector<query::ValueType> types_;
    std::vector<query::Step> steps_;
    std::vector<query::Constant> constants_;
    std::vector<std::uint16_t> outputs_;
    std::vector<query::Accumulator> accumulators_;
    std::vector<query::SortKey> sort_keys_;
    std::vector<query::RunColumn> columns_;
    struct Input {
        std::vector<std::vector<std::uint64_t>> values;
        std::vector<query::InputColumn> columns;
    };
    std::deque<Input> input_data_;
    std::vector<query::InputSource> inputs_;
    std::vector<query::RunSource> runs_;
    std::uint32_t first_step_ = 0;
};

struct NamedStatement {
    const char *name;
    Statement (*make)(std::uint64_t rows);
};
const std::vector<NamedStatement> &statements();
// Those of them that join.
std::vector<NamedStatement> join_statements();

}  // namespace gpu_engine::bench
