// A column of the overfull cells that get grids of their own.
#pragma once

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/functional>

#include "device/grid/build.h"
#include "device/grid/scale.cuh"

namespace gpu_engine::device {

inline constexpr int segment_threads = 128;
inline constexpr int segment_items = lower_sample / segment_threads;
static_assert(segment_items * segment_threads == lower_sample);
static_assert(lower_sample >= max_lower_slots);

inline unsigned segment_blocks(std::uint64_t count) {
    return static_cast<unsigned>((count + 255) / 256);
}

// Segments and one of their columns, as kernels see them.
template <typename Key>
struct SegmentView {
    const std::uint32_t *first;
    const std::uint32_t *begins;
    const std::uint32_t *owner;
    std::uint32_t entries;
    std::uint32_t columns;
    std::uint32_t column;
    const Key *keys;
    unsigned long long *lowest;
    unsigned long long *highest;
    std::uint32_t *most;
    std::uint32_t *slots;
    const std::uint64_t *scale_at;
    std::uint64_t *scales;

    __device__ std::uint32_t size(std::uint32_t segment) const {
        return begins[segment + 1] - begins[segment];
    }
    __device__ std::uint32_t own(std::uint32_t segment) const { return segment * columns + column; }
};

template <typename Key>
SegmentView<Key> view_segments(const Segments &segments, std::uint32_t columns, std::uint32_t column,
                               const Key *keys, const SegmentColumns &result) {
    return {segments.first.data(),
            segments.begins.data(),
            segments.owner.data(),
            static_cast<std::uint32_t>(segments.entries),
            columns,
            column,
            keys,
            result.lowest.data(),
            result.highest.data(),
            result.most.data(),
            result.slots.data(),
            result.scale_at.data(),
            result.scales.data()};
}

template <typename Key>
__global__ void add_extents_kernel(const SegmentView<Key> view) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned present = __ballot_sync(0xffffffffU, i < view.entries);
    if (i >= view.entries) {
        return;
    }
    const std::uint32_t segment = view.owner[i];
    const Key key = view.keys[view.first[segment] + (i - view.begins[segment])];
    Key lowest = key;
    Key highest = key;
    // Most warps lie within one segment, so their lanes join their extents first.
    const std::uint32_t leader = __shfl_sync(present, segment, 0);
    if (__all_sync(present, segment == leader)) {
        if (present == 0xffffffffU) {
#pragma unroll
            for (int distance = 16; distance > 0; distance /= 2) {
                lowest = min(lowest, __shfl_xor_sync(0xffffffffU, lowest, distance));
                highest = max(highest, __shfl_xor_sync(0xffffffffU, highest, distance));
            }
            if (threadIdx.x % 32 != 0) {
                return;
            }
        }
    }
    atomicMin(view.lowest + view.own(segment), static_cast<unsigned long long>(lowest));
    atomicMax(view.highest + view.own(segment), static_cast<unsigned long long>(highest));
}

template <typename Key>
void add_extents(const Call &call, const Segments &segments, std::uint32_t columns, std::uint32_t column,
                 const Key *keys, SegmentColumns *result) {
    add_extents_kernel<<<segment_blocks(segments.entries), 256, 0, call.stream()>>>(
        view_segments(segments, columns, column, keys, *result));
    check_launch("add_extents_kernel");
}

// A block's sample of a segment, in ascending order.
template <typename Key>
struct SegmentSample {
    using Sort = cub::BlockRadixSort<Key, segment_threads, segment_items>;
    typename Sort::TempStorage scratch;
    Key keys[lower_sample];

    // Returns its size. All threads of the block call it.
    __device__ std::uint32_t take(const SegmentView<Key> &view, std::uint32_t segment) {
        const std::uint32_t count = view.size(segment);
        const std::uint32_t size = min(count, lower_sample);
        const Key *from = view.keys + view.first[segment];
        Key own[segment_items];
#pragma unroll
        for (int j = 0; j < segment_items; ++j) {
            const std::uint32_t i = threadIdx.x + j * segment_threads;
            own[j] = highest_of<Key>();
            if (i < size) {
                own[j] = from[size == count ? i : static_cast<std::uint32_t>(sample_place(i, count))];
            }
        }
        Sort(scratch).SortBlockedToStriped(own);
        __syncthreads();
#pragma unroll
        for (int j = 0; j < segment_items; ++j) {
            keys[threadIdx.x + j * segment_threads] = own[j];
        }
        __syncthreads();
        return size;
    }
};

template <typename Key>
__global__ void __launch_bounds__(segment_threads) find_distinct_kernel(const SegmentView<Key> view) {
    __shared__ SegmentSample<Key> sample;
    const std::uint32_t segment = blockIdx.x;
    const std::uint32_t own = view.own(segment);
    if (view.lowest[own] == view.highest[own]) {
        if (threadIdx.x == 0) {
            view.most[own] = 1;
        }
        return;
    }
    const std::uint32_t size = sample.take(view, segment);
    std::uint32_t distinct = 0;
    for (std::uint32_t first = 0; first < lower_sample; first += segment_threads) {
        const std::uint32_t i = first + threadIdx.x;
        const bool is_new = i < size && (i == 0 || sample.keys[i] != sample.keys[i - 1]);
        distinct += static_cast<std::uint32_t>(__syncthreads_count(is_new ? 1 : 0));
    }
    if (threadIdx.x == 0) {
        view.most[own] = min(max_lower_slots, max(distinct, 2U));
    }
}

