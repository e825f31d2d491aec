// A program's steps, computed for the rows of a tile.
#pragma once

#include <memory>
#include <vector>

#include "common/column/aggregate.h"
#include "gpu_engine/range_guide.h"
#include "gpu_engine/top_rows.h"
#include "host/column/load/store.h"

namespace gpu_engine::host {

// The number of groups of rows that are computed together, so that the results of their steps stay in a
// processor's caches.
inline constexpr std::uint32_t tile_groups = 16;
inline constexpr std::uint32_t tile_rows = tile_groups * packing::group;

// The rows that one thread computes at a time.
class Tile {
  public:
    // Throws Failure when there is no memory.
    Tile(MemoryBudget &budget, const AggregatePlan &plan);

    // Goes on to another part. Rows are selected only where the conditions hold that `is_tested`, which
    // stays where it is.
    void begin_part(const StoreParts &parts, const AggregateInput *inputs,
                    const std::vector<bool> &is_tested);
    // Goes on to `groups` groups from `first` on, and chooses the selected rows, which have a bit each.
    void begin(std::uint64_t first, std::uint32_t groups, const std::uint64_t *selected);
    // Chooses these of the rows that were begun with.
    void choose(const std::uint64_t *selected);

    // Keeps the rows that pass the program's filter and may be among the first by their first key, and
    // computes what keys and accumulators need of them. Returns false when a step failed.
    bool compute(const FirstKeyBound &bound = {});

    std::uint32_t count() const noexcept { return count_; }
    const StepValues &step(std::uint16_t number) const noexcept { return results_[number]; }
    // The TID of each row that was begun with.
    const std::uint64_t *places();
    // Returns the number of the i-th row among those rows.
    std::uint32_t row(std::uint32_t i) const noexcept { return all_ ? i : positions_[i]; }

  private:
    // The rows whose codes have been read.
    enum class CodesOf { no_row, chosen_rows, selected_rows };
    struct Codes {
        bool is_used = false;
        CodesOf are_read = CodesOf::no_row;
        Buffer<std::uint64_t> room;
    };

    const std::uint16_t *positions() const noexcept { return all_ ? nullptr : positions_.data(); }
    void forget();
    // Keeps the rows that `for_rows` tells to be kept: it calls take(i, is_kept) for each.
    template <typename ForRows>
    void leave(ForRows for_rows);
    bool compute_steps(const std::vector<std::uint16_t> &steps);
    void read_codes(std::uint32_t column);
    void make_guides();
    void load_input(std::uint16_t number, std::uint32_t input_number);
    void load_places(std::uint16_t number);

    const AggregatePlan &plan_;
    const StoreParts *parts_ = nullptr;
    const AggregateInput *inputs_ = nullptr;
    const std::vector<bool> *is_tested_ = nullptr;
    std::vector<std::unique_ptr<RangeGuide>> guides_;  // by input, of the part; nullptr: it has none
    std::uint64_t first_ = 0;
    std::uint32_t groups_ = 0;
    std::uint64_t selected_[tile_groups];
    bool all_ = false;
    std::uint32_t count_ = 0;
    Buffer<std::uint16_t> positions_;
    Codes codes_[max_store_columns];
    bool has_places_ = false;
    Buffer<std::uint64_t> places_;
    Buffer<std::int64_t> values_;
    Buffer<std::uint8_t> nulls_;
    std::vector<std::uint32_t> slot_;  // by step: its place among values and nulls
    std::vector<StepValues> results_;
    std::vector<bool> is_computed_;
};

}  // namespace gpu_engine::host
