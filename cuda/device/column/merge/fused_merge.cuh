// The merge of two dictionaries in one pass: each entry is read once, and the union and both maps are written
// once. Blocks take tiles of the merge path (Odeh, Green, Mwassi, Shmueli, Birk, 2012). Within a tile the
// entries of the smaller side are looked up in the other's, which gives each a place in the merged order;
// from a bit a place, whether delta's entry is there, all else follows by counting. How many duplicates the
// tiles before one had comes by decoupled look-back (Merrill, Garland: "Single-pass Parallel Prefix Scan with
// Decoupled Look-back", 2016), as in CUB's scans.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cub/agent/single_pass_scan_operators.cuh>
#include <cuda/std/functional>

#include <cstdint>

#include "device/call.h"
#include "device/kary/key.cuh"
#include "device/launch_bounds.cuh"

namespace gpu_engine::device {

// Entries that are compared as they are. Staged is what the union is made of.
template <typename Entry>
struct NumberMerge {
    using Key = Entry;
    using Staged = Entry;
    static constexpr bool keys_are_entries = true;

    const Entry *main;
    const Entry *delta;
    Entry *merged;

    __device__ __forceinline__ Key main_key(std::uint32_t i) const { return main[i]; }
    __device__ __forceinline__ Key delta_key(std::uint32_t i) const { return delta[i]; }
    // Returns whether delta's entry goes before main's.
    __device__ __forceinline__ bool before(const Key &delta_key, std::uint32_t, const Key &main_key,
                                           std::uint32_t) const {
        return less(delta_key, main_key);
    }
    __device__ __forceinline__ bool same(const Key &delta_key, std::uint32_t, const Key &main_key,
                                         std::uint32_t) const {
        return equal(delta_key, main_key);
    }
    __device__ __forceinline__ Staged staged_main(const Key &key, std::uint32_t) const { return key; }
    __device__ __forceinline__ Staged staged_delta(const Key &key, std::uint32_t) const { return key; }
};

template <int KeyBytes>
struct FusedShape {
    static constexpr int threads = 256;
    static constexpr int blocks = KeyBytes == 8 ? 6 : 5;  // a multiprocessor, at least
    static constexpr int items = KeyBytes == 4 ? 20 : KeyBytes == 8 ? 12 : 8;
};

using TileState = cub::ScanTileState<std::uint32_t>;

// Returns for how many of the ascending keys 0 to count - 1 `goes_before` holds. It holds for the first ones.
template <typename GoesBefore>
__device__ __forceinline__ std::uint32_t partition_point(std::uint32_t count, GoesBefore goes_before) {
    std::uint32_t low = 0;
    while (count > 0) {
        const std::uint32_t half = count / 2;
        const bool is_behind = goes_before(low + half);
        low = is_behind ? low + half + 1 : low;
        count = is_behind ? count - half - 1 : half;
    }
    return low;
}

// Returns how many of the first `diagonal` entries come from main. The search begins where the split would be
// if delta's entries were spread evenly over main's, and goes further and further from there, because each
// step waits for device memory.
template <typename Merge>
__device__ std::uint32_t find_split(const Merge &merge, std::uint32_t main_count, std::uint32_t delta_count,
                                    std::uint32_t diagonal) {
    constexpr std::uint64_t narrowest = 64;
    constexpr std::uint64_t growth = 16;
    const std::uint32_t least = diagonal > delta_count ? diagonal - delta_count : 0;
    const std::uint32_t most = min(diagonal, main_count);
    // Do so many suffice?
    const auto suffice = [&](std::uint32_t i) {
        const std::uint32_t j = diagonal - 1 - i;
        return merge.before(merge.delta_key(j), j, merge.main_key(i), i);
    };
    const auto even = static_cast<std::uint32_t>(static_cast<std::uint64_t>(diagonal) * main_count /
                                                 (static_cast<std::uint64_t>(main_count) + delta_count));
    std::uint32_t low = least;
    std::uint32_t high = most;
    for (std::uint64_t width = narrowest; width < most - least; width *= growth) {
        const auto distance = static_cast<std::uint32_t>(width);
        const std::uint32_t from = even - least > distance ? even - distance : least;
        const std::uint32_t to = most - even > distance ? even + distance : most;
        const bool from_there = from == least || !suffice(from - 1);
        const bool up_to_there = to == most || suffice(to);
        if (from_there && up_to_there) {
            low = from;
            high = to;
            break;
        }
    }
    return low + partition_point(high - low, [&](std::uint32_t i) { return !suffice(low + i); });
}

template <typename Merge>
__global__ void fused_splits_kernel(Merge merge, std::uint32_t main_count, std::uint32_t delta_count,
                                    int tile, std::uint32_t tiles, TileState state, std::uint32_t *splits) {
    state.InitializeStatus(static_cast<int>(tiles));
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= tiles) {
        const std::uint64_t end = static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(tile);
        const std::uint32_t total = main_count + delta_count;
        splits[i] =
            find_split(merge, main_count, delta_count, end < total ? static_cast<std::uint32_t>(end) : total);
    }
}

