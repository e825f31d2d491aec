// Searching scales, and what else kernels over grid files share.
#pragma once

#include <cstdint>

#include "device/grid/view.h"

namespace gpu_engine::device {

template <typename Key>
__host__ __device__ constexpr Key highest_of() {
    return static_cast<Key>(~Key(0));
}

// The slot of a key, and the keys that it lies between. `lowest` is that of its own slot, and 0 for the first
// slot; `next` is the lowest key of the slot behind it, and anything for the last slot.
template <typename Key>
struct SlotPlace {
    std::uint32_t slot;
    Key lowest;
    Key next;
};

// Finds the slot in a scale of the first level; `top` are the trees.
template <typename Key>
__device__ __forceinline__ SlotPlace<Key> find_slot(const ScaleShape &shape, const Key *top, const Key *scale,
                                                    Key key) {
    SlotPlace<Key> place = {0, 0, highest_of<Key>()};
    const Key *tree = top + shape.top_begin;
    std::uint32_t node = 1;
    for (int level = shape.height; level > 0; --level) {
        const Key separator = tree[node];
        const bool right = separator <= key;
        place.lowest = right ? separator : place.lowest;
        place.next = right ? place.next : separator;
        node = 2 * node + (right ? 1 : 0);
    }
    std::uint32_t slot = (node - (1U << shape.height)) << shape.shift;
    for (int bit = shape.shift; bit-- > 0;) {
        const Key separator = __ldg(scale + slot + (1U << bit) - 1);
        const bool right = separator <= key;
        place.lowest = right ? separator : place.lowest;
        place.next = right ? place.next : separator;
        slot += right ? 1U << bit : 0U;
    }
    if (slot >= shape.slots) {
        // The highest key also passes the keys that pad the scale. Where in the last slot it lies isn't
        // known, so `lowest` is 0.
        slot = shape.slots - 1;
        place.lowest = 0;
    }
    place.slot = slot;
    return place;
}

// Finds the slot in a lower grid's scale of `last_slot` keys.
template <typename Key>
__device__ __forceinline__ SlotPlace<Key> find_lower_slot(const Key *scale, std::uint32_t last_slot,
                                                          Key key) {
    SlotPlace<Key> place = {0, 0, highest_of<Key>()};
    std::uint32_t low = 0;
    std::uint32_t high = last_slot;
    while (low < high) {
        const std::uint32_t middle = (low + high) / 2;
        const Key separator = __ldg(scale + middle);
        if (separator <= key) {
            low = middle + 1;
            place.lowest = separator;
        } else {
            high = middle;
            place.next = separator;
        }
    }
    place.slot = low;
    return place;
}

__device__ __forceinline__ LowerGrid read_grid(const LowerGrid *grids, std::uint32_t number) {
    union {
        uint4 words[2];
        LowerGrid grid;
    } read;
    const auto *from = reinterpret_cast<const uint4 *>(grids + number);
    read.words[0] = __ldg(from);
    read.words[1] = __ldg(from + 1);
    return read.grid;
}

// Returns the position that a word of the directory stands for.
__device__ __forceinline__ std::uint32_t position_of(const LowerGrid *grids, std::uint32_t word) {
    return (word & has_grid) != 0 ? __ldg(&grids[word & ~has_grid].first) : word;
}

// Element i of an array whose keys have 32 or 64 bits.
template <typename Key>
__device__ __forceinline__ Key read_key(const void *keys, bool wide, std::uint64_t i) {
    if constexpr (sizeof(Key) == 4) {
        return __ldg(static_cast<const std::uint32_t *>(keys) + i);
    } else {
        return wide ? __ldg(reinterpret_cast<const unsigned long long *>(keys) + i)
                    : __ldg(static_cast<const std::uint32_t *>(keys) + i);
    }
}
// Returns an entry's key.
template <typename Key>
__device__ __forceinline__ Key key_at(const GridView<Key> &grid, int column, std::uint32_t position) {
    if (sizeof(Key) == 8 && (grid.wide >> column & 1) != 0) {
        return static_cast<Key>(
            __ldcs(static_cast<const unsigned long long *>(grid.keys[column]) + position));
    }
    return __ldcs(static_cast<const std::uint32_t *>(grid.keys[column]) + position);
}

// Makes the block's copy of the trees. All of its threads call it.
template <typename Key>
__device__ __forceinline__ void copy_top(const GridView<Key> &grid, Key *top) {
    for (std::uint32_t i = threadIdx.x; i < grid.top_keys; i += blockDim.x) {
        top[i] = __ldg(grid.top + i);
    }
    __syncthreads();
}

// Finds a point's cell of the last level, as positions.
template <int D, typename Key>
__device__ __forceinline__ void find_leaf(const GridView<Key> &grid, const Key *top, const Key (&key)[D],
                                          std::uint32_t &first, std::uint32_t &last) {
    // All columns' trees are descended at once.
    std::uint32_t node[D];
#pragma unroll
    for (int c = 0; c < D; ++c) {
        node[c] = 1;
    }
    for (std::uint32_t level = 0; level < grid.top_height; ++level) {
#pragma unroll
        for (int c = 0; c < D; ++c) {
            if (level < grid.shapes[c].height) {
                node[c] = 2 * node[c] + (top[grid.shapes[c].top_begin + node[c]] <= key[c] ? 1 : 0);
            }
        }
    }
    std::uint32_t cell = 0;
#pragma unroll
    for (int c = 0; c < D; ++c) {
        const ScaleShape &shape = grid.shapes[c];
        std::uint32_t slot = (node[c] - (1U << shape.height)) << shape.shift;
        for (int bit = shape.shift; bit-- > 0;) {
            slot += __ldg(grid.scales[c] + slot + (1U << bit) - 1) <= key[c] ? 1U << bit : 0U;
        }
        // The highest key also passes the keys that pad the scale.
        cell = cell * shape.all_slots + min(slot, shape.slots - 1);
    }
    first = __ldg(grid.directory + cell);
    last = __ldg(grid.directory + cell + 1);
    while ((first & has_grid) != 0) {
        const LowerGrid lower = read_grid(grid.grids, first & ~has_grid);
        const Key *scale = grid.lower_scales + lower.first_scale;
        cell = 0;
#pragma unroll
        for (int c = 0; c < D; ++c) {
            const std::uint32_t last_slot = lower.last_slot[c];
            cell = cell * (last_slot + 1) + find_lower_slot(scale, last_slot, key[c]).slot;
            scale += last_slot;
        }
        cell += lower.first_cell;
        first = __ldg(grid.directory + cell);
        last = __ldg(grid.directory + cell + 1);
    }
    last = position_of(grid.grids, last);
}

}  // namespace gpu_engine::device
