// Maps of old codes to new ones, made small. New codes follow each other as old ones do, except where entries
// of delta have come between; such a place is a step. So a map can be given by the places of its steps: a
// code becomes itself plus the number of steps at codes up to it. What is small stays where lookups are fast,
// in shared memory or the caches, and lookups need that, since rows' codes come in no order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace gpu_engine::device {

// How a map is looked up.
enum class MapForm {
    plain,   // as it is
    cells,   // a bit for each few codes, in every block's shared memory
    sparse,  // 256 codes in 16 bytes: up to 12 steps' places
    dense,   // 96 codes in 16 bytes: a bit each
};
inline constexpr MapForm map_forms[] = {MapForm::plain, MapForm::cells, MapForm::sparse, MapForm::dense};

// A lookup turns several codes at a time into new ones, so that what it reads is under way together. It
// prefetches the next codes unless the second level of caches, which they come through, has enough to do with
// its reads.

// The map as it is.
struct PlainLookup {
    static constexpr int threads = 256;
    static constexpr int blocks = 4;
    static constexpr int codes = 8;
    static constexpr bool prefetches = false;

    const std::uint32_t *map;

    __device__ __forceinline__ void look_up(std::uint32_t (&own)[codes]) const {
#pragma unroll
        for (int k = 0; k < codes; ++k) {
            own[k] = __ldg(map + own[k]);
        }
    }
};

// The upper bit of each byte that isn't above `most`, which is one byte four times.
__device__ __forceinline__ std::uint32_t bytes_up_to(std::uint32_t bytes, std::uint32_t most) {
    constexpr std::uint32_t upper = 0x80808080U;
    // Of the lower seven bits alone; no byte borrows from the next.
    const std::uint32_t lower = (most | upper) - (bytes & ~upper);
    return ((~bytes & most) | (~(bytes ^ most) & lower)) & upper;
}

// Returns what the address holds, or 0. There is no branch, so loads behind this one needn't wait.
__device__ __forceinline__ std::uint32_t load_if(bool is_there, const std::uint32_t *address) {
    std::uint32_t value;
    asm("{\n"
        "  .reg .pred is_there;\n"
        "  setp.ne.u32 is_there, %1, 0;\n"
        "  mov.u32 %0, 0;\n"
        "  @is_there ld.global.nc.u32 %0, [%2];\n"
        "}"
        : "=&r"(value)
        : "r"(static_cast<std::uint32_t>(is_there)), "l"(address));
    return value;
}

// ---- Cells ------------------------------------------------------------------------------------------------

// A cell is a few codes. A word has a bit for each of 32 cells, and how many steps come before it. Each step
// of a word sets the bit of its cell or, where one before has done so, of the next cell that isn't set. So a
// cell whose bit isn't set has no step, and as many steps of the word before it as bits are set: its codes
// are told by the word alone. Which bit of all a set one is says where the cell's details lie: of each of its
// codes, in a share of 32 bits, the number of steps that the bits before don't count.
struct CellMap {
    static constexpr std::uint32_t word_cells = 32;
    static constexpr std::uint32_t shortest = 2;
    static constexpr std::uint32_t longest = 16;
    // The details of a word whose codes are all looked up in the map.
    static constexpr std::uint32_t unknown = 0xffffffffU;
    // Stands in place of the steps before a word where the map doesn't ascend, so that it is read as it is.
    static constexpr std::uint32_t falls = 0xffffffffU;

    std::uint32_t length;  // of a cell, in codes
    std::uint32_t words;
    std::uint32_t max_steps;  // which there are details for
    std::uint32_t share;      // of a code in its cell's details, in bits
    // To divide by, multiplied and shifted by 32 and 16 bits; exact for what they are used for.
    std::uint32_t reciprocal;
    std::uint32_t short_reciprocal;

    CellMap(std::uint64_t entries, std::uint32_t length, std::uint32_t max_steps)
        : length(length),
          words(static_cast<std::uint32_t>((entries - 1) / (word_cells * length) + 1)),
          max_steps(max_steps),
          share(32 / std::bit_ceil(length)),
          reciprocal(static_cast<std::uint32_t>(((std::uint64_t(1) << 32) + length - 1) / length)),
          short_reciprocal(((1U << 16) + length - 1) / length) {}

