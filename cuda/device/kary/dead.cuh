// Reading a dead bitmap in kernels.
#pragma once

#include <cstdint>

#include "device/kary/dead.h"

namespace gpu_engine::device {

__device__ inline bool is_dead(const DeadView &dead, std::uint64_t position) {
    return (dead.words[position / 64] >> (position % 64) & 1) != 0;
}

// Dead entries before `position`, which may be the number of entries.
__device__ inline std::uint32_t dead_before(const DeadView &dead, std::uint64_t position) {
    const std::uint64_t word = position / 64;
    std::uint64_t i = word / DeadView::block_words * DeadView::block_words;
    std::uint32_t count = dead.before_block[i / DeadView::block_words];
    for (; i < word; ++i) {
        count += __popcll(dead.words[i]);
    }
    return count + __popcll(dead.words[word] & ((std::uint64_t(1) << (position % 64)) - 1));
}

// Returns the position from `first` to `last` - 1 of the live entry that `skip` live ones precede; there must
// be one.
__device__ inline std::uint64_t live_from(const DeadView &dead, std::uint64_t first, std::uint64_t last,
                                          std::uint64_t skip) {
    const std::uint64_t wanted = first - dead_before(dead, first) + skip;
    std::uint64_t low = first;
    std::uint64_t high = last - 1;
    // The search is for the smallest position with `wanted` + 1 live entries up to and including it.
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (middle + 1 - dead_before(dead, middle + 1) > wanted) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

}  // namespace gpu_engine::device