// A part of a dictionary in a block's shared memory. It begins as far behind a boundary of 16 bytes as it
// does in device memory, so that it is copied 16 bytes at a time.
template <typename Key>
struct TilePart {
    static constexpr std::uint32_t keys_a_copy = 16 / sizeof(Key);

    const Key *from;
    std::uint32_t count;
    std::uint32_t offset;  // before the first key, in keys
    bool aligned;          // a copy's keys are on a boundary of 16 bytes; keys of 16 bytes need not be

    __device__ TilePart(const Key *from, std::uint32_t count) : from(from), count(count) {
        const auto misplaced = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 16);
        offset = misplaced / sizeof(Key);
        aligned = misplaced % sizeof(Key) == 0;
    }
    // Returns how many places of keys the copy takes.
    __device__ std::uint32_t places() const {
        return (offset + count + keys_a_copy - 1) / keys_a_copy * keys_a_copy;
    }
    // `to` is on a boundary of 16 bytes. The keys lie from to + offset on once the copies are awaited.
    __device__ void copy_async(Key *to) const {
        const std::uint32_t copies = places() / keys_a_copy;
        for (std::uint32_t i = threadIdx.x; i < copies; i += blockDim.x) {
            const std::uint32_t first = i * keys_a_copy;
            if (aligned && first >= offset && first + keys_a_copy <= offset + count) {
                __pipeline_memcpy_async(to + first, from - offset + first, 16);
            } else {
                for (std::uint32_t k = first; k < first + keys_a_copy; ++k) {
                    if (k >= offset && k < offset + count) {
                        to[k] = from[k - offset];
                    }
                }
            }
        }
    }
};

// Calls write(to[i], i) for each i below `count`. Each warp takes whole cache lines, since writing parts of
// their sectors takes longer.
template <typename Element, typename Write>
__device__ __forceinline__ void for_each_aligned(Element *to, std::uint32_t count, Write write) {
    constexpr auto line = static_cast<std::uint32_t>(128 / sizeof(Element));
    const auto offset =
        static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) / sizeof(Element)) % line;
    for (std::uint32_t i = threadIdx.x; i < offset + count; i += blockDim.x) {
        if (i >= offset) {
            write(to[i - offset], i - offset);
        }
    }
}

