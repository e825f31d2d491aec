// Finds live entries in ranges of positions, in kernels.
#pragma once

#include <cstdint>

#include "device/kary/dead.cuh"
#include "gpu_engine/kary.h"

namespace gpu_engine::device {

__device__ inline std::uint32_t live_within(const KaryRange &range, const DeadView &dead) {
    std::uint32_t live = range.last - range.first;
    if (dead.words != nullptr && live > 0) {
        live -= dead_before(dead, range.last) - dead_before(dead, range.first);
    }
    return live;
}

// Returns the position of a range's live entry that `skip` live ones of it precede; there must be one.
__device__ inline std::uint64_t live_position(const KaryRange &range, const DeadView &dead,
                                              std::uint64_t skip) {
    return dead.words != nullptr ? live_from(dead, range.first, range.last, skip) : range.first + skip;
}

// Returns the range that `place` belongs to: the last of [low, high] with offsets[range] <= place. Ranges
// without a place share their offset with the next, so the last is the one that isn't empty.
template <typename Offset, typename Range>
__device__ Range range_of(const Offset *offsets, Range low, Range high, std::uint64_t place) {
    while (low < high) {
        const Range middle = low + (high - low + 1) / 2;
        if (offsets[middle] <= place) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// Returns how many of `count` ascending numbers are below `wanted`.
template <typename Number, typename Count>
__device__ Count count_below(const Number *numbers, Count count, std::uint64_t wanted) {
    Count low = 0;
    Count high = count;
    while (low < high) {
        const Count middle = low + (high - low) / 2;
        if (numbers[middle] < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

}  // namespace gpu_engine::device
