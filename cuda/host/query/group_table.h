// Groups by their keys: an open hash table over records, which begin with the words of the key.
#pragma once

#include <bit>

#include "host/query/rows.h"

namespace gpu_engine::host {

// Words that equal keys have equal; the hash's upper half is for partitions and for telling keys apart.
inline std::uint64_t mix_word(std::uint64_t hash, std::uint64_t word) noexcept {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
}
inline std::uint64_t finish_hash(std::uint64_t hash) noexcept {
    hash *= 0xd6e8feb86659fd93;
    return hash ^ hash >> 32;
}

class GroupTable {
  public:
    static constexpr std::uint32_t no_group = UINT32_MAX;

    GroupTable(MemoryBudget &budget, std::uint32_t key_words, std::uint32_t record_words)
        : budget_(&budget), key_words_(key_words), rows_(budget, record_words) {}

    std::uint64_t count() const noexcept { return rows_.count(); }
    std::uint64_t *record(std::uint64_t group) noexcept { return rows_.record(group); }
    const std::uint64_t *record(std::uint64_t group) const noexcept { return rows_.record(group); }
    QueryRows &rows() noexcept { return rows_; }

    std::uint64_t hash_of(const std::uint64_t *key) const noexcept {
        std::uint64_t hash = 0;
        for (std::uint32_t i = 0; i < key_words_; ++i) {
            hash = mix_word(hash, key[i]);
        }
        return finish_hash(hash);
    }

    void prefetch_slot(std::uint64_t hash) const noexcept {
        if (slots_.size() > 0) {
            __builtin_prefetch(slots_.data() + (hash & mask_));
        }
    }
    // Prefetches the record that the key most likely has.
    void prefetch_record(std::uint64_t hash) const noexcept {
        const std::uint64_t slot = slots_.size() > 0 ? slots_[hash & mask_] : 0;
        if (slot != 0) {
            __builtin_prefetch(rows_.record((slot & number_mask) - 1));
        }
    }

    // Finds the group of a key whose words are word_at(i), or makes it; begin(record) is called for a new
    // record, whose key is set. Throws Failure when there is no memory, or too many groups.
    template <typename WordAt, typename Begin>
    std::uint32_t find_or_add(std::uint64_t hash, WordAt word_at, Begin begin) {
        if (rows_.count() * 2 >= slots_.size()) {
            grow();
        }
        const std::uint64_t tag = hash & ~number_mask;
        for (std::uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
            const std::uint64_t slot = slots_[at];
            if (slot == 0) {
                const std::uint32_t group = add(word_at, begin);
                slots_[at] = tag | rows_.count();
                return group;
            }
            if ((slot & ~number_mask) == tag) {
                const std::uint64_t group = (slot & number_mask) - 1;
                const std::uint64_t *record = rows_.record(group);
                bool is_same = true;
                for (std::uint32_t i = 0; i < key_words_; ++i) {
                    is_same &= record[i] == word_at(i);
                }
                if (is_same) {
                    return static_cast<std::uint32_t>(group);
                }
            }
        }
    }

    // Adds a group that isn't there yet, which is found in another way from then on.
    template <typename WordAt, typename Begin>
    std::uint32_t add(WordAt word_at, Begin begin) {
        if (rows_.count() >= max_groups) {
            throw Failure{make_status(StatusCode::out_of_memory, "a query has too many groups")};
        }
        std::uint64_t *record = rows_.add();
        for (std::uint32_t i = 0; i < key_words_; ++i) {
            record[i] = word_at(i);
        }
        begin(record);
        return static_cast<std::uint32_t>(rows_.count() - 1);
    }

    // Forgets how groups are found; records stay.
    void drop_slots() { slots_ = Buffer<std::uint64_t>(); }

  private:
    static constexpr std::uint64_t number_mask = UINT32_MAX;
    static constexpr std::uint64_t max_groups = UINT32_MAX / 2;

    // Makes slots for the groups, of which those may have none yet that were found in another way.
    void grow() {
        const std::uint64_t size =
            std::max({slots_.size() * 4, std::bit_ceil(rows_.count() * 4), std::uint64_t{256}});
        Buffer<std::uint64_t> slots(*budget_, size);
        std::fill_n(slots.data(), size, 0);
        // The place within a larger table takes bits of the hash that the slot doesn't have.
        for (std::uint64_t i = 0; i < rows_.count(); ++i) {
            const std::uint64_t hash = hash_of(rows_.record(i));
            std::uint64_t at = hash & (size - 1);
            while (slots[at] != 0) {
                at = (at + 1) & (size - 1);
            }
            slots[at] = (hash & ~number_mask) | (i + 1);
        }
        slots_ = std::move(slots);
        mask_ = size - 1;
    }

    MemoryBudget *budget_;
    std::uint32_t key_words_;
    QueryRows rows_;
    Buffer<std::uint64_t> slots_;
    std::uint64_t mask_ = 0;
};

}  // namespace gpu_engine::host
