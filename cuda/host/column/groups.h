// Groups found by their keys, each with a record: the words of its key, then those of its accumulators.
#pragma once

#include "common/column/aggregate.h"
#include "host/buffer.h"

namespace gpu_engine::host {

// The groups that one thread finds. Where keys have few bits the key itself is the group's number.
class Groups {
  public:
    // `max_groups` is the number of groups that the caller has room for. Groups are numbered by their keys
    // only if all of them together take at most `dense_bytes`. Throws Failure when there is no memory.
    Groups(MemoryBudget &budget, const AggregatePlan &plan, std::uint64_t max_groups,
           std::uint64_t dense_bytes);

    // Sets numbers[i] to the group of the key whose words are keys[word][i]. Returns false when there are too
    // many groups.
    bool find(const std::uint64_t *const *keys, std::uint32_t count, std::uint32_t *numbers);
    // Adds a group's record. Returns false when there are too many groups.
    bool merge(const std::uint64_t *record);

    // Where rows are added to their groups. It is valid until the next group is found.
    TileGroups tile_groups(const std::uint32_t *numbers) noexcept {
        return {records_.data() + plan_->program.key_words, plan_->record_words(), numbers};
    }
    // Takes out groups without rows. Only groups that are numbered by their keys can have none.
    void finish();

    std::uint64_t count() const noexcept { return count_; }
    const std::uint64_t *record(std::uint64_t group) const noexcept {
        return records_.data() + group * plan_->record_words();
    }

  private:
    void begin_record(std::uint64_t group);
    bool grow();
    std::uint64_t hash_of(const std::uint64_t *record) const noexcept;
    template <typename HasKey, typename TakeKey>
    bool find_one(std::uint64_t hash, HasKey has_key, TakeKey take_key, std::uint32_t *number);

    MemoryBudget *budget_;
    const AggregatePlan *plan_;
    std::uint64_t max_groups_;
    std::uint64_t count_ = 0;
    Buffer<std::uint64_t> records_;
    std::uint64_t room_ = 0;
    bool is_dense_ = false;
    Buffer<std::uint8_t> present_;  // of dense ones: there is a row
    Buffer<std::uint32_t> slots_;   // of others: a group's number and one; 0: free
    std::uint64_t mask_ = 0;
};

// The hash of a key whose words follow each other.
inline std::uint64_t hash_key(const std::uint64_t *key, std::uint32_t words) noexcept {
    std::uint64_t hash = 0;
    for (std::uint32_t word = 0; word < words; ++word) {
        hash = mix_key(hash, key[word]);
    }
    return hash;
}

}  // namespace gpu_engine::host
