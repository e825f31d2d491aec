// Maps of old codes to new ones, made small. New codes follow each other as old ones do, except where entries
// of delta have come between: a step. So a map is the places of its steps: a code becomes itself plus the
// number of steps at codes up to it. What is small stays where lookups are fast, since rows' codes come in no
// order: in shared memory, or the caches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpu_engine::device {

// How a map is looked up.
enum class MapForm {
    plain,   // as it is
    listed,  // steps' places one after the other, in every block's shared memory
    sparse,  // 256 codes in 16 bytes: up to 12 steps' places
    dense,   // 96 codes in 16 bytes: a bit each
};
inline constexpr MapForm map_forms[] = {MapForm::plain, MapForm::listed, MapForm::sparse, MapForm::dense};

// A map as it is.
struct PlainLookup {
    static constexpr int threads = 256;
    static constexpr int blocks = 6;
    static constexpr int codes = 8;

    const std::uint32_t *map;

    __device__ const PlainLookup &in_block(uint4 *) const { return *this; }
    __device__ __forceinline__ std::uint32_t operator()(std::uint32_t code) const {
        return __ldg(map + code);
    }
};

// The upper bit of each byte that isn't above `most`, which is one byte four times.
__device__ __forceinline__ std::uint32_t bytes_up_to(std::uint32_t bytes, std::uint32_t most) {
    constexpr std::uint32_t upper = 0x80808080U;
    // Of the lower seven bits alone; no byte borrows from the next.
    const std::uint32_t lower = (most | upper) - (bytes & ~upper);
    return ((~bytes & most) | (~(bytes ^ most) & lower)) & upper;
}

// ---- Steps listed -----------------------------------------------------------------------------------------

// The list goes by blocks of 256 codes, in which a place takes a byte. Where a block's places begin differs
// little from its even share of the list, so that the difference takes 16 bits.
struct StepList {
    static constexpr std::uint32_t block_codes = 256;
    static constexpr std::uint32_t even = 1U << 15;
    // At one code; a longer one isn't worth its time.
    static constexpr std::uint32_t longest_step = 1U << 10;

    std::uint32_t blocks;
    std::uint32_t steps;
    std::uint32_t share;  // of a block, in 1/65536

    StepList(std::uint64_t entries, std::uint32_t steps)
        : blocks(static_cast<std::uint32_t>((entries + block_codes - 1) / block_codes)),
          steps(steps),
          share(static_cast<std::uint32_t>((static_cast<std::uint64_t>(steps) << 16) / blocks)) {}

    // Begins of the blocks and of what would follow the last, then places, of which some more are read.
    __host__ __device__ std::size_t begins_bytes() const {
        return (static_cast<std::size_t>(blocks + 1) * sizeof(std::uint16_t) + 15) / 16 * 16;
    }
    __host__ __device__ std::size_t bytes() const {
        return begins_bytes() + (static_cast<std::size_t>(steps) + 12 + 15) / 16 * 16;
    }
    __device__ __forceinline__ std::uint32_t share_before(std::uint32_t block) const {
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(block) * share >> 16);
    }
};

struct ListedLookup {
    static constexpr int threads = 1024;
    static constexpr int blocks = 1;
    static constexpr int codes = 4;

    StepList list;
    const std::uint16_t *begins;  // the list, in device memory or the block's
    const std::uint32_t *places;

