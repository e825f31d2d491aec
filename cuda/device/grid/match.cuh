// Exact matches: each thread has a point.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda_status.h"
#include "device/grid/scale.cuh"
#include "device/grid/window.cuh"
#include "device/kary/dead.cuh"

namespace gpu_engine::device {

// The number of threads of a block, and of chunks of a cell's keys that a thread has on their way. One block
// fills a multiprocessor, since it has a copy of the scales.
template <int D, typename Key>
struct MatchShape {
    static constexpr int threads = 1024;
    static constexpr int chunks = sizeof(Key) == 8 ? 2 : D == 3 ? 8 : 5;
};
// Batches that don't fill the device are divided among smaller blocks.
inline constexpr int small_match_threads = 128;

inline constexpr unsigned whole_warp = 0xffffffffU;
// `places` has the position of a point's single entry, or this if the entry is one of a large cell's.
inline constexpr std::uint32_t unknown_place = UINT32_MAX;

// Does the entry have these keys in all columns but one, or in all of them when `but` is no column?
template <int D, typename Key>
__device__ __forceinline__ bool equals(const GridView<Key> &grid, std::uint32_t position, const Key (&key)[D],
                                       std::uint32_t but = UINT32_MAX) {
    bool equal = true;
#pragma unroll
    for (int c = 0; c < D; ++c) {
        if (c != but) {
            equal = equal && key_at(grid, c, position) == key[c];
        }
    }
    return equal;
}

__device__ __forceinline__ bool is_live(const DeadView &dead, std::uint32_t position) {
    return dead.words == nullptr || !is_dead(dead, position);
}

// These are the trees of the first level's scales, as the kernel finds them.
template <typename Key>
struct SharedTop {
    static __device__ __forceinline__ const Key *get(const GridView<Key> &grid) {
        extern __shared__ unsigned long long shared[];
        Key *top = reinterpret_cast<Key *>(shared);
        copy_top(grid, top);
        return top;
    }
};

template <int D, typename Key, typename Top>
__global__ void __launch_bounds__(MatchShape<D, Key>::threads, 1)
    count_matches_kernel(const __grid_constant__ GridView<Key> grid,
                         const __grid_constant__ PointBatch points, const DeadView dead,
                         std::uint32_t *counts, std::uint32_t *places) {
    constexpr int chunks = MatchShape<D, Key>::chunks;
    constexpr int window = chunks * static_cast<int>(chunk_keys);
    const Key *top = Top::get(grid);
    const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < points.count; i += stride) {
        Key key[D];
        Key probe = 0;
#pragma unroll
        for (int c = 0; c < D; ++c) {
            key[c] = read_key<Key>(points.keys[c], (grid.wide >> c & 1) != 0, i);
            probe = c == grid.probe ? key[c] : probe;
        }
        std::uint32_t first;
        std::uint32_t last;
        find_leaf<D>(grid, top, key, first, last);
        std::uint32_t found = 0;
        std::uint32_t place = unknown_place;
        if (last - first > grid.max_in_a_cell) {
            // All entries of the cell are alike.
            if (equals<D>(grid, first, key)) {
                found = last - first;
                if (dead.words != nullptr) {
                    found -= dead_before(dead, last) - dead_before(dead, first);
                }
            }
            last = first;
        }
        // An entry with the point's key in the probe column is a candidate.
#pragma unroll 1
        for (std::uint32_t at = window_of(first); at < last; at += window) {
            std::uint32_t bits = window_positions<chunks, chunk_keys>(at, first, last);
            Key keys[window];
            read_window<chunks, chunk_keys>(grid, static_cast<int>(grid.probe), at, last, keys);
            bits &= window_between(keys, probe, Key(0));
            for (; bits != 0; bits &= bits - 1) {
                const std::uint32_t position =
                    at + static_cast<std::uint32_t>(__ffs(static_cast<int>(bits))) - 1;
                if (equals<D>(grid, position, key, grid.probe) && is_live(dead, position)) {
                    ++found;
                    place = position;
                }
            }
        }
        counts[i] = found;
        if (places != nullptr) {
            places[i] = place;
        }
    }
}

