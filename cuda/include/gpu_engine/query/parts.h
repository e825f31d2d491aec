// A query whose runs lie on several engines: each runs its first nodes over the runs that it has, and an
// engine runs the others over the rows that these give.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_engine/query/query.h"

namespace gpu_engine::query {

// Can a query that has no problem be run so? Its nodes must be a chain without joins, and what parts have
// aggregated must tell what all of their rows come to: values that count once, sums of floats and orders of
// values don't.
bool can_be_divided(const Query &query) noexcept;

class QueryParts {
  public:
    // Of a query that can be divided.
    explicit QueryParts(const Query &query);

    // What a part runs: `own` is the query with the part's sources.
    Query of_part(Query own) const noexcept;
    // The columns of a part's rows.
    const std::vector<ValueType> &types() const noexcept { return types_; }
    // What is run over the rows of all parts. It is valid as long as this and the inputs are.
    Query merging(const std::vector<InputSource> &parts);

  private:
    void begin_aggregate(const Query &query, const Node &parted);
    Node begin_node(NodeKind kind) const;
    std::uint16_t add_step(Operation operation, ValueType type, std::uint16_t left);

    const Query query_;
    std::uint32_t last_;  // node of parts
    std::vector<ValueType> types_;
    std::vector<Node> nodes_;
    std::vector<Step> steps_;
    std::vector<std::uint16_t> outputs_;
    std::vector<Accumulator> accumulators_;
};

}  // namespace gpu_engine::query
