// The pairs of rows whose keys are equal, counted first, and then listed some at a time.
#pragma once

#include "device/query/join_table.h"

namespace gpu_engine::query::on_device {

class JoinPairs {
  public:
    // Of tables with rows, which stay as long as this, as does what the view shows: the rows of each key are
    // listed together there, in the order of the join's bounds. Throws Failure.
    JoinPairs(const Call &call, const Query &query, const Node &join, const Table &probed, const Table &build,
              const JoinTableView &table, std::uint64_t at_a_time);

    std::uint64_t count() const noexcept { return count_; }
    // Puts pairs into `joined`, in place of those that were there: `at_a_time` at most.
    void list(std::uint64_t first, std::uint64_t count) const;
    const JoinedRows &joined() const noexcept { return *joined_; }

  private:
    const Call &call_;
    const JoinTableView table_;
    const std::uint64_t probed_rows_;
    Buffer<std::uint64_t> offsets_;
    Buffer<std::uint32_t> firsts_;
    std::uint64_t count_ = 0;
    std::unique_ptr<JoinedRows> joined_;
    mutable std::uint32_t pieces_ = 0;
};

}  // namespace gpu_engine::query::on_device
