// What a join of a query is, as the host engine computes it.
#pragma once

#include <optional>
#include <vector>

#include "common/query/plan.h"
#include "host/query/tile.h"

namespace gpu_engine::host {

// What a bound compares: a column of the probed side, and one of the build side.
struct JoinBound {
    std::uint16_t probed;
    std::uint16_t build;
    ValueType type;
};

struct JoinPlan {
    const query::Query &query;
    const query::Node &node;
    query::JoinKind kind;
    std::vector<ValueType> probed_types;
    query::RecordLayout build;  // rows of the build side
    // By key.
    std::vector<std::uint16_t> probed_keys;
    std::vector<std::uint16_t> build_keys;
    std::vector<ValueType> key_types;
    std::uint32_t key_words = 0;
    std::optional<JoinBound> at_most;
    std::optional<JoinBound> at_least;
    std::vector<std::uint32_t> outputs;  // columns of the joined row
    // Columns of the joined row that outputs or the filter take.
    std::vector<bool> is_taken;

    JoinPlan(const query::Query &its_query, const query::Node &join);

    std::uint32_t probed_columns() const noexcept { return static_cast<std::uint32_t>(probed_types.size()); }
    bool has_filter() const noexcept { return node.filter != query::no_step; }
    bool has_bounds() const noexcept { return at_most.has_value() || at_least.has_value(); }
    // Is all that matters whether there is a row with a key?
    bool wants_existence() const noexcept {
        return (kind == query::JoinKind::semi || kind == query::JoinKind::anti) && !has_filter();
    }
};

// The words by which keys are found: equal keys have equal ones.
template <typename Type>
void write_key(Type value, std::uint64_t *words) {
    if constexpr (std::is_same_v<Type, double>) {
        words[0] = query::bits_of_float(query::key_of_float(value));
    } else {
        query::Words<Type>::write(value, words);
    }
}

}  // namespace gpu_engine::host
