// The build side of a join: where rows with a key are.
#pragma once

#include <optional>

#include "device/query/source.h"

namespace gpu_engine::query::on_device {

// What the keys of the build side are like.
struct KeyFacts {
    std::uint32_t has_null_key;
    std::uint32_t has_equal_keys;
    long long least;  // of one integer key
    long long greatest;
};

class JoinTable {
  public:
    // Of rows that stay as long as this. Throws Failure.
    JoinTable(const Call &call, const Table &rows, const std::vector<std::uint32_t> &key_columns);

    // Lists the rows of each key together, where a key has several. Until then only the first one is found.
    void list_rows_by_key(const Call &call);

    // Puts the rows of each key, which have been listed, into the order of a join's bounds, which are columns
    // of the build side.
    void order_rows(const Call &call, std::optional<std::uint32_t> at_most,
                    std::optional<std::uint32_t> at_least);

    BuildSide side() const;

  private:
    KeyFacts read_facts(const Call &call) const;
    void choose_slots(const Call &call, bool is_integer);

    const Table &rows_;
    Buffer<ArrayColumn> columns_;
    Buffer<std::uint32_t> key_columns_;
    Buffer<KeyFacts> facts_;
    Buffer<std::uint64_t> slots_;
    Buffer<std::uint32_t> dense_slots_;
    Buffer<std::uint32_t> ends_;
    Buffer<std::uint32_t> rows_by_slot_;
    Buffer<std::uint64_t> lows_;
    Buffer<std::uint64_t> reached_;
    JoinTableView view_{};
    bool is_unique_ = true;
    bool has_null_key_ = false;
};

// The column of a side that a bound of a join compares, if the join has the bound.
inline std::optional<std::uint32_t> bound_column(const Query &query, const Span &bound, JoinSide side) {
    return bound.count == 0
               ? std::nullopt
               : std::optional<std::uint32_t>(query.outputs[bound.first + (side == JoinSide::build ? 1 : 0)]);
}

// The columns of a table as kernels read them.
Buffer<ArrayColumn> upload_columns(const Call &call, const Table &table);

}  // namespace gpu_engine::query::on_device