    ListedLookup(const StepList &list, const void *memory)
        : list(list),
          begins(static_cast<const std::uint16_t *>(memory)),
          places(reinterpret_cast<const std::uint32_t *>(static_cast<const char *>(memory) +
                                                         list.begins_bytes())) {}
    __device__ ListedLookup in_block(uint4 *shared) const {
        const auto *from = reinterpret_cast<const uint4 *>(begins);
        const auto count = static_cast<unsigned>(list.bytes() / sizeof(uint4));
        for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
            shared[i] = from[i];
        }
        __syncthreads();
        ListedLookup own = *this;
        own.begins = reinterpret_cast<const std::uint16_t *>(shared);
        own.places = reinterpret_cast<const std::uint32_t *>(reinterpret_cast<const char *>(shared) +
                                                             list.begins_bytes());
        return own;
    }
    __device__ __forceinline__ std::uint32_t operator()(std::uint32_t code) const {
        constexpr int at_once = 3;
        const std::uint32_t block = code / StepList::block_codes;
        const std::uint32_t most = code % StepList::block_codes * 0x01010101U;
        const std::uint64_t share = static_cast<std::uint64_t>(block) * list.share;
        const std::uint32_t first = static_cast<std::uint32_t>(share >> 16) + begins[block] - StepList::even;
        const std::uint32_t last =
            static_cast<std::uint32_t>((share + list.share) >> 16) + begins[block + 1] - StepList::even;
        const std::uint32_t word = first / 4;
        const auto found = [&](std::uint32_t k) {
            // Those of the block alone.
            const int left = static_cast<int>(last - (word + k) * 4);
            const std::uint32_t behind =
                __funnelshift_lc(0U, ~0U, static_cast<unsigned>(left > 0 ? left : 0) * 8);
            return bytes_up_to(places[word + k], most) & ~behind;
        };
        std::uint32_t together = found(0) & (0xffffffffU << (first % 4 * 8));
#pragma unroll
        for (int k = 1; k < at_once; ++k) {
            together |= found(static_cast<std::uint32_t>(k)) >> k;
        }
        std::uint32_t result = code + first + static_cast<std::uint32_t>(__popc(together));
        for (std::uint32_t k = at_once; (word + k) * 4 < last; ++k) {
            result += static_cast<std::uint32_t>(__popc(found(k)));
        }
        return result;
    }
};

// ---- Groups of codes --------------------------------------------------------------------------------------

// 16 bytes for `codes` codes: how many steps come before, then the steps within. Irregular: the map itself is
// read.
inline constexpr std::uint32_t irregular_group = 1U << 31;

struct SparseGroups {
    static constexpr std::uint32_t codes = 256;
    static constexpr std::uint32_t most_steps = 12;

    // Places not taken are 0, and counted always.
    static __device__ __forceinline__ std::uint32_t steps_up_to(const uint4 &group, std::uint32_t within) {
        const std::uint32_t most = within * 0x01010101U;
        return static_cast<std::uint32_t>(__popc(
            bytes_up_to(group.y, most) | bytes_up_to(group.z, most) >> 1 | bytes_up_to(group.w, most) >> 2));
    }
    // A warp's: lane's codes are each 32nd. `steps(k)` is how many the k-th has.
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
                for (std::uint32_t i = 0; i < count && taken < most_steps; ++i, ++taken) {
                    const std::uint32_t place = (k * 32 + from) << (taken % 4 * 8);
                    words[0] |= taken / 4 == 0 ? place : 0;
                    words[1] |= taken / 4 == 1 ? place : 0;
                    words[2] |= taken / 4 == 2 ? place : 0;
                }
            }
        }
        static_cast<void>(lane);
        return {before - (most_steps - taken), words[0], words[1], words[2]};
    }
};

struct DenseGroups {
    static constexpr std::uint32_t codes = 96;
    static constexpr std::uint32_t most_steps = 1;  // at a code

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
    static constexpr int threads = 256;
    static constexpr int blocks = 4;
    static constexpr int codes = 8;

    const uint4 *groups;
    const std::uint32_t *map;

    __device__ const GroupedLookup &in_block(uint4 *) const { return *this; }
    __device__ __forceinline__ std::uint32_t operator()(std::uint32_t code) const {
        const uint4 group = __ldg(groups + code / Groups::codes);
        if (group.x == irregular_group) {
            return __ldg(map + code);
        }
        return code + group.x + Groups::steps_up_to(group, code % Groups::codes);
    }
};
// A warp a group.
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
#pragma unroll
    for (unsigned k = 0; k < parts; ++k) {
        const std::uint32_t code = first + k * 32 + lane;
        steps[k] = code > first && code < entries ? map[code] - map[code - 1] - 1 : 0;
        most = steps[k] > most ? steps[k] : most;
        all += steps[k] > Groups::most_steps ? Groups::most_steps + 1 : steps[k];
    }
    const bool counted = Groups::most_steps == 1 || __reduce_add_sync(0xffffffffU, all) <= Groups::most_steps;
    const bool regular = counted && __all_sync(0xffffffffU, most <= Groups::most_steps) != 0;
    uint4 packed = {irregular_group, 0, 0, 0};
    if (regular) {
        packed = Groups::pack(map[first] - first, steps, lane);
    }
    if (lane == 0) {
        groups[group] = packed;
    }
}

}  // namespace gpu_engine::device