    // How many bytes the words take. Blocks copy 16 bytes at a time.
    __host__ __device__ std::size_t bytes() const {
        return (static_cast<std::size_t>(words) * sizeof(uint2) + 15) / 16 * 16;
    }
    // Behind the details of the steps come those of words that are unknown.
    std::size_t details() const { return static_cast<std::size_t>(max_steps) + word_cells; }
};

struct CellLookup {
    static constexpr int threads = 1024;
    static constexpr int blocks = 1;
    static constexpr int codes = 8;
    static constexpr bool prefetches = true;

    CellMap cells;
    const uint2 *words;  // steps before, bits; in device memory or the block's
    const std::uint32_t *details;
    const std::uint32_t *map;

    // Copies the words into the block's memory. Returns whether the map ascends.
    __device__ bool enter(uint4 *shared) {
        const auto *from = reinterpret_cast<const uint4 *>(words);
        const auto count = static_cast<unsigned>(cells.bytes() / sizeof(uint4));
        bool ascends = true;
        for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
            const uint4 two = from[i];
            ascends = ascends && two.x != CellMap::falls && two.z != CellMap::falls;
            shared[i] = two;
        }
        words = reinterpret_cast<const uint2 *>(shared);
        return __syncthreads_and(ascends) != 0;
    }
    __device__ __forceinline__ void look_up(std::uint32_t (&own)[codes]) const {
        const std::uint32_t most = CellMap::unknown >> (32 - cells.share);
        uint2 word[codes];
        std::uint32_t within[codes];
#pragma unroll
        for (int k = 0; k < codes; ++k) {
            const std::uint32_t index = __umulhi(own[k] / CellMap::word_cells, cells.reciprocal);
            word[k] = words[index];
            within[k] = own[k] - index * (CellMap::word_cells * cells.length);
        }
        std::uint32_t steps[codes];
        std::uint32_t further[codes];
#pragma unroll
        for (int k = 0; k < codes; ++k) {
            const std::uint32_t cell = within[k] * cells.short_reciprocal >> 16;
            const std::uint32_t from = __funnelshift_l(0U, ~0U, cell);
            steps[k] = word[k].x + static_cast<std::uint32_t>(__popc(word[k].y & ~from));
            further[k] = load_if((__funnelshift_r(word[k].y, 0U, cell) & 1U) != 0, details + steps[k]);
            within[k] -= cell * cells.length;
        }
        bool unknown = false;
#pragma unroll
        for (int k = 0; k < codes; ++k) {
            further[k] = __funnelshift_r(further[k], 0U, within[k] * cells.share) & most;
            unknown = unknown || further[k] == most;
            own[k] += steps[k] + further[k];
        }
        if (unknown) {
#pragma unroll
            for (int k = 0; k < codes; ++k) {
                if (further[k] == most) {
                    own[k] = __ldg(map + (own[k] - steps[k] - most));
                }
            }
        }
    }
};