// A thread writes for points with one entry, a warp for others.
template <int D, typename Key>
__global__ void write_matches_kernel(const GridView<Key> grid, const PointBatch points, const DeadView dead,
                                     const std::uint32_t *counts, const std::uint32_t *places,
                                     const Tid *tids, const std::uint64_t *offsets, Tid *out) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t count = i < points.count ? counts[i] : 0;
    Key key[D] = {};
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint64_t offset = 0;
    if (count > 0) {
        offset = offsets[i];
        const std::uint32_t place = places[i];
        if (count == 1 && place != unknown_place) {
            out[offset] = tids[place];
        } else {
#pragma unroll
            for (int c = 0; c < D; ++c) {
                key[c] = read_key<Key>(points.keys[c], (grid.wide >> c & 1) != 0, i);
            }
            find_leaf<D>(grid, grid.top, key, first, last);
        }
    }
    for (unsigned rest = __ballot_sync(whole_warp, first < last); rest != 0; rest &= rest - 1) {
        const int from = __ffs(static_cast<int>(rest)) - 1;
        Key wanted[D];
#pragma unroll
        for (int c = 0; c < D; ++c) {
            wanted[c] = __shfl_sync(whole_warp, key[c], from);
        }
        const std::uint32_t begin = __shfl_sync(whole_warp, first, from);
        const std::uint32_t end = __shfl_sync(whole_warp, last, from);
        std::uint64_t to = __shfl_sync(whole_warp, offset, from);
        const std::uint64_t to_end = to + __shfl_sync(whole_warp, count, from);
        for (std::uint32_t at = begin; at < end; at += 32) {
            const std::uint32_t position = at + lane;
            const bool hit = position < end && equals<D>(grid, position, wanted) && is_live(dead, position);
            const unsigned hits = __ballot_sync(whole_warp, hit);
            const std::uint64_t own = to + __popc(hits & ((1U << lane) - 1));
            // The points may have changed since they were counted, so nothing is written beyond a point's own
            // places.
            if (hit && own < to_end) {
                out[own] = tids[position];
            }
            to += __popc(hits);
        }
    }
}

template <int D, typename Key, typename Top>
void launch_matches(const Call &call, const GridView<Key> &grid, const PointBatch &points,
                    const DeadView &dead, std::size_t shared_bytes, std::uint32_t *counts,
                    std::uint32_t *places) {
    const auto multiprocessors = static_cast<std::uint64_t>(call.engine().multiprocessors());
    constexpr int max_threads = MatchShape<D, Key>::threads;
    const int threads = points.count < multiprocessors * max_threads ? small_match_threads : max_threads;
    const std::uint64_t blocks = std::min<std::uint64_t>((points.count + threads - 1) / threads,
                                                         multiprocessors * max_threads / threads);
    count_matches_kernel<D, Key, Top>
        <<<static_cast<unsigned>(blocks), threads, shared_bytes, call.stream()>>>(grid, points, dead, counts,
                                                                                  places);
    check_launch("count_matches_kernel");
}

template <typename Key>
void count_matches(const Call &call, const GridView<Key> &grid, const PointBatch &points,
                   const DeadView &dead, std::uint32_t *counts, std::uint32_t *places) {
    if (points.count == 0) {
        return;
    }
    with_columns(grid.columns, [&](auto columns) {
        launch_matches<decltype(columns)::value, Key, SharedTop<Key>>(
            call, grid, points, dead, grid.top_keys * sizeof(Key), counts, places);
    });
}

template <typename Key>
void write_matches(const Call &call, const GridView<Key> &grid, const PointBatch &points,
                   const DeadView &dead, const std::uint32_t *counts, const std::uint32_t *places,
                   const Tid *tids, const std::uint64_t *offsets, Tid *out) {
    if (points.count == 0) {
        return;
    }
    with_columns(grid.columns, [&](auto columns) {
        constexpr int threads = 256;
        const auto blocks = blocks_for(points.count, threads);
        write_matches_kernel<decltype(columns)::value, Key>
            <<<blocks, threads, 0, call.stream()>>>(grid, points, dead, counts, places, tids, offsets, out);
        check_launch("write_matches_kernel");
    });
}

}  // namespace gpu_engine::device
