// Statements of the benchmark of queries.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "gpu_engine/query/query.h"

namespace gpu_engine::bench {

// A query over fact runs (bench/aggregate/rows.h), with the arrays that it refers to.
class Statement {
  public:
    Statement();

    // Of the node in the making: numbers of its steps.
    std::uint16_t column(std::uint32_t number, query::ValueType type = query::ValueType::int64);
    std::uint16_t constant(std::int64_t value);
    std::uint16_t step(query::Operation operation, query::ValueType type, std::uint16_t left,
                       std::uint16_t right = query::no_step, std::uint32_t detail = 0);

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
    std::vector<query::RunSource> runs_;
    std::uint32_t first_step_ = 0;
};

struct NamedStatement {
    const char *name;
    Statement (*make)(std::uint64_t rows);
};
const std::vector<NamedStatement> &statements();

}  // namespace gpu_engine::bench