// Each warp makes a word, and each of its lanes a cell.
template <unsigned Warps>
__global__ void __launch_bounds__(Warps * 32)
    make_cells_kernel(const std::uint32_t *map, std::uint32_t entries, CellMap cells, uint2 *words,
                      std::uint32_t *details) {
    constexpr std::uint32_t all = 0xffffffffU;
    constexpr std::uint32_t longest = CellMap::longest;
    __shared__ std::uint32_t memory[Warps][CellMap::word_cells * longest];
    const std::uint32_t most = CellMap::unknown >> (32 - cells.share);
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t index = blockIdx.x * Warps + threadIdx.x / 32;
    if (index == 0) {
        details[cells.max_steps + lane] = CellMap::unknown;
    }
    if (index >= cells.words) {
        // Blocks copy two words at a time.
        if (index == cells.words && lane == 0 && index % 2 != 0) {
            words[index] = uint2{0, 0};
        }
        return;
    }
    const std::uint32_t first = index * CellMap::word_cells * cells.length;
    // For each code: the number of steps at it and before.
    std::uint32_t *const steps_of_word = memory[threadIdx.x / 32];
    const auto steps_at = [&](std::uint32_t code) { return __ldg(map + code) - code; };
    std::uint32_t steps[longest];
#pragma unroll
    for (std::uint32_t i = 0; i < longest; ++i) {
        steps[i] = i < cells.length ? steps_at(min(first + i * 32 + lane, entries - 1)) : 0;
    }
#pragma unroll
    for (std::uint32_t i = 0; i < longest; ++i) {
        steps_of_word[i * 32 + lane] = steps[i];
    }
    __syncwarp();
#pragma unroll
    for (std::uint32_t i = 0; i < longest; ++i) {
        // Behind the cell's last code the last number is repeated.
        steps[i] = steps_of_word[lane * cells.length + min(i, cells.length - 1)];
    }
    const std::uint32_t before_word = first == 0 ? 0 : steps_at(first - 1);
    const std::uint32_t other_before = __shfl_up_sync(all, steps[longest - 1], 1);
    bool ascends = true;
    std::uint32_t previous = lane == 0 ? before_word : other_before;
#pragma unroll
    for (std::uint32_t i = 0; i < longest; ++i) {
        ascends = ascends && previous <= steps[i];
        previous = steps[i];
    }
    ascends = __all_sync(all, ascends) != 0;
    const bool known = __shfl_sync(all, previous, 31) <= cells.max_steps;
    // The number of bits up to a cell is one more than up to the cell before, but no more than there are
    // steps. With the cells before subtracted, it is the least number so far.
    auto least = static_cast<std::int32_t>(previous - before_word) - static_cast<std::int32_t>(lane);
#pragma unroll
    for (std::uint32_t distance = 1; distance < 32; distance *= 2) {
        const std::int32_t other = __shfl_up_sync(all, least, distance);
        least = lane >= distance && other < least ? other : least;
    }
    const auto bits_up_to =
        static_cast<std::uint32_t>((least < 1 ? least : 1) + static_cast<std::int32_t>(lane));
    const std::uint32_t other_bits = __shfl_up_sync(all, bits_up_to, 1);
    const std::uint32_t bits_before = lane == 0 ? 0 : other_bits;
    const bool is_set = bits_up_to > bits_before;
    const std::uint32_t bits = __ballot_sync(all, is_set);
    if (lane == 0) {
        words[index] = !ascends ? uint2{CellMap::falls, 0}
                       : known  ? uint2{before_word, bits}
                                : uint2{cells.max_steps, all};
    }
    if (ascends && known && is_set) {
        const std::uint32_t counted = before_word + bits_before;
        std::uint32_t detail = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < longest; ++i) {
            detail |= i < cells.length ? min(steps[i] - counted, most) << i * cells.share : 0;
        }
        details[counted] = detail;
    }
}

// ---- Groups of codes --------------------------------------------------------------------------------------

// 16 bytes for `codes` codes: how many steps come before, then the steps within. For an irregular group the
// map itself is read.
inline constexpr std::uint32_t irregular_group = 1U << 31;

struct SparseGroups {
    static constexpr std::uint32_t codes = 256;
    static constexpr std::uint32_t max_steps = 12;

    // Places that no step takes are 0, and are always counted.
    static __device__ __forceinline__ std::uint32_t steps_up_to(const uint4 &group, std::uint32_t within) {
        const std::uint32_t most = within * 0x01010101U;
        return static_cast<std::uint32_t>(__popc(
            bytes_up_to(group.y, most) | bytes_up_to(group.z, most) >> 1 | bytes_up_to(group.w, most) >> 2));
    }
    // A warp calls it; each lane has every 32nd code. `steps(k)` is how many steps its k-th code has.
    static __device__ uint4 pack(std::uint32_t before, const std::uint32_t (&steps)[codes / 32],
                                 unsigned lane) {
        std::uint32_t words[3] = {};
        std::uint32_t taken = 0;
        for (unsigned k = 0; k < codes / 32; ++k) {
            unsigned stepping = __ballot_sync(0xffffffffU, steps[k] != 0);
            while (stepping != 0) {
                const auto from = static_cast<unsigned>(__ffs(static_cast<int>(stepping)) - 1);
                stepping &= stepping - 1;
                const std::uint32_t count = __shfl_sync(0xffffffffU, steps[k], static_cast<int>(from));
                for (std::uint32_t i = 0; i < count && taken < max_steps; ++i, ++taken) {
                    const std::uint32_t place = (k * 32 + from) << (taken % 4 * 8);
                    words[0] |= taken / 4 == 0 ? place : 0;
                    words[1] |= taken / 4 == 1 ? place : 0;
                    words[2] |= taken / 4 == 2 ? place : 0;
                }
            }
        }
        static_cast<void>(lane);
        return {before - (max_steps - taken), words[0], words[1], words[2]};
    }
};