template <typename Merge, typename Shape>
__global__ void __launch_bounds__(Shape::threads, resident_blocks(Shape::blocks, Shape::threads))
    fused_merge_kernel(Merge merge, std::uint32_t main_count, std::uint32_t delta_count,
                       const std::uint32_t *splits, TileState state, std::uint32_t *main_map,
                       std::uint32_t *delta_map, volatile std::uint64_t *count) {
    using Key = typename Merge::Key;
    constexpr int items = Shape::items;
    constexpr int warps = Shape::threads / 32;
    constexpr std::uint32_t tile = Shape::threads * items;
    // A lane keeps the bits of 32 places; the places of a warp follow each other.
    static_assert(items <= 32 && tile < 1 << 15);
    constexpr std::uint32_t all = 0xffffffffU;
    constexpr std::uint32_t rounding = 16 / sizeof(Key);
    using Prefix = cub::TilePrefixCallbackOp<std::uint32_t, cuda::std::plus<>, TileState>;
    __shared__ typename Prefix::TempStorage prefix_memory;
    // Main's keys come first, then delta's.
    __shared__ __align__(16) char key_memory[(tile + 3 * rounding) * sizeof(Key)];
    // Two bits for each place in the merged order: whether an entry that was looked up goes there, and
    // whether that is an entry of delta's which main has, too.
    constexpr std::uint32_t mark_words = warps * items;
    __shared__ std::uint32_t looked_up[mark_words];
    __shared__ std::uint32_t doubled[mark_words];
    __shared__ std::uint32_t warp_sums[warps];
    __shared__ std::uint32_t before_tile;

    const std::uint32_t total = main_count + delta_count;
    const std::uint32_t first = blockIdx.x * tile;
    const std::uint32_t tile_items = min(tile, total - first);
    const std::uint32_t main_first = splits[blockIdx.x];
    const std::uint32_t delta_first = first - main_first;
    // Dictionaries that aren't sorted may have splits anywhere; what they delimit must lie within all the
    // same.
    const std::uint32_t main_end = max(splits[blockIdx.x + 1], main_first);
    const std::uint32_t delta_left = min(delta_count - delta_first, tile_items);
    const std::uint32_t main_items =
        min(max(min(main_end - main_first, tile_items), tile_items - delta_left), main_count - main_first);
    const std::uint32_t delta_items = tile_items - main_items;

    auto *main_keys = reinterpret_cast<Key *>(key_memory);
    Key *delta_keys = nullptr;
    if constexpr (Merge::keys_are_entries) {
        const TilePart<Key> main_part(merge.main + main_first, main_items);
        const TilePart<Key> delta_part(merge.delta + delta_first, delta_items);
        delta_keys = main_keys + main_part.places();
        main_part.copy_async(main_keys);
        delta_part.copy_async(delta_keys);
        __pipeline_commit();
        main_keys += main_part.offset;
        delta_keys += delta_part.offset;
    } else {
        delta_keys = main_keys + main_items;
        for (std::uint32_t i = threadIdx.x; i < main_items; i += Shape::threads) {
            main_keys[i] = merge.main_key(main_first + i);
        }
        for (std::uint32_t j = threadIdx.x; j < delta_items; j += Shape::threads) {
            delta_keys[j] = merge.delta_key(delta_first + j);
        }
    }
    for (std::uint32_t i = threadIdx.x; i < mark_words; i += Shape::threads) {
        looked_up[i] = 0;
        doubled[i] = 0;
    }
    const auto mark = [](std::uint32_t *marks, std::uint32_t place) {
        atomicOr(marks + place / 32, 1U << place % 32);
    };
    if constexpr (Merge::keys_are_entries) {
        __pipeline_wait_prior(0);
    }
    __syncthreads();

    const bool looks_up_delta = delta_items <= main_items;
    if (looks_up_delta) {
        for (std::uint32_t j = threadIdx.x; j < delta_items; j += Shape::threads) {
            const Key key = delta_keys[j];
            const std::uint32_t at = partition_point(main_items, [&](std::uint32_t i) {
                return !merge.before(key, delta_first + j, main_keys[i], main_first + i);
            });
            bool is_duplicate = false;
            if (at > 0) {
                is_duplicate = merge.same(key, delta_first + j, main_keys[at - 1], main_first + at - 1);
            } else if (j == 0 && main_first > 0) {
                is_duplicate = merge.same(key, delta_first, merge.main_key(main_first - 1), main_first - 1);
            }
            mark(looked_up, at + j);
            if (is_duplicate) {
                mark(doubled, at + j);
            }
        }
    } else {
        for (std::uint32_t i = threadIdx.x; i < main_items; i += Shape::threads) {
            const Key key = main_keys[i];
            const std::uint32_t at = partition_point(delta_items, [&](std::uint32_t j) {
                return merge.before(delta_keys[j], delta_first + j, key, main_first + i);
            });
            mark(looked_up, i + at);
            if (at < delta_items && merge.same(delta_keys[at], delta_first + at, key, main_first + i)) {
                mark(doubled, i + at + 1);
            }
        }
        if (threadIdx.x == 0 && main_first > 0 &&
            merge.same(delta_keys[0], delta_first, merge.main_key(main_first - 1), main_first - 1)) {
            mark(doubled, 0);
        }
    }
    __syncthreads();

    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t warp_first = warp * items * 32;
    // Lane k has the bits of the k-th 32 places of the warp: which have delta's entries, and which have
    // duplicates.
    std::uint32_t delta_bits = 0;
    std::uint32_t duplicate_bits = 0;
    if (lane < items) {
        const std::uint32_t place = warp_first + lane * 32;
        const std::uint32_t behind = __funnelshift_lc(0U, ~0U, place < tile_items ? tile_items - place : 0);
        const std::uint32_t found = looked_up[warp * items + lane];
        delta_bits = (looks_up_delta ? found : ~found) & ~behind;
        duplicate_bits = doubled[warp * items + lane] & delta_bits;
    }
    // One word has both counts: that of delta's entries in the lower half, that of duplicates in the upper.
    const auto own_sum = static_cast<std::uint32_t>(__popc(delta_bits)) |
                         static_cast<std::uint32_t>(__popc(duplicate_bits)) << 16;
    std::uint32_t sum = own_sum;
#pragma unroll
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const std::uint32_t other = __shfl_up_sync(all, sum, distance);
        sum += lane >= distance ? other : 0;
    }
    if (lane == 31) {
        warp_sums[warp] = sum;
    }
    __syncthreads();
    std::uint32_t tile_sum = 0;
    std::uint32_t warp_before = 0;
