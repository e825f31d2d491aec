// The bounds of a join (query::Node): rows of a key in an order in which those that a probed row may match
// lie together.
//
// Rows are in the order of the column that must be at most the probed one, so those that are form the first
// part. Beside them is the greatest value so far of the column that must be at least the probed one: it never
// falls, so no row can match before the first that reaches the probed value. The two are the same rows where
// the ranges don't overlap, and where both bounds are of one column.
#pragma once

#include "common/query/operation.h"
#include "host/buffer.h"
#include "host/query/join_plan.h"

namespace gpu_engine::host {

// Rows of a join's table from `first` on, those before `end`.
struct JoinMatches {
    std::uint64_t first;
    std::uint64_t end;
};

// Integers that have the order of a bound's values.
inline std::int64_t bound_of(std::int64_t value) noexcept {
    return value;
}
inline std::int64_t bound_of(double value) noexcept {
    return static_cast<std::int64_t>(query::order_of_float(value) ^ std::uint64_t(1) << 63);
}

class JoinBounds {
  public:
    explicit JoinBounds(const JoinPlan &plan) : plan_(plan) {}

    bool has_any() const noexcept { return plan_.has_bounds(); }
    // Has memory for as many rows of the table.
    void begin(MemoryBudget &budget, std::uint64_t rows);

    // That by which rows of equal keys have to be in order, of a record of the build side.
    std::int64_t order_of(const std::uint64_t *record) const noexcept;
    // Notes what a row of the table is; then that rows of equal keys are complete.
    void note(const std::uint64_t *record, std::uint64_t row) noexcept;
    void finish(std::uint64_t first, std::uint64_t end) noexcept;

    // Leaves those of rows with equal keys that may match a probed row by what bound_of gives of its two
    // values.
    JoinMatches narrow(JoinMatches rows, std::int64_t at_most, std::int64_t at_least) const noexcept;

  private:
    std::int64_t value(const std::uint64_t *record, const JoinBound &bound,
                       std::int64_t of_null) const noexcept;

    const JoinPlan &plan_;
    Buffer<std::int64_t> lows_;     // by row, what must be at most the probed value
    Buffer<std::int64_t> reached_;  // by row, the greatest so far of what must be at least the probed value
};

}  // namespace gpu_engine::host
