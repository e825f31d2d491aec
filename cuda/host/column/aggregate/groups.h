// Groups found by their keys, each with a record: the words of its key, then those of its accumulators.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "common/column/aggregate.h"
#include "host/buffer.h"

namespace gpu_engine::host {

// Records that lie one behind the other in others' memory.
class RecordSpan {
  public:
    RecordSpan() = default;
    RecordSpan(const std::uint64_t *records, std::uint64_t count, std::uint32_t words) noexcept
        : records_(records), count_(count), words_(words) {}

    std::uint64_t count() const noexcept { return count_; }
    const std::uint64_t *record(std::uint64_t i) const noexcept { return records_ + i * words_; }

  private:
    const std::uint64_t *records_ = nullptr;
    std::uint64_t count_ = 0;
    std::uint32_t words_ = 0;
};

// The groups that one thread finds. Where keys have few bits the key itself is the group's number: the groups
// are dense then, and those without rows are never touched.
class Groups {
  public:
    // `max_groups` is the number of groups that the caller has room for; about `expected` will be found.
    // Groups are numbered by their keys only if all of them together take at most `dense_bytes`; 0: never.
    // Throws Failure when there is no memory.
    Groups(MemoryBudget &budget, const AggregatePlan &plan, std::uint64_t max_groups,
           std::uint64_t dense_bytes, std::uint64_t expected = 0);

    // Sets numbers[i] to the group of the key whose words are keys[word][i]. Returns false when there are too
    // many groups.
    bool find(const std::uint64_t *const *keys, std::uint32_t count, std::uint32_t *numbers);
    // Adds other groups, those of the `count` numbers or, without numbers, the first ones. Not for dense
    // groups. Returns false when there are too many groups.
    bool merge(const RecordSpan &other, const std::uint32_t *numbers, std::uint64_t count);

    // Returns the place where rows are added to their groups. It is valid until the next group is found.
    TileGroups tile_groups(const std::uint32_t *numbers) noexcept {
        return {records_.data() + plan_->program.key_words, plan_->record_words(), numbers};
    }

    bool is_dense() const noexcept { return is_dense_; }
    // Returns how many keys there can be, if groups are dense, or else how many groups there are.
    std::uint64_t numbers() const noexcept { return is_dense_ ? room_ : count_; }
    const std::uint64_t *record(std::uint64_t group) const noexcept {
        return records_.data() + group * plan_->record_words();
    }

    // Joins dense groups of some numbers with the others' of the same numbers, and calls visit(record) for
    // each that has rows.
    template <typename Visit>
    void join(std::uint64_t first, std::uint64_t last, std::span<const Groups> others, Visit visit);
    // Does the same; all that have rows then lie in these groups' memory, where those of the numbers did.
    RecordSpan gather(std::uint64_t first, std::uint64_t last, std::span<const Groups> others);

  private:
    void begin_dense(std::uint64_t group) noexcept;
    void begin_record(std::uint64_t group);
    void make_slots();
    // Fetches the records that keys with these hashes are looked for in.
    void fetch_ahead(const std::uint64_t *hashes, std::uint32_t count) const noexcept;
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
    std::vector<std::uint64_t> initial_;  // an empty group's words
    Buffer<std::uint8_t> present_;        // of dense groups: whether there is a row
    Buffer<std::uint32_t> slots_;         // of other groups: a group's number and one; 0: free
    std::uint64_t mask_ = 0;
};

// Returns the hash of a key whose words follow each other.
inline std::uint64_t hash_key(const std::uint64_t *key, std::uint32_t words) noexcept {
    std::uint64_t hash = 0;
    for (std::uint32_t word = 0; word < words; ++word) {
        hash = mix_key(hash, key[word]);
    }
    return hash;
}

template <typename Visit>
void Groups::join(std::uint64_t first, std::uint64_t last, std::span<const Groups> others, Visit visit) {
    const std::uint32_t key_words = plan_->program.key_words;
    for (std::uint64_t group = first; group < last; ++group) {
        std::uint64_t *const own = records_.data() + group * plan_->record_words();
        const std::uint64_t *joined = own;
        bool has_rows = present_[group] != 0;
        for (const Groups &other : others) {
            if (other.present_[group] == 0) {
                continue;
            }
            if (!has_rows) {
                joined = other.record(group);
                has_rows = true;
                continue;
            }
            if (joined != own) {
                std::copy_n(joined, plan_->record_words(), own);
                joined = own;
            }
            merge_group(plan_->program, own + key_words, other.record(group) + key_words);
        }
        if (has_rows) {
            visit(joined);
        }
    }
}

}  // namespace gpu_engine::host