#pragma unroll
    for (std::uint32_t w = 0; w < warps; ++w) {
        warp_before = w == warp ? tile_sum : warp_before;
        tile_sum += warp_sums[w];
    }
    // The counts before the lane's places.
    const std::uint32_t before = warp_before + sum - own_sum;
    const std::uint32_t tile_duplicates = tile_sum >> 16;
    // `ranks` has, for each entry, one more than its code less the tile's first, main's entries before
    // delta's. `sources` has, for each such code, where its key is. With both, neighbouring threads write
    // neighbouring places.
    __shared__ std::uint16_t ranks[tile];
    __shared__ std::uint16_t sources[tile];
    const auto *const keys = reinterpret_cast<const Key *>(key_memory);
    const auto main_begin = static_cast<std::uint32_t>(main_keys - keys);
    const auto delta_begin = static_cast<std::uint32_t>(delta_keys - keys);
    const std::uint32_t earlier = (1U << lane) - 1;
    // Dictionaries that aren't sorted may have two entries go to one place; then nothing says where others
    // are.
    const bool all_there = (tile_sum & 0xffffU) == delta_items;
#pragma unroll
    for (std::uint32_t k = 0; all_there && k < items; ++k) {
        const std::uint32_t deltas = __shfl_sync(all, delta_bits, static_cast<int>(k));
        const std::uint32_t duplicates = __shfl_sync(all, duplicate_bits, static_cast<int>(k));
        const std::uint32_t counts = __shfl_sync(all, before, static_cast<int>(k));
        const std::uint32_t place = warp_first + k * 32 + lane;
        const bool is_delta = (deltas >> lane & 1U) != 0;
        const bool is_duplicate = (duplicates >> lane & 1U) != 0;
        const std::uint32_t j = (counts & 0xffffU) + static_cast<std::uint32_t>(__popc(deltas & earlier));
        const std::uint32_t i = place - j;
        const std::uint32_t rank =
            place - (counts >> 16) - static_cast<std::uint32_t>(__popc(duplicates & earlier));
        if (place < tile_items) {
            // A duplicate's code is that of the entry before it, which may be the last of the tile before.
            ranks[is_delta ? main_items + j : i] = static_cast<std::uint16_t>(rank + (is_duplicate ? 0 : 1));
            if (!is_duplicate) {
                sources[rank] = static_cast<std::uint16_t>(is_delta ? delta_begin + j : main_begin + i);
            }
        }
    }
    const int tile_index = static_cast<int>(blockIdx.x);
    if (warp == 0) {
        std::uint32_t found = 0;
        if (tile_index > 0) {
            Prefix prefix(state, prefix_memory, cuda::std::plus<>{}, tile_index);
            found = prefix(tile_duplicates);
        } else if (lane == 0) {
            state.SetInclusive(0, tile_duplicates);
        }
        if (lane == 0) {
            before_tile = found;
        }
    }
    __syncthreads();

    const std::uint32_t base = first - before_tile;
    if (all_there) {
        for_each_aligned(merge.merged + base, tile_items - tile_duplicates,
                         [&](typename Merge::Staged &merged, std::uint32_t rank) {
                             const std::uint32_t at = sources[rank];
                             merged = at >= delta_begin
                                          ? merge.staged_delta(keys[at], delta_first + at - delta_begin)
                                          : merge.staged_main(keys[at], main_first + at - main_begin);
                         });
        for_each_aligned(main_map + main_first, main_items,
                         [&](std::uint32_t &code, std::uint32_t i) { code = base + ranks[i] - 1; });
        for_each_aligned(delta_map + delta_first, delta_items, [&](std::uint32_t &code, std::uint32_t j) {
            code = base + ranks[main_items + j] - 1;
        });
    }
    if (threadIdx.x == 0 && first + tile_items == total) {
        *count = total - before_tile - tile_duplicates;
    }
}

