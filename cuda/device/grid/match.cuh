// Exact matches: a point's cell by a thread of its own, the entries of the cell by neighbours together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda_status.h"
#include "device/grid/scale.cuh"
#include "device/kary/dead.cuh"

namespace gpu_engine::device {

// How a warp reads cells: `lanes` neighbours together, `keys` of the first column each at a time.
template <typename Key>
struct MatchShape {
    static constexpr int threads = 256;
    static constexpr int lanes = sizeof(Key) == 4 ? 4 : 8;
    static constexpr int keys = sizeof(Key) == 4 ? 4 : 1;
};

inline constexpr unsigned whole_warp = 0xffffffffU;

// Keys of the first column from `position` on, a multiple of their number. What lies behind the array's end
// belongs to its memory too (Memory::alignment).
template <typename Key, int Number>
__device__ __forceinline__ void read_first_keys(const GridView<Key> &grid, std::uint32_t position,
                                                Key (&keys)[Number]) {
    if constexpr (Number == 4) {
        const uint4 read = __ldg(
            reinterpret_cast<const uint4 *>(static_cast<const std::uint32_t *>(grid.keys[0]) + position));
        keys[0] = read.x;
        keys[1] = read.y;
        keys[2] = read.z;
        keys[3] = read.w;
    } else {
        keys[0] = key_at(grid, 0, position);
    }
}

template <int D, typename Key>
__device__ __forceinline__ bool equals(const GridView<Key> &grid, std::uint32_t position, const Key (&key)[D],
                                       int first_column) {
    bool equal = true;
#pragma unroll
    for (int c = 0; c < D; ++c) {
        if (c >= first_column) {
            equal = equal && key_at(grid, c, position) == key[c];
        }
    }
    return equal;
}

// Of points with one entry `places` has its position, unless it is one of a large cell's.
inline constexpr std::uint32_t unknown_place = UINT32_MAX;

// Where the kernel finds the trees of the first level's scales.
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
__global__ void __launch_bounds__(MatchShape<Key>::threads)
    count_matches_kernel(const GridView<Key> grid, const PointBatch points, const DeadView dead,
                         std::uint32_t *counts, std::uint32_t *places) {
    using Shape = MatchShape<Key>;
    const Key *top = Top::get(grid);
    const unsigned lane = threadIdx.x % Shape::lanes;
    const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (std::uint64_t warp_first = i - i % 32; warp_first < points.count;
         warp_first += stride, i += stride) {
        Key key[D] = {};
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::uint32_t found = 0;
        std::uint32_t place = unknown_place;
        if (i < points.count) {
#pragma unroll
            for (int c = 0; c < D; ++c) {
                key[c] = read_key<Key>(points.keys[c], (grid.wide >> c & 1) != 0, i);
            }
            find_leaf<D>(grid, top, key, first, last);
            if (last - first > grid.most_in_a_cell) {
                // All alike.
                if (equals<D>(grid, first, key, 0)) {
                    found = last - first;
                    if (dead.words != nullptr) {
                        found -= dead_before(dead, last) - dead_before(dead, first);
                    }
                }
                last = first;
            }
        }
        // The cells of the `lanes` neighbours' points one after the other, their first keys all under way at
        // once.
        std::uint32_t begin[Shape::lanes];
        std::uint32_t end[Shape::lanes];
        Key read[Shape::lanes][Shape::keys];
#pragma unroll
        for (int r = 0; r < Shape::lanes; ++r) {
            begin[r] = __shfl_sync(whole_warp, first, r, Shape::lanes);
            end[r] = __shfl_sync(whole_warp, last, r, Shape::lanes);
            const std::uint32_t at = begin[r] / Shape::keys * Shape::keys + lane * Shape::keys;
            if (at < end[r]) {
                read_first_keys<Key>(grid, at, read[r]);
            }
        }
#pragma unroll
        for (int r = 0; r < Shape::lanes; ++r) {
            Key wanted[D];
#pragma unroll
            for (int c = 0; c < D; ++c) {
                wanted[c] = __shfl_sync(whole_warp, key[c], r, Shape::lanes);
            }
            std::uint32_t hits = 0;
            std::uint32_t hit_place = 0;
            std::uint32_t at = begin[r] / Shape::keys * Shape::keys + lane * Shape::keys;
            while (at < end[r]) {
#pragma unroll
                for (int j = 0; j < Shape::keys; ++j) {
                    const std::uint32_t position = at + j;
                    if (read[r][j] == wanted[0] && position >= begin[r] && position < end[r] &&
                        equals<D>(grid, position, wanted, 1) &&
                        (dead.words == nullptr || !is_dead(dead, position))) {
                        ++hits;
                        hit_place = position;
                    }
                }
                at += Shape::lanes * Shape::keys;
                if (at < end[r]) {
                    read_first_keys<Key>(grid, at, read[r]);
                }
            }
            __syncwarp();
#pragma unroll
            for (int distance = 1; distance < Shape::lanes; distance *= 2) {
                hits += __shfl_xor_sync(whole_warp, hits, distance, Shape::lanes);
                hit_place = max(hit_place, __shfl_xor_sync(whole_warp, hit_place, distance, Shape::lanes));
            }
            if (lane == r) {
                found += hits;
                place = hits > 0 ? hit_place : place;
            }
        }
        if (i < points.count) {
            counts[i] = found;
            if (places != nullptr) {
                places[i] = place;
            }
        }
    }
}

// Points with one entry have it written by a thread, others by a warp.
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
            const bool hit = position < end && equals<D>(grid, position, wanted, 0) &&
                             (dead.words == nullptr || !is_dead(dead, position));
            const unsigned hits = __ballot_sync(whole_warp, hit);
            const std::uint64_t own = to + __popc(hits & ((1U << lane) - 1));
            // The points may have changed since they were counted: never beyond a point's own places.
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
    constexpr int threads = MatchShape<Key>::threads;
    const auto kernel = count_matches_kernel<D, Key, Top>;
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared_bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const std::uint64_t blocks =
        std::min<std::uint64_t>((points.count + threads - 1) / threads,
                                static_cast<std::uint64_t>(std::max(resident, 1)) *
                                    static_cast<std::uint64_t>(call.engine().multiprocessors()));
    kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes, call.stream()>>>(grid, points, dead,
                                                                                    counts, places);
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
        const auto blocks = static_cast<unsigned>((points.count + threads - 1) / threads);
        write_matches_kernel<decltype(columns)::value, Key>
            <<<blocks, threads, 0, call.stream()>>>(grid, points, dead, counts, places, tids, offsets, out);
        check_launch("write_matches_kernel");
    });
}

}  // namespace gpu_engine::device
