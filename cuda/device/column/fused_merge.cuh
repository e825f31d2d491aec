// The merge of two dictionaries in one pass: each entry is read once, and the union and both maps are written
// once. Blocks take tiles of the merge path; how many duplicates the tiles before one had comes by decoupled
// look-back (Merrill, Garland: "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016), as in
// CUB's scans.
#pragma once

#include <cub/agent/single_pass_scan_operators.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/std/functional>

#include <cstdint>

#include "common/merge_path.h"
#include "device/call.h"
#include "device/kary/key.cuh"

namespace gpu_engine::device {

// Entries that are compared as they are. Staged is what the union is made of.
template <typename Entry>
struct NumberMerge {
    using Key = Entry;
    using Staged = Entry;

    const Entry *main;
    const Entry *delta;
    Entry *merged;

    __device__ __forceinline__ Key main_key(std::uint32_t i) const { return main[i]; }
    __device__ __forceinline__ Key delta_key(std::uint32_t i) const { return delta[i]; }
    // Whether delta's entry goes before main's.
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

// `items` entries a thread takes: odd, so that neighbours read different banks of shared memory.
template <int KeyBytes>
struct FusedShape {
    static constexpr int threads = 256;
    static constexpr int blocks = 4;  // a multiprocessor, at least
    static constexpr int items = KeyBytes == 4 ? 15 : KeyBytes == 8 ? 11 : 7;
    static constexpr int tile = threads * items;
    static_assert(tile < 1 << 15, "codes within a tile have 16 bits");
};

using TileState = cub::ScanTileState<std::uint32_t>;

template <typename Merge>
__global__ void fused_splits_kernel(Merge merge, std::uint32_t main_count, std::uint32_t delta_count,
                                    int tile, std::uint32_t tiles, TileState state, std::uint32_t *splits) {
    state.InitializeStatus(static_cast<int>(tiles));
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= tiles) {
        const std::uint32_t total = main_count + delta_count;
        const std::uint64_t end = static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(tile);
        const std::uint32_t diagonal = end < total ? static_cast<std::uint32_t>(end) : total;
        splits[i] = merge_path(main_count, delta_count, diagonal, [&](std::uint32_t a, std::uint32_t b) {
            return merge.before(merge.delta_key(b), b, merge.main_key(a), a);
        });
    }
}

template <typename Merge, typename Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    fused_merge_kernel(Merge merge, std::uint32_t main_count, std::uint32_t delta_count,
                       const std::uint32_t *splits, TileState state, std::uint32_t *main_map,
                       std::uint32_t *delta_map, std::uint64_t *count) {
    using Key = typename Merge::Key;
    using Staged = typename Merge::Staged;
    static_assert(sizeof(Staged) <= sizeof(Key));
    constexpr int items = Shape::items;
    constexpr int threads = Shape::threads;
    constexpr int tile = Shape::tile;
    using Scan = cub::BlockScan<std::uint32_t, threads>;
    using Prefix = cub::TilePrefixCallbackOp<std::uint32_t, cuda::std::plus<>, TileState>;
    __shared__ typename Scan::TempStorage scan_memory;
    __shared__ typename Prefix::TempStorage prefix_memory;
    // Main's keys, then delta's; later the entries of the union.
    __shared__ __align__(16) char key_memory[(tile + 1) * sizeof(Key)];
    __shared__ std::int16_t codes[tile];
    auto *const keys = reinterpret_cast<Key *>(key_memory);

    const auto thread = static_cast<int>(threadIdx.x);
    const std::uint32_t total = main_count + delta_count;
    const std::uint32_t first = blockIdx.x * static_cast<std::uint32_t>(tile);
    const std::uint32_t last = min(first + static_cast<std::uint32_t>(tile), total);
    const std::uint32_t main_first = splits[blockIdx.x];
    const std::uint32_t main_last = splits[blockIdx.x + 1];
    const std::uint32_t delta_first = first - main_first;
    const int tile_items = static_cast<int>(last - first);
    // In dictionaries that aren't sorted the splits may be anywhere; what they delimit must lie within all
    // the same.
    const int delta_left = static_cast<int>(min(delta_count - delta_first, last - first));
    const int main_left = static_cast<int>(min(main_count - main_first, last - first));
    const int main_items =
        min(max(static_cast<int>(main_last - main_first), tile_items - delta_left), main_left);
    const int delta_items = tile_items - main_items;

    Key own[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
        const int i = k * threads + thread;
        if (i < main_items) {
            own[k] = merge.main_key(main_first + static_cast<std::uint32_t>(i));
        } else if (i < tile_items) {
            own[k] = merge.delta_key(delta_first + static_cast<std::uint32_t>(i - main_items));
        }
    }
#pragma unroll
    for (int k = 0; k < items; ++k) {
        const int i = k * threads + thread;
        if (i < tile_items) {
            keys[i] = own[k];
        }
    }
    __syncthreads();

    // The thread's part of the merge: which entry comes when, and which ones main has too.
    const int diagonal = min(thread * items, tile_items);
    int a = merge_path(main_items, delta_items, diagonal, [&](int i, int j) {
        return merge.before(keys[main_items + j], delta_first + static_cast<std::uint32_t>(j), keys[i],
                            main_first + static_cast<std::uint32_t>(i));
    });
    int b = diagonal - a;
    const int own_items = min(items, tile_items - diagonal);
    std::int16_t places[items];
    std::uint32_t duplicates = 0;
    Key main_key{};
    Key delta_key{};
    Key main_before{};
    bool has_before = false;
    if (own_items > 0) {
        main_key = keys[a];  // there is one entry more than the tile's
        delta_key = keys[min(main_items + b, tile_items)];
        if (a > 0) {
            main_before = keys[a - 1];
            has_before = true;
        } else if (main_first > 0) {
            main_before = merge.main_key(main_first - 1);
            has_before = true;
        }
    }
#pragma unroll
    for (int k = 0; k < items; ++k) {
        if (k < own_items) {
            const std::uint32_t main_index = main_first + static_cast<std::uint32_t>(a);
            const std::uint32_t delta_index = delta_first + static_cast<std::uint32_t>(b);
            const bool takes_delta =
                b < delta_items &&
                (a >= main_items || merge.before(delta_key, delta_index, main_key, main_index));
            if (takes_delta) {
                places[k] = static_cast<std::int16_t>(main_items + b);
                own[k] = delta_key;
                if (has_before && merge.same(delta_key, delta_index, main_before, main_index - 1)) {
                    duplicates |= 1U << k;
                }
                ++b;
                delta_key = keys[main_items + b];
            } else {
                places[k] = static_cast<std::int16_t>(a);
                own[k] = main_key;
                main_before = main_key;
                has_before = true;
                ++a;
                main_key = keys[a];
            }
        }
    }

    std::uint32_t duplicates_before = 0;
    std::uint32_t tile_duplicates = 0;
    Scan(scan_memory)
        .ExclusiveSum(static_cast<std::uint32_t>(__popc(duplicates)), duplicates_before, tile_duplicates);
    const int tile_index = static_cast<int>(blockIdx.x);
    if (thread == 0) {
        if (tile_index == 0) {
            state.SetInclusive(0, tile_duplicates);
        } else {
            state.SetPartial(tile_index, tile_duplicates);
        }
    }
    // All have read the keys: the scan has a barrier behind each thread's last read. Codes within the tile: a
    // duplicate's is that of the entry before it, which may be the last of the tile before.
    auto *const staged = reinterpret_cast<Staged *>(key_memory);
    int code = diagonal - static_cast<int>(duplicates_before);
#pragma unroll
    for (int k = 0; k < items; ++k) {
        if (k < own_items) {
            const int place = places[k];
            if ((duplicates >> k & 1U) != 0) {
                codes[place] = static_cast<std::int16_t>(code - 1);
            } else {
                codes[place] = static_cast<std::int16_t>(code);
                staged[code] =
                    place < main_items
                        ? merge.staged_main(own[k], main_first + static_cast<std::uint32_t>(place))
                        : merge.staged_delta(own[k],
                                             delta_first + static_cast<std::uint32_t>(place - main_items));
                ++code;
            }
        }
    }
    __shared__ std::uint32_t before_tile;
    if (thread < 32) {
        std::uint32_t before = 0;
        if (tile_index > 0) {
            Prefix prefix(state, prefix_memory, cuda::std::plus<>{}, tile_index);
            before = prefix(tile_duplicates);
        }
        if (thread == 0) {
            before_tile = before;
        }
    }
    __syncthreads();

    const std::uint32_t base = first - before_tile;
    const int merged_items = tile_items - static_cast<int>(tile_duplicates);
    for (int i = thread; i < merged_items; i += threads) {
        merge.merged[base + static_cast<std::uint32_t>(i)] = staged[i];
    }
    for (int i = thread; i < tile_items; i += threads) {
        const std::uint32_t new_code = base + static_cast<std::uint32_t>(static_cast<std::int32_t>(codes[i]));
        if (i < main_items) {
            main_map[main_first + static_cast<std::uint32_t>(i)] = new_code;
        } else {
            delta_map[delta_first + static_cast<std::uint32_t>(i - main_items)] = new_code;
        }
    }
    if (thread == 0 && last == total) {
        *count = total - before_tile - tile_duplicates;
    }
}

// Leaves the number of entries in *count, on the device. There must be an entry.
template <typename Shape, typename Merge>
void launch_fused_merge(const Call &call, const Merge &merge, std::uint64_t main_count,
                        std::uint64_t delta_count, std::uint32_t *main_map, std::uint32_t *delta_map,
                        std::uint64_t *count) {
    const auto total = static_cast<std::uint32_t>(main_count + delta_count);
    const std::uint32_t tiles = (total - 1) / Shape::tile + 1;
    std::size_t state_bytes = 0;
    check(TileState::AllocationSize(static_cast<int>(tiles), state_bytes), "ScanTileState::AllocationSize");
    const Buffer<char> state_memory = call.buffer<char>(state_bytes);
    TileState state;
    check(state.Init(static_cast<int>(tiles), state_memory.data(), state_bytes), "ScanTileState::Init");
    const Buffer<std::uint32_t> splits = call.buffer<std::uint32_t>(tiles + 1);
    constexpr unsigned threads = 128;
    fused_splits_kernel<<<tiles / threads + 1, threads, 0, call.stream()>>>(
        merge, static_cast<std::uint32_t>(main_count), static_cast<std::uint32_t>(delta_count), Shape::tile,
        tiles, state, splits.data());
    check_launch("fused_splits_kernel");
    fused_merge_kernel<Merge, Shape><<<tiles, Shape::threads, 0, call.stream()>>>(
        merge, static_cast<std::uint32_t>(main_count), static_cast<std::uint32_t>(delta_count), splits.data(),
        state, main_map, delta_map, count);
    check_launch("fused_merge_kernel");
}

}  // namespace gpu_engine::device
