// A lane looks at a window in one go: a few chunks of four positions each, in masks whose bit 4k + j is entry
// j of chunk k. Chunks lie `Step` positions apart and begin at multiples of four, for reads of 16 bytes.
#pragma once

#include <cstdint>

#include "device/grid/scale.cuh"
#include "device/kary/dead.cuh"

namespace gpu_engine::device {

inline constexpr std::uint32_t chunk_keys = 4;

// Returns the position of a mask's bit.
template <int Step>
__device__ __forceinline__ std::uint32_t window_position(std::uint32_t at, std::uint32_t bit) {
    return Step == chunk_keys ? at + bit : at + bit / chunk_keys * Step + bit % chunk_keys;
}

// Returns where the window begins that has position `first` in its first chunk.
__device__ __forceinline__ std::uint32_t window_of(std::uint32_t first) {
    return first & ~(chunk_keys - 1);
}

__device__ __forceinline__ std::uint32_t bits_below(std::uint32_t number) {
    return number >= 32 ? ~0U : (1U << number) - 1;
}

// Returns the positions from `first` to `last` - 1.
template <int Chunks, int Step>
__device__ __forceinline__ std::uint32_t window_positions(std::uint32_t at, std::uint32_t first,
                                                          std::uint32_t last) {
    if constexpr (Step == chunk_keys) {
        const std::uint32_t before = first > at ? first - at : 0;
        const std::uint32_t number = last > at ? last - at : 0;
        return bits_below(min(number, Chunks * chunk_keys)) & ~bits_below(before);
    }
    std::uint32_t bits = 0;
#pragma unroll
    for (int k = 0; k < Chunks; ++k) {
        bits |= window_positions<1, chunk_keys>(at + k * Step, first, last) << (k * chunk_keys);
    }
    return bits;
}

// Those among the window's positions that are dead.
template <int Chunks, int Step>
__device__ __forceinline__ std::uint32_t window_dead(const DeadView &dead, std::uint32_t at,
                                                     std::uint32_t last) {
    const auto *words = reinterpret_cast<const std::uint32_t *>(dead.words);
    std::uint32_t bits = 0;
#pragma unroll
    for (int k = 0; k < Chunks; ++k) {
        // A chunk doesn't cross a word.
        const std::uint32_t chunk = at + k * Step;
        if (chunk < last) {
            bits |= (__ldg(words + chunk / 32) >> (chunk % 32) & 0xfU) << (k * chunk_keys);
        }
    }
    return bits;
}

// Reads a column's keys of the chunks that begin before `last`. What lies behind the array's end belongs to
// its memory too (Memory::alignment). The keys are the first to leave L2 again, so that the directory stays
// there.
template <int Chunks, int Step, typename Key>
__device__ __forceinline__ void read_window(const GridView<Key> &grid, int column, std::uint32_t at,
                                            std::uint32_t last, Key (&keys)[Chunks * chunk_keys]) {
    if (sizeof(Key) == 8 && (grid.wide >> column & 1) != 0) {
        const auto *from =
            reinterpret_cast<const ulonglong2 *>(static_cast<const std::uint64_t *>(grid.keys[column]) + at);
#pragma unroll
        for (int k = 0; k < Chunks; ++k) {
            if (at + k * Step < last) {
                const ulonglong2 low = __ldcs(from + k * (Step / 2));
                const ulonglong2 high = __ldcs(from + k * (Step / 2) + 1);
                Key *own = keys + k * chunk_keys;
                own[0] = static_cast<Key>(low.x);
                own[1] = static_cast<Key>(low.y);
                own[2] = static_cast<Key>(high.x);
                own[3] = static_cast<Key>(high.y);
            }
        }
    } else {
        const auto *from =
            reinterpret_cast<const uint4 *>(static_cast<const std::uint32_t *>(grid.keys[column]) + at);
#pragma unroll
        for (int k = 0; k < Chunks; ++k) {
            if (at + k * Step < last) {
                const uint4 read = __ldcs(from + k * (Step / 4));
                Key *own = keys + k * chunk_keys;
                own[0] = read.x;
                own[1] = read.y;
                own[2] = read.z;
                own[3] = read.w;
            }
        }
    }
}

// Returns a bit for each of the keys, set where it lies from `low` up to `low` + `width`.
template <int Number, typename Key>
__device__ __forceinline__ std::uint32_t window_between(const Key (&keys)[Number], Key low, Key width) {
    static_assert(Number <= 32);
    std::uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < Number; ++i) {
        bits |= keys[i] - low <= width ? 1U << i : 0U;
    }
    return bits;
}

// Keeps of the positions in `bits` those of entries whose keys in the columns of `tested` are between the
// bounds. The last column comes first. The lanes of a warp may test different columns.
template <int Chunks, int Step, typename Key>
__device__ __forceinline__ std::uint32_t window_inside(const GridView<Key> &grid, std::uint32_t at,
                                                       std::uint32_t last, std::uint32_t bits,
                                                       std::uint32_t tested, const Key *low,
                                                       const Key *width) {
#pragma unroll 1
    while (bits != 0 && tested != 0) {
        const int column = 31 - __clz(static_cast<int>(tested));
        tested ^= 1U << column;
        Key keys[Chunks * chunk_keys];
        read_window<Chunks, Step>(grid, column, at, last, keys);
        bits &= window_between(keys, low[column], width[column]);
    }
    return bits;
}

}  // namespace gpu_engine::device
