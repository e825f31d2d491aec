// What engines find out about a query before it runs: its columns' types, the steps that are needed, and how
// records lie.
#pragma once

#include <cstdint>
#include <vector>

#include "common/query/operation.h"

namespace gpu_engine::query {

// How many operands an operation takes, sources 0; those of a class of common/query/dispatch.h.
std::uint32_t operands_of(Operation operation) noexcept;
// Are there operands, not NULL, of which it fails?
bool may_fail(Operation operation) noexcept;
// Does a step of the query compute what no device does?
bool needs_processors(const Query &query) noexcept;

// How many columns a node gives, and of which type each is. Of queries that have no problem, or of nodes
// before the one with the problem.
std::uint32_t column_count(const Query &query, std::uint32_t node) noexcept;
ValueType column_type(const Query &query, std::uint32_t node, std::uint32_t column) noexcept;
std::vector<ValueType> column_types(const Query &query, std::uint32_t node);
// Of the rows that a node's steps are computed of: those of its input, or joined rows.
std::uint32_t step_column_count(const Query &query, const Node &node) noexcept;
ValueType step_column_type(const Query &query, const Node &node, std::uint32_t column) noexcept;

// Does a join give columns of the build side?
constexpr bool gives_build(JoinKind kind) noexcept {
    return kind <= JoinKind::full;
}
// Does it give probed rows, or build rows, that have no match?
constexpr bool keeps_probed(JoinKind kind) noexcept {
    return kind == JoinKind::left || kind == JoinKind::full;
}
constexpr bool keeps_build(JoinKind kind) noexcept {
    return kind == JoinKind::right || kind == JoinKind::full;
}

// Of an accumulator over arguments of a type.
ValueType result_type(AccumulatorKind kind, ValueType argument) noexcept;
constexpr bool takes_argument(AccumulatorKind kind) noexcept {
    return kind != AccumulatorKind::count_rows && kind != AccumulatorKind::row_number &&
           kind != AccumulatorKind::rank && kind != AccumulatorKind::dense_rank &&
           kind != AccumulatorKind::ntile && kind != AccumulatorKind::percent_rank &&
           kind != AccumulatorKind::cume_dist;
}
constexpr bool is_percentile(AccumulatorKind kind) noexcept {
    return kind == AccumulatorKind::percentile_discrete || kind == AccumulatorKind::percentile_continuous ||
           kind == AccumulatorKind::percentile_below || kind == AccumulatorKind::percentile_above;
}
// Does it need the values of each group in their order, or each value once?
constexpr bool wants_values(const Accumulator &accumulator) noexcept {
    return accumulator.distinct != 0 || is_percentile(accumulator.kind) ||
           accumulator.kind == AccumulatorKind::mode;
}

// The first of a node's accumulators that gathers what this one is made of: parts of one sum of floats are
// made of one sum, percentiles and the mode of the same values of the same rows.
std::uint32_t gathering(const Accumulator *accumulators, std::uint32_t number) noexcept;

// The context of a step of the query.
StepContext context_of(const Query &query, const Step &step) noexcept;

// Where the values of a record's columns are.
struct RecordLayout {
    std::vector<ValueType> types;
    std::vector<std::uint32_t> words;  // by column: its first word
    std::uint32_t record_words = 0;

    explicit RecordLayout(std::vector<ValueType> column_types);
};

// Steps of a node that are computed together, in order.
struct StepPass {
    std::vector<std::uint16_t> steps;
    std::uint16_t condition;  // rows of which it isn't true are left out then; no_step: the last pass
    std::vector<std::uint16_t> needed;  // those that are known then and later passes or results need
};
// The passes of a node. A filter that is made of conditions with AND has one for each, unless a step of it
// may fail: it must be seen to fail for all rows.
std::vector<StepPass> passes_of(const Query &query, const Node &node);

// The nodes from a scan to `last`, by way of joins' probed sides.
std::vector<std::uint32_t> path_of(const Query &query, std::uint32_t last);

}  // namespace gpu_engine::query
