// Probing: a tile of rows becomes tiles of joined rows.
#pragma once

#include <memory>
#include <vector>

#include "host/query/join_table.h"
#include "host/query/program.h"

namespace gpu_engine::host {

// Joined rows: each is a row of a probed tile, or none, beside one of the table, or none.
class JoinedTile final : public TileInput {
  public:
    JoinedTile(MemoryBudget &budget, const JoinTable &table);

    // A probed tile, until the next one; nullptr: rows have none.
    void begin_probed(TileInput *probed) noexcept;
    // So many joined rows. `positions` are numbers of probed rows that ascend; nullptr: all of them.
    // `rows` are those of the table; nullptr: of columns of the probed side alone.
    void begin(const std::uint16_t *positions, const std::uint64_t *rows, std::uint32_t count) noexcept;
    // Are its columns those of the joined row, or the join's outputs?
    void show_outputs(bool shows) noexcept { shows_outputs_ = shows; }

    Vector load(std::uint32_t column, const VectorRoom &room) override;
    // Calls visit(number of the probed row, the table's row) for the joined rows that are left.
    template <typename Visit>
    void for_pairs(Visit visit) const {
        for_rows([&](std::uint32_t, std::uint32_t row) {
            visit(probed_of(row), rows_ != nullptr ? rows_[row] : JoinTable::no_row);
        });
    }

  private:
    std::uint32_t probed_of(std::uint32_t row) const noexcept {
        return pair_positions_ != nullptr ? pair_positions_[row] : row;
    }
    const Vector &probed_column(std::uint32_t column);
    Vector load_probed(std::uint32_t column, const VectorRoom &room);

    const JoinTable &table_;
    TileInput *probed_ = nullptr;
    const std::uint16_t *pair_positions_ = nullptr;
    const std::uint64_t *rows_ = nullptr;
    bool shows_outputs_ = false;
    // Columns of the probed tile, loaded when they are first taken.
    Buffer<char> memory_;
    std::vector<VectorRoom> rooms_;
    std::vector<Vector> probed_columns_;
    std::vector<bool> is_loaded_;
};

// A thread's.
class JoinProbe {
  public:
    // The table has to stay. `marks` are a byte a row of the table that says whether it has had a match, of
    // joins that give rows without one.
    JoinProbe(MemoryBudget &budget, const Workers &workers, const JoinTable &table, std::uint8_t *marks);

    // Calls give(tile of the join's outputs), which returns whether more are wanted, for the joined rows of
    // a tile, of which rows may be left out. Returns false where a step failed.
    template <typename Give>
    bool probe(TileInput &input, Give give) {
        const std::uint32_t count = input.count();
        find_matches(input);
        if (!query::gives_build(plan_.kind)) {
            if (plan_.has_filter() && !probe_pairs(input, [](TileInput &) { return true; })) {
                return false;
            }
            leave_probed(input);
            return input.count() == 0 || (give_probed(input, give), true);
        }
        if (!plan_.has_filter() && table_.is_unique()) {
            pair_each(input);
            return count_ == 0 || (give_pairs(give), true);
        }
        wants_more_ = true;
        if (!probe_pairs(input, give)) {
            return false;
        }
        if (wants_more_ && query::keeps_probed(plan_.kind)) {
            pair_unmatched(count);
            if (count_ > 0) {
                give_pairs(give);
            }
        }
        return true;
    }

    // Calls give for rows of the table without a match, of those from `first` on before `end`.
    template <typename Give>
    void give_unmarked(std::uint64_t first, std::uint64_t end, Give give) {
        joined_.begin_probed(nullptr);
        bool wants_more = true;
        while (first < end && wants_more) {
            first = list_unmarked(first, end);
            if (count_ > 0) {
                joined_.begin(nullptr, rows_.data(), count_);
                joined_.show_outputs(true);
                wants_more = give(joined_);
            }
        }
    }

  private:
    void find_matches(TileInput &input);
    void read_bound(TileInput &input, const JoinBound &bound, int number);
    void narrow_matches(TileInput &input);
    void leave_probed(TileInput &input);
    void pair_each(TileInput &input);
    void pair_unmatched(std::uint32_t count);
    std::uint64_t list_unmarked(std::uint64_t first, std::uint64_t end);
    // Leaves the pairs of which the filter is true, and notes that they match. Returns false where it fails.
    bool filter_pairs();
    bool needs_more_of(std::uint32_t row) const noexcept {
        return query::gives_build(plan_.kind) || is_matched_[row] == 0;
    }

    // Goes through the pairs with equal keys.
    template <typename Give>
    bool probe_pairs(TileInput &input, Give give) {
        const std::uint32_t count = input.count();
        joined_.begin_probed(&input);
        count_ = 0;
        std::fill_n(is_matched_, count, 0);
        for (std::uint32_t row = 0; row < count && wants_more_; ++row) {
            for (std::uint64_t at = matches_[row].first; at < matches_[row].end;) {
                const auto some = static_cast<std::uint32_t>(
                    std::min<std::uint64_t>(query_tile_rows - count_, matches_[row].end - at));
                for (std::uint32_t i = 0; i < some; ++i) {
                    positions_[count_ + i] = static_cast<std::uint16_t>(row);
                    rows_[count_ + i] = at + i;
                }
                count_ += some;
                at += some;
                if (count_ == query_tile_rows && !give_filtered(give)) {
                    return false;
                }
                if (!wants_more_ || !needs_more_of(row)) {
                    break;
                }
            }
        }
        return count_ == 0 || !wants_more_ || give_filtered(give);
    }
    template <typename Give>
    bool give_filtered(Give give) {
        check_cancelled(workers_.stream);
        joined_.begin(positions_, rows_.data(), count_);
        joined_.show_outputs(false);
        count_ = 0;
        if (!filter_pairs()) {
            return false;
        }
        if (joined_.count() > 0 && query::gives_build(plan_.kind)) {
            joined_.show_outputs(true);
            wants_more_ = give(joined_);
        }
        return true;
    }
    template <typename Give>
    void give_pairs(Give give) {
        joined_.begin(is_each_ ? nullptr : positions_, rows_.data(), count_);
        joined_.show_outputs(true);
        give(joined_);
    }
    template <typename Give>
    void give_probed(TileInput &input, Give give) {
        joined_.begin_probed(&input);
        joined_.begin(nullptr, nullptr, input.count());
        joined_.show_outputs(true);
        give(joined_);
    }

    const Workers &workers_;
    const JoinTable &table_;
    const JoinPlan &plan_;
    std::uint8_t *marks_;
    std::unique_ptr<Program> filter_;
    JoinedTile joined_;
    Buffer<char> key_memory_;
    std::vector<VectorRoom> key_rooms_;
    // What the join's bounds are compared with: at_most, at_least.
    Buffer<char> bound_memory_;
    std::vector<VectorRoom> bound_rooms_;
    Buffer<std::int64_t> bounds_[2];
    Buffer<std::uint64_t> keys_;
    Buffer<JoinMatches> matches_;
    Buffer<std::uint64_t> rows_;  // of the table, by pair
    std::uint16_t positions_[query_tile_rows];
    std::uint8_t is_matched_[query_tile_rows];
    std::uint32_t count_ = 0;  // of pairs
    bool is_each_ = false;     // are pairs those of all probed rows?
    bool wants_more_ = true;
};

}  // namespace gpu_engine::host
