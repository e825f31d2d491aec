#include "host/query/join_bounds.h"

#include <algorithm>

#include "host/query/load_words.h"

namespace gpu_engine::host {

namespace {

// NULL is in no range.
constexpr std::int64_t low_of_null = INT64_MAX;
constexpr std::int64_t high_of_null = INT64_MIN;

}  // namespace

void JoinBounds::begin(MemoryBudget &budget, std::uint64_t rows) {
    if (plan_.at_most) {
        lows_ = Buffer<std::int64_t>(budget, rows);
    }
    if (plan_.at_least) {
        reached_ = Buffer<std::int64_t>(budget, rows);
    }
}

std::int64_t JoinBounds::value(const std::uint64_t *record, const JoinBound &bound,
                               std::int64_t of_null) const noexcept {
    const std::uint64_t word = record[plan_.build.words[bound.build]];
    return bit_of(record, bound.build)        ? of_null
           : bound.type == ValueType::float64 ? bound_of(query::float_of_bits(word))
                                              : bound_of(static_cast<std::int64_t>(word));
}

std::int64_t JoinBounds::order_of(const std::uint64_t *record) const noexcept {
    return plan_.at_most ? value(record, *plan_.at_most, low_of_null)
                         : value(record, *plan_.at_least, high_of_null);
}

void JoinBounds::note(const std::uint64_t *record, std::uint64_t row) noexcept {
    if (plan_.at_most) {
        lows_[row] = value(record, *plan_.at_most, low_of_null);
    }
    if (plan_.at_least) {
        reached_[row] = value(record, *plan_.at_least, high_of_null);
    }
}

void JoinBounds::finish(std::uint64_t first, std::uint64_t end) noexcept {
    for (std::uint64_t row = first + 1; plan_.at_least && row < end; ++row) {
        reached_[row] = std::max(reached_[row], reached_[row - 1]);
    }
}

JoinMatches JoinBounds::narrow(JoinMatches rows, std::int64_t at_most, std::int64_t at_least) const noexcept {
    if (plan_.at_most) {
        const std::int64_t *lows = lows_.data();
        rows.end =
            static_cast<std::uint64_t>(std::upper_bound(lows + rows.first, lows + rows.end, at_most) - lows);
    }
    if (plan_.at_least) {
        const std::int64_t *reached = reached_.data();
        rows.first = static_cast<std::uint64_t>(
            std::lower_bound(reached + rows.first, reached + rows.end, at_least) - reached);
    }
    return rows;
}

}  // namespace gpu_engine::host
