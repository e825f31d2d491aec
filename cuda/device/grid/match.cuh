// Exact matches: a point's cell by a thread of its own, the entries of the cell by neighbours together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda_status.h"
#include "device/grid/scale.cuh"
#include "device/kary/dead.cuh"

namespace gpu_engine::device {

// How a warp reads cells: `lanes` neighbours together, `keys` of one column each at a time.
template <typename Key>
struct MatchShape {
    static constexpr int threads = 256;
    static constexpr int blocks = 4;  // that a multiprocessor shall hold
    static constexpr int lanes = sizeof(Key) == 4 ? 4 : 8;
    static constexpr int keys = sizeof(Key) == 4 ? 4 : 1;
};

inline constexpr unsigned whole_warp = 0xffffffffU;
// Of points with one entry `places` has its position, unless it is one of a large cell's.
inline constexpr std::uint32_t unknown_place = UINT32_MAX;

// Keys of the probe column from `position` on, a multiple of their number. What lies behind the array's end
// belongs to its memory too (Memory::alignment).
template <typename Key, int Number>
__device__ __forceinline__ void read_probe_keys(const GridView<Key> &grid, std::uint32_t position,
                                                Key (&keys)[Number]) {
    if constexpr (Number == 4) {
        const uint4 read = __ldg(reinterpret_cast<const uint4 *>(
            static_cast<const std::uint32_t *>(grid.keys[grid.probe]) + position));
        keys[0] = read.x;
        keys[1] = read.y;
        keys[2] = read.z;
        keys[3] = read.w;
    } else {
        keys[0] = key_at(grid, static_cast<int>(grid.probe), position);
    }
}

// Whether the entry has these keys in all columns but one, or in all when that is none.
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

// Sums values over `Lanes` neighbours: the sum of values[r] arrives at the r-th, in values[0].
template <int Lanes>
__device__ __forceinline__ void sum_to_owners(unsigned lane, std::uint64_t (&values)[Lanes]) {
#pragma unroll
    for (int step = 1; step < Lanes; step *= 2) {
        const bool upper = (lane & step) != 0;
#pragma unroll
        for (int k = 0; k < Lanes / (2 * step); ++k) {
            const std::uint64_t given = upper ? values[2 * k] : values[2 * k + 1];
            const std::uint64_t kept = upper ? values[2 * k + 1] : values[2 * k];
            values[k] = kept + __shfl_xor_sync(whole_warp, given, step, Lanes);
        }
    }
}

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
__global__ void __launch_bounds__(MatchShape<Key>::threads, MatchShape<Key>::blocks)
    count_matches_kernel(const GridView<Key> grid, const PointBatch points, const DeadView dead,
                         std::uint32_t *counts, std::uint32_t *places) {
    using Shape = MatchShape<Key>;
    constexpr int lanes = Shape::lanes;
    // Numbers of candidates stand above the sum of their positions.
    constexpr int number_bit = 40;
    const Key *top = Top::get(grid);
    const unsigned lane = threadIdx.x % lanes;
    const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (std::uint64_t warp_first = i - i % 32; warp_first < points.count;
         warp_first += stride, i += stride) {
        Key key[D] = {};
        Key probe = 0;
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::uint32_t found = 0;
        std::uint32_t place = unknown_place;
        if (i < points.count) {
#pragma unroll
            for (int c = 0; c < D; ++c) {
                key[c] = read_key<Key>(points.keys[c], (grid.wide >> c & 1) != 0, i);
                probe = c == grid.probe ? key[c] : probe;
            }
            find_leaf<D>(grid, top, key, first, last);
            if (last - first > grid.most_in_a_cell) {
                // All alike.
                if (equals<D>(grid, first, key)) {
                    found = last - first;
                    if (dead.words != nullptr) {
                        found -= dead_before(dead, last) - dead_before(dead, first);
                    }
                }
                last = first;
            }
        }
        // Neighbours look through the cells of their points one after the other, with the first keys of all
        // of them under way at once. An entry with the point's key in the probe column is a candidate.
        std::uint32_t begin[lanes];
        std::uint32_t end[lanes];
        Key read[lanes][Shape::keys];
#pragma unroll
        for (int r = 0; r < lanes; ++r) {
            begin[r] = __shfl_sync(whole_warp, first, r, lanes);
            end[r] = __shfl_sync(whole_warp, last, r, lanes);
            const std::uint32_t at = begin[r] / Shape::keys * Shape::keys + lane * Shape::keys;
            if (at < end[r]) {
                read_probe_keys<Key>(grid, at, read[r]);
            }
        }
        std::uint64_t candidates[lanes];
#pragma unroll
        for (int r = 0; r < lanes; ++r) {
            const Key wanted = __shfl_sync(whole_warp, probe, r, lanes);
            std::uint64_t sum = 0;
            for (std::uint32_t at = begin[r] / Shape::keys * Shape::keys + lane * Shape::keys; at < end[r];) {
#pragma unroll
                for (int j = 0; j < Shape::keys; ++j) {
                    const std::uint32_t position = at + j;
                    // No lane needs more than two.
                    if (read[r][j] == wanted && position >= begin[r] && position < end[r] &&
                        sum < std::uint64_t(2) << number_bit) {
                        sum += (std::uint64_t(1) << number_bit) + position;
                    }
                }
                at += lanes * Shape::keys;
                if (at < end[r]) {
                    read_probe_keys<Key>(grid, at, read[r]);
                }
            }
            candidates[r] = sum;
        }
        __syncwarp();
        sum_to_owners(lane, candidates);
        const auto number = static_cast<std::uint32_t>(candidates[0] >> number_bit);
        if (number == 1) {
            const auto candidate = static_cast<std::uint32_t>(candidates[0]);
            if (equals<D>(grid, candidate, key, grid.probe) && is_live(dead, candidate)) {
                found = 1;
                place = candidate;
            }
        }
        // Several candidates are compared by all neighbours again.
        const bool several = number > 1;
        if (__any_sync(whole_warp, several)) {
#pragma unroll 1
            for (int r = 0; r < lanes; ++r) {
                Key wanted[D];
#pragma unroll
                for (int c = 0; c < D; ++c) {
                    wanted[c] = __shfl_sync(whole_warp, key[c], r, lanes);
                }
                const bool look = __shfl_sync(whole_warp, several ? 1 : 0, r, lanes) != 0;
                const std::uint32_t from = __shfl_sync(whole_warp, first, r, lanes);
                const std::uint32_t to = __shfl_sync(whole_warp, last, r, lanes);
                std::uint32_t hits = 0;
                std::uint32_t hit_place = 0;
                for (std::uint32_t position = from + lane; look && position < to; position += lanes) {
                    if (equals<D>(grid, position, wanted) && is_live(dead, position)) {
                        ++hits;
                        hit_place = position;
                    }
                }
                __syncwarp();
#pragma unroll
                for (int distance = 1; distance < lanes; distance *= 2) {
                    hits += __shfl_xor_sync(whole_warp, hits, distance, lanes);
                    hit_place = max(hit_place, __shfl_xor_sync(whole_warp, hit_place, distance, lanes));
                }
                if (lane == r && look) {
                    found = hits;
                    place = hit_place;
                }
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
            const bool hit = position < end && equals<D>(grid, position, wanted) && is_live(dead, position);
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
