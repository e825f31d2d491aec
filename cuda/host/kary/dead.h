// Tells dead entries of an array from live ones.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

#include "gpu_engine/kary.h"
#include "host/buffer.h"

namespace gpu_engine::host {

// A bitmap with its directory: the number of dead entries before each block of bits (Jacobson's rank).
struct DeadBitmap {
    static constexpr std::uint64_t block_words = 8;

    Buffer<std::uint64_t> words;
    Buffer<std::uint32_t> before_block;
    std::uint64_t dead = 0;

    // Copies `entries` bits and clears the rest of the last block.
    DeadBitmap(MemoryBudget &budget, const std::uint64_t *bitmap, std::uint64_t entries)
        : words(budget, (entries / (block_words * 64) + 1) * block_words),
          before_block(budget, words.size() / block_words) {
        for (std::uint64_t i = 0; i < words.size(); ++i) {
            if (i % block_words == 0) {
                before_block[i / block_words] = static_cast<std::uint32_t>(dead);
            }
            const std::uint64_t bits = entries > i * 64 ? entries - i * 64 : 0;
            words[i] = bits == 0 ? 0 : bits < 64 ? bitmap[i] & ((std::uint64_t(1) << bits) - 1) : bitmap[i];
            dead += static_cast<std::uint64_t>(std::popcount(words[i]));
        }
    }

    std::uint64_t bytes() const noexcept { return words.bytes() + before_block.bytes(); }

    bool is_dead(std::uint64_t position) const noexcept {
        return (words[position / 64] >> (position % 64) & 1) != 0;
    }
    // Dead entries before `position`, which may be the number of entries.
    std::uint32_t dead_before(std::uint64_t position) const noexcept {
        const std::uint64_t word = position / 64;
        std::uint32_t count = before_block[word / block_words];
        for (std::uint64_t i = word / block_words * block_words; i < word; ++i) {
            count += static_cast<std::uint32_t>(std::popcount(words[i]));
        }
        const std::uint64_t lower_bits = (std::uint64_t(1) << (position % 64)) - 1;
        return count + static_cast<std::uint32_t>(std::popcount(words[word] & lower_bits));
    }
    // Returns the position from `first` on of the live entry that `skip` live ones precede; there must be
    // one.
    std::uint64_t live_from(std::uint64_t first, std::uint64_t skip, std::uint64_t entries) const noexcept {
        const std::uint64_t wanted = first - dead_before(first) + skip;
        std::uint64_t low = first;
        std::uint64_t high = entries;
        // The search is for the smallest position with `wanted` + 1 live entries up to and including it.
        while (low < high) {
            const std::uint64_t middle = low + (high - low) / 2;
            if (middle + 1 - dead_before(middle + 1) > wanted) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        assert(low < entries);
        return low;
    }
};

// Returns the number of live entries of a range within the array; `dead` may be null.
inline std::uint32_t live_entries(const KaryRange &range, const DeadBitmap *dead) noexcept {
    assert(range.first <= range.last);
    std::uint32_t live = range.last - range.first;
    if (dead != nullptr && live > 0) {
        live -= dead->dead_before(range.last) - dead->dead_before(range.first);
    }
    return live;
}

}  // namespace gpu_engine::host