template <typename Key>
void find_distinct(const Call &call, const Segments &segments, std::uint32_t columns, std::uint32_t column,
                   const Key *keys, SegmentColumns *result) {
    find_distinct_kernel<<<static_cast<unsigned>(segments.count), segment_threads, 0, call.stream()>>>(
        view_segments(segments, columns, column, keys, *result));
    check_launch("find_distinct_kernel");
}

template <typename Key>
__global__ void __launch_bounds__(segment_threads) make_lower_scales_kernel(const SegmentView<Key> view) {
    using Scan = cub::BlockScan<std::uint32_t, segment_threads>;
    using Reduce = cub::BlockReduce<unsigned long long, segment_threads>;
    __shared__ SegmentSample<Key> sample;
    __shared__ typename Scan::TempStorage scan_scratch;
    __shared__ typename Reduce::TempStorage reduce_scratch;
    const std::uint32_t segment = blockIdx.x;
    const std::uint32_t own = view.own(segment);
    const std::uint32_t slots = view.slots[own];
    const auto lowest = static_cast<Key>(view.lowest[own]);
    if (slots == 1 || lowest == static_cast<Key>(view.highest[own])) {
        if (threadIdx.x == 0) {
            view.slots[own] = 1;
        }
        return;
    }
    std::uint64_t *scale = view.scales + view.scale_at[segment];
    for (std::uint32_t c = 0; c < view.column; ++c) {
        scale += view.slots[segment * view.columns + c] - 1;
    }
    const std::uint32_t size = sample.take(view, segment);
    // The scale has all distinct keys above the lowest, or quantiles where these are too many.
    std::uint32_t places[segment_items];
    std::uint32_t picked[segment_items];
    const auto key_before = [&](std::uint32_t i) { return i == 0 ? lowest : sample.keys[i - 1]; };
#pragma unroll
    for (int j = 0; j < segment_items; ++j) {
        const std::uint32_t i = segment_items * threadIdx.x + j;
        picked[j] = i < size && sample.keys[i] > max(key_before(i), lowest) ? 1 : 0;
    }
    std::uint32_t all = 0;
    Scan(scan_scratch).ExclusiveSum(picked, places, all);
    __syncthreads();
    const bool by_quantiles = all >= slots;
    const auto quantile = [&](std::uint32_t j) { return j == 0 ? lowest : sample.keys[j * size / slots]; };
    if (by_quantiles) {
#pragma unroll
        for (int j = 0; j < segment_items; ++j) {
            const std::uint32_t number = segment_items * threadIdx.x + j + 1;
            picked[j] = number < slots && quantile(number) > max(quantile(number - 1), lowest) ? 1 : 0;
        }
        Scan(scan_scratch).ExclusiveSum(picked, places, all);
    }
#pragma unroll
    for (int j = 0; j < segment_items; ++j) {
        if (picked[j] != 0) {
            const std::uint32_t i = segment_items * threadIdx.x + j;
            scale[places[j]] = by_quantiles ? quantile(i + 1) : sample.keys[i];
        }
    }
    if (all == 0) {
        // The smallest key above the lowest.
        const std::uint32_t count = view.size(segment);
        const Key *keys = view.keys + view.first[segment];
        unsigned long long next = ~0ULL;
        for (std::uint32_t i = threadIdx.x; i < count; i += segment_threads) {
            const Key key = keys[i];
            next = key > lowest ? min(next, static_cast<unsigned long long>(key)) : next;
        }
        next = Reduce(reduce_scratch).Reduce(next, cuda::minimum<>());
        if (threadIdx.x == 0) {
            scale[0] = next;
        }
        all = 1;
    }
    if (threadIdx.x == 0) {
        view.slots[own] = all + 1;
    }
}

template <typename Key>
void make_lower_scales(const Call &call, const Segments &segments, std::uint32_t columns,
                       std::uint32_t column, const Key *keys, SegmentColumns *result) {
    make_lower_scales_kernel<<<static_cast<unsigned>(segments.count), segment_threads, 0, call.stream()>>>(
        view_segments(segments, columns, column, keys, *result));
    check_launch("make_lower_scales_kernel");
}

template <typename Key>
__global__ void add_lower_slots_kernel(const SegmentView<Key> view, std::uint32_t *cells) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= view.entries) {
        return;
    }
    const std::uint32_t segment = view.owner[i];
    const std::uint32_t slots = view.slots[view.own(segment)];
    if (slots == 1) {
        return;
    }
    const std::uint64_t *scale = view.scales + view.scale_at[segment];
    for (std::uint32_t c = 0; c < view.column; ++c) {
        scale += view.slots[segment * view.columns + c] - 1;
    }
    const std::uint64_t key = view.keys[view.first[segment] + (i - view.begins[segment])];
    const std::uint32_t slot = find_lower_slot(scale, slots - 1, key).slot;
    cells[i] = cells[i] * slots + slot;
}

template <typename Key>
void add_lower_slots(const Call &call, const Segments &segments, std::uint32_t columns, std::uint32_t column,
                     const Key *keys, const SegmentColumns &made, std::uint32_t *cells) {
    add_lower_slots_kernel<<<segment_blocks(segments.entries), 256, 0, call.stream()>>>(
        view_segments(segments, columns, column, keys, made), cells);
    check_launch("add_lower_slots_kernel");
}

}  // namespace gpu_engine::device
