// The groups of a tile's rows.
#pragma once

#include <vector>

#include "host/query/group_plan.h"
#include "host/query/group_table.h"
#include "host/query/program.h"

namespace gpu_engine::host {

// One thread's.
class GroupFinder {
  public:
    // Keys that are small integers make a number, by which groups are found without a hash.
    struct Window {
        std::int64_t least;
        std::uint64_t places;  // for values from `least` on; place 0 is NULL's
    };
    static std::int64_t last_of(const Window &window) noexcept {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(window.least) + window.places - 1);
    }
    // How many numbers windows make. Returns no_places where these are more than `most`.
    static constexpr std::uint64_t no_places = UINT64_MAX;
    static std::uint64_t places_of(const std::vector<Window> &windows, std::uint64_t most) noexcept;
    // Makes the windows as large as others, too. Those without places are of no keys.
    static void widen(std::vector<Window> *windows, const std::vector<Window> &others) noexcept;
    // Beyond so many places for so many groups, a hash takes less memory.
    static std::uint64_t max_places_for(std::uint64_t groups) noexcept;

    GroupFinder(MemoryBudget &budget, const GroupPlan &plan);

    // Finds the groups of a program's rows, and makes those that are new.
    void find(const Program &program, std::uint32_t count);

    // By row; valid until the next call. Groups have numbers in the order in which they came.
    const std::uint32_t *numbers() const noexcept { return numbers_.data(); }
    GroupTable &table() noexcept { return table_; }
    const GroupTable &table() const noexcept { return table_; }

    // Were all groups found by their places?
    bool has_places() const noexcept { return are_small_ && !windows_.empty(); }
    const std::vector<Window> &windows() const noexcept { return windows_; }
    // Makes the windows these, which are none smaller.
    void set_windows(const std::vector<Window> &windows, std::uint64_t places);
    // By place: a group's number and 1; 0: there is none.
    const std::uint32_t *by_place() const noexcept { return by_place_.data(); }

  private:
    bool number_keys(const Program &program, std::uint32_t count);
    std::uint64_t leave_margins(std::vector<Window> *windows, std::uint64_t places, std::uint64_t most) const;
    bool fit_windows(const std::vector<Window> &needed, std::uint64_t most);
    std::uint64_t place_of(const std::uint64_t *record) const noexcept;
    void write_keys(const Program &program, std::uint32_t count);
    std::uint32_t add_row(std::uint32_t row);
    std::uint32_t find_row(std::uint32_t row, std::uint64_t hash);
    void find_by_hash(std::uint32_t count);
    const Vector &key(const Program &program, std::uint32_t i) const noexcept {
        return program.step(plan_.query.outputs[plan_.node.outputs.first + i]);
    }

    MemoryBudget &budget_;
    const GroupPlan &plan_;
    GroupTable table_;
    Buffer<std::uint64_t> keys_;  // of the tile, a word's values of all rows one behind the other
    Buffer<std::uint64_t> hashes_;
    Buffer<std::uint32_t> numbers_;
    Buffer<std::uint32_t> places_;
    bool are_small_;
    std::vector<Window> windows_;
    std::vector<Window> needed_;  // of a tile
    Buffer<std::uint32_t> by_place_;
};

}  // namespace gpu_engine::host