struct DenseGroups {
    static constexpr std::uint32_t codes = 96;
    static constexpr std::uint32_t max_steps = 1;  // at a code

    static __device__ __forceinline__ std::uint32_t steps_up_to(const uint4 &group, std::uint32_t within) {
        const auto up_to = [&](std::uint32_t bits, int first) {
            const int count = static_cast<int>(within) + 1 - first;
            return static_cast<std::uint32_t>(
                __popc(bits & ~__funnelshift_lc(0U, ~0U, static_cast<unsigned>(count > 0 ? count : 0))));
        };
        return up_to(group.y, 0) + up_to(group.z, 32) + up_to(group.w, 64);
    }
    static __device__ uint4 pack(std::uint32_t before, const std::uint32_t (&steps)[codes / 32], unsigned) {
        return {before, __ballot_sync(0xffffffffU, steps[0] != 0), __ballot_sync(0xffffffffU, steps[1] != 0),
                __ballot_sync(0xffffffffU, steps[2] != 0)};
    }
};

template <typename Groups>
struct GroupedLookup {
    static constexpr int threads = 1024;
    static constexpr int blocks = 1;
    static constexpr int codes = 8;
    static constexpr bool prefetches = false;

    const uint4 *groups;
    const std::uint32_t *map;

    __device__ __forceinline__ void look_up(std::uint32_t (&own)[codes]) const {
        uint4 group[codes];
#pragma unroll
        for (int k = 0; k < codes; ++k) {
            group[k] = __ldg(groups + own[k] / Groups::codes);
        }
        std::uint32_t steps[codes];
        std::uint32_t irregular = 0;
#pragma unroll
        for (int k = 0; k < codes; ++k) {
            irregular |= group[k].x == irregular_group ? 1U << k : 0;
            steps[k] = group[k].x + Groups::steps_up_to(group[k], own[k] % Groups::codes);
            own[k] += steps[k];
        }
        if (irregular != 0) {
#pragma unroll
            for (int k = 0; k < codes; ++k) {
                if ((irregular >> k & 1U) != 0) {
                    own[k] = __ldg(map + (own[k] - steps[k]));
                }
            }
        }
    }
};

// Each warp makes a group.
template <typename Groups>
__global__ void group_steps_kernel(const std::uint32_t *map, std::uint32_t entries, uint4 *groups) {
    constexpr unsigned parts = Groups::codes / 32;
    const std::uint32_t group = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const std::uint32_t first = group * Groups::codes;
    if (first >= entries) {
        return;
    }
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t steps[parts];
    std::uint32_t most = 0;
    std::uint32_t all = 0;
    std::uint32_t last = 0;
#pragma unroll
    for (unsigned k = 0; k < parts; ++k) {
        const std::uint32_t code = first + k * 32 + lane;
        const std::uint32_t own = code < entries ? map[code] : 0;
        const std::uint32_t before = __shfl_up_sync(0xffffffffU, own, 1);
        // The first lane needs the last code of the 32 before.
        steps[k] = code > first && code < entries ? own - (lane > 0 ? before : last) - 1 : 0;
        last = __shfl_sync(0xffffffffU, own, 31);
        most = steps[k] > most ? steps[k] : most;
        all += steps[k] > Groups::max_steps ? Groups::max_steps + 1 : steps[k];
    }
    const bool counted = Groups::max_steps == 1 || __reduce_add_sync(0xffffffffU, all) <= Groups::max_steps;
    const bool regular = counted && __all_sync(0xffffffffU, most <= Groups::max_steps) != 0;
    uint4 packed = {irregular_group, 0, 0, 0};
    if (regular) {
        packed = Groups::pack(map[first] - first, steps, lane);
    }
    if (lane == 0) {
        groups[group] = packed;
    }
}

}  // namespace gpu_engine::device
