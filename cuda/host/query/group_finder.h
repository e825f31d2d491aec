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
    GroupFinder(MemoryBudget &budget, const GroupPlan &plan);

    // Finds the groups of a program's rows, and makes those that are new.
    void find(const Program &program, std::uint32_t count);

    // By row; valid until the next call. Groups have numbers in the order in which they came.
    const std::uint32_t *numbers() const noexcept { return numbers_.data(); }
    GroupTable &table() noexcept { return table_; }

  private:
    // Keys that are small integers make a number, by which groups are found without a hash.
    struct Window {
        std::int64_t least;
        std::uint64_t places;  // for values from `least` on; place 0 is NULL's
    };

    static std::int64_t last_of(const Window &window) noexcept {
        return window.least + static_cast<std::int64_t>(window.places - 1);
    }

    bool number_keys(const Program &program, std::uint32_t count);
    static std::uint64_t widen_windows(std::vector<Window> *windows, std::uint64_t places);
    bool fit_windows(const std::vector<Window> &needed);
    void write_keys(const Program &program, std::uint32_t count);
    std::uint32_t find_row(std::uint32_t row, std::uint64_t hash);
    std::uint64_t hash_row(std::uint32_t row) const noexcept;
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
    Buffer<std::uint32_t> by_place_;  // a group's number and 1; 0: none yet
};

}  // namespace gpu_engine::host
