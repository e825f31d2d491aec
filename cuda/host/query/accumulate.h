// Adding a tile's rows to the groups' accumulators.
#pragma once

#include <memory>
#include <vector>

#include "host/query/float_chunks.h"
#include "host/query/float_slices.h"
#include "host/query/group_finder.h"
#include "host/query/value_bits.h"

namespace gpu_engine::host {

enum class AddResult {
    added,
    overflows,  // a sum has no room
    misfits,    // a float has no place in a sum of its scale
};

// One thread's groups, with what they have come to.
class Accumulating {
  public:
    // Throws Failure when there is no memory.
    Accumulating(MemoryBudget &budget, const GroupPlan &plan);

    // Adds the rows that a program is left with. `weights` say how often each; nullptr: once.
    AddResult add(const Program &program, std::uint32_t count, const std::uint32_t *weights);

    GroupTable &table() noexcept { return finder_.table(); }
    GroupFinder &finder() noexcept { return finder_; }
    const GroupTable &set(std::size_t i) const noexcept { return sets_[i]; }
    // A set's values are bits as long as these have room, or records of set(i).
    bool has_bits(std::size_t i) const noexcept { return has_bits_[i]; }
    const ValueBits &bits(std::size_t i) const noexcept { return bits_[i]; }
    void replace_bits(std::size_t i);
    // Or each row's value, with its group before it: where most are different, and only percentiles of them
    // are wanted.
    bool has_list(std::size_t i) const noexcept { return has_lists_[i]; }
    const QueryRows &list(std::size_t i) const noexcept { return lists_[i]; }
    void list_values(std::size_t i);

  private:
    // Rows of so few groups are first added up by tile.
    static constexpr std::uint32_t few_groups = 64;
    // Additions to the same place wait for each other, so there are several places.
    static constexpr std::uint32_t lanes = 4;
    // Values whose places are fetched before they are looked at.
    static constexpr std::uint32_t rows_ahead = 32;
    // A set that fits into a processor's cache stays one.
    static constexpr std::uint64_t few_values = 4096;

    const std::uint8_t *find_counted(const Program &program, const AccumulatorPlan &accumulator,
                                     std::uint32_t count);
    const std::uint8_t *find_counted(const Program &program, std::uint16_t argument, bool takes_argument,
                                     std::uint16_t filter, std::uint32_t count);
    void count_few(std::uint32_t count, const std::uint8_t *counted, std::uint64_t *counts) const;
    void add_count(const AccumulatorPlan &accumulator, std::uint32_t count, const std::uint8_t *counted);
    bool add_sum_by_tile(const AccumulatorPlan &accumulator, const Vector &argument, std::uint32_t count,
                         const std::uint8_t *counted);
    template <typename Integer>
    void add_sum(std::uint32_t word, const Integer *values, std::uint32_t count, const std::uint8_t *counted);
    AddResult add_argument(const AccumulatorPlan &accumulator, const Vector &argument, std::uint32_t count,
                           const std::uint8_t *counted);
    template <typename Type>
    void add_extreme(const AccumulatorPlan &accumulator, const Type *values, std::uint32_t count,
                     const std::uint8_t *counted);
    bool add_floats(const AccumulatorPlan &accumulator, const double *values, std::uint32_t count,
                    const std::uint8_t *counted);
    bool add_floats_by_tile(const AccumulatorPlan &accumulator, const double *values, std::uint32_t count,
                            const std::uint8_t *counted);
    void mark_seen(std::int32_t bit, std::uint32_t count, const std::uint8_t *counted);
    void add_values(const Program &program, std::size_t set, std::uint32_t count);
    void add_to_list(std::size_t set, std::uint64_t group, const std::uint64_t *value, std::uint64_t times);
    bool are_few() const noexcept { return groups_ <= few_groups && weights_ == nullptr; }
    std::uint32_t weight_of(std::uint32_t i) const noexcept { return weights_ == nullptr ? 1 : weights_[i]; }

    // Calls add(state, i) for the rows that count, with the place of the accumulator's state.
    template <typename Add>
    void for_counted(std::uint32_t word, std::uint32_t count, const std::uint8_t *counted, Add add) const;

    MemoryBudget &budget_;
    const GroupPlan &plan_;
    GroupFinder finder_;
    std::vector<GroupTable> sets_;  // key: a group's number, then words that order a value; then how often
    std::vector<ValueBits> bits_;   // where values are only counted
    std::vector<bool> has_bits_;
    std::vector<QueryRows> lists_;
    std::vector<bool> has_lists_;
    std::vector<std::uint64_t> set_rows_;  // how many rows were looked for in a set
    bool has_room_ = true;
    std::uint64_t groups_ = 0;
    const std::uint32_t *numbers_ = nullptr;
    const std::uint32_t *weights_ = nullptr;
    Buffer<std::uint64_t *> records_;  // by row
    Buffer<std::uint8_t> counted_;
    std::vector<std::uint64_t> all_seen_;  // of a tile: bits of the accumulators that take all of its rows
    Buffer<std::uint64_t> set_keys_;  // of a tile's values: the keys, three words each, and then their hashes
    std::uint64_t row_counts_[few_groups];
    FloatChunks chunks_;
    FloatSlices slices_;
};

}  // namespace gpu_engine::host