// Leaves the number of entries in *count, which the device can reach. There must be an entry.
template <typename Shape, typename Merge>
void launch_fused_merge(const Call &call, const Merge &merge, std::uint64_t main_count,
                        std::uint64_t delta_count, std::uint32_t *main_map, std::uint32_t *delta_map,
                        volatile std::uint64_t *count) {
    constexpr int tile = Shape::threads * Shape::items;
    const auto total = static_cast<std::uint32_t>(main_count + delta_count);
    const std::uint32_t tiles = (total - 1) / tile + 1;
    std::size_t state_bytes = 0;
    check(TileState::AllocationSize(static_cast<int>(tiles), state_bytes), "ScanTileState::AllocationSize");
    // The states come first, then the splits.
    state_bytes = (state_bytes + 15) / 16 * 16;
    const Buffer<char> memory = call.buffer<char>(state_bytes + (tiles + 1) * sizeof(std::uint32_t));
    TileState state;
    check(state.Init(static_cast<int>(tiles), memory.data(), state_bytes), "ScanTileState::Init");
    auto *const splits = reinterpret_cast<std::uint32_t *>(memory.data() + state_bytes);
    constexpr unsigned threads = 128;
    fused_splits_kernel<<<tiles / threads + 1, threads, 0, call.stream()>>>(
        merge, static_cast<std::uint32_t>(main_count), static_cast<std::uint32_t>(delta_count), tile, tiles,
        state, splits);
    check_launch("fused_splits_kernel");
    fused_merge_kernel<Merge, Shape><<<tiles, Shape::threads, 0, call.stream()>>>(
        merge, static_cast<std::uint32_t>(main_count), static_cast<std::uint32_t>(delta_count), splits, state,
        main_map, delta_map, count);
    check_launch("fused_merge_kernel");
}

}  // namespace gpu_engine::device
