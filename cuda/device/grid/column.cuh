// A column of a grid's first level: its extent, scale, slots.
#pragma once

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <cuda/std/functional>

#include <algorithm>

#include "device/grid/build.h"
#include "device/grid/scale.cuh"
#include "device/cub_calls.cuh"

namespace gpu_engine::device {

inline constexpr int column_threads = 256;
// Scales of at most so many bytes are searched in shared memory.
inline constexpr std::size_t shared_scale_bytes = 40 << 10;

inline unsigned column_blocks(std::uint64_t count) {
    return static_cast<unsigned>((count + column_threads - 1) / column_threads);
}
// Returns how many blocks a kernel gets that loops over its elements.
inline unsigned looping_blocks(const Call &call, std::uint64_t count) {
    return static_cast<unsigned>(
        std::min<std::uint64_t>((count + column_threads - 1) / column_threads,
                                static_cast<std::uint64_t>(call.engine().multiprocessors()) * 8));
}

template <typename Key>
__device__ __forceinline__ bool is_null(const GivenColumn<Key> &given, std::uint64_t i) {
    return given.nulls != nullptr && (given.nulls[i] >> given.column & 1) != 0;
}

template <typename Key>
__global__ void column_extent_kernel(const GivenColumn<Key> given, Extent *extent) {
    __shared__ Extent block;
    if (threadIdx.x == 0) {
        block = {~0ULL, 0, 0};
    }
    __syncthreads();
    Key lowest = highest_of<Key>();
    Key highest = 0;
    bool has_null = false;
    bool has_key = false;
    const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < given.count;
         i += stride) {
        if (is_null(given, i)) {
            has_null = true;
        } else {
            const Key key = given.keys[i];
            lowest = min(lowest, key);
            highest = max(highest, key);
            has_key = true;
        }
    }
    if (has_key) {
        atomicMin(&block.lowest, static_cast<unsigned long long>(lowest));
        atomicMax(&block.highest, static_cast<unsigned long long>(highest));
    }
    if (has_null) {
        block.has_null = 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMin(&extent->lowest, block.lowest);
        atomicMax(&extent->highest, block.highest);
        atomicOr(&extent->has_null, block.has_null);
    }
}

template <typename Key>
Extent column_extent(const Call &call, const GivenColumn<Key> &given) {
    const Extent nothing = {~0ULL, 0, 0};
    const Buffer<Extent> extent = call.buffer<Extent>(1);
    call.copy(extent.data(), &nothing, 1);
    column_extent_kernel<<<looping_blocks(call, given.count), column_threads, 0, call.stream()>>>(
        given, extent.data());
    check_launch("column_extent_kernel");
    return read_element(call, static_cast<const Extent *>(extent.data()));
}

// NULLs become the highest key and are counted. When the keys are sorted they lie behind the `present`
// others.
template <typename Key>
__global__ void sample_kernel(const GivenColumn<Key> given, std::uint64_t size, Key *sample,
                              unsigned long long *present) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    bool taken = false;
    if (i < size) {
        const std::uint64_t from = size == given.count ? i : sample_place(i, given.count);
        taken = !is_null(given, from);
        sample[i] = taken ? given.keys[from] : highest_of<Key>();
    }
    const int block_taken = __syncthreads_count(taken ? 1 : 0);
    if (threadIdx.x == 0 && block_taken > 0) {
        atomicAdd(present, static_cast<unsigned long long>(block_taken));
    }
}

template <typename Key>
Sample<Key> take_sample(const Call &call, const GivenColumn<Key> &given, std::uint64_t size) {
    Buffer<Key> taken = call.buffer<Key>(size);
    Sample<Key> sample = {call.buffer<Key>(size), 0};
    const Buffer<unsigned long long> present = call.buffer<unsigned long long>(1);
    call.fill(present.data(), 0, sizeof(unsigned long long));
    sample_kernel<<<column_blocks(size), column_threads, 0, call.stream()>>>(given, size, taken.data(),
                                                                             present.data());
    check_launch("sample_kernel");
    with_scratch_memory(call, "DeviceRadixSort::SortKeys", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(scratch, bytes, static_cast<const Key *>(taken.data()),
                                              sample.keys.data(), size, 0, sizeof(Key) * 8, call.stream());
    });
    sample.size = read_element(call, static_cast<const unsigned long long *>(present.data()));
    return sample;
}

// Leaves one of each of `count` ascending keys; returns their number. Waits for the device.
template <typename Key>
std::uint32_t unique_keys(const Call &call, const Key *keys, std::uint64_t count, Key *unique) {
    const Buffer<std::uint32_t> picked = call.buffer<std::uint32_t>(1);
    with_scratch_memory(call, "DeviceSelect::Unique", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceSelect::Unique(scratch, bytes, keys, unique, picked.data(), count, call.stream());
    });
    return read_element(call, static_cast<const std::uint32_t *>(picked.data()));
}

template <typename Key>
std::uint32_t count_distinct(const Call &call, const Sample<Key> &sample) {
    if (sample.size == 0) {
        return 0;
    }
    const Buffer<Key> unique = call.buffer<Key>(sample.size);
    return unique_keys(call, static_cast<const Key *>(sample.keys.data()), sample.size, unique.data());
}

template <typename Key>
__global__ void quantiles_kernel(const Key *sample, std::uint64_t size, std::uint32_t slots, Key *quantiles) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j + 1 < slots) {
        quantiles[j] = sample[(j + 1) * size / slots];
    }
}

// Finds the smallest key above `lowest`.
template <typename Key>
__global__ void next_above_kernel(const GivenColumn<Key> given, unsigned long long lowest,
                                  unsigned long long *next) {
    unsigned long long own = ~0ULL;
    const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < given.count;
         i += stride) {
        const unsigned long long key = given.keys[i];
        if (key > lowest && !is_null(given, i)) {
            own = min(own, key);
        }
    }
    atomicMin(next, own);
}

// Leaves out the first key where that is the lowest key, which the first slot has already.
template <typename Key>
ColumnScale<Key> above_lowest(const Call &call, Buffer<Key> keys, std::uint32_t count, const Extent &extent) {
    Key first = 0;
    call.read(&first, keys.data(), 1);
    const std::uint32_t left_out = first <= extent.lowest ? 1 : 0;
    ColumnScale<Key> scale = {call.buffer<Key>(count - left_out), count - left_out};
    call.copy(scale.lowest.data(), static_cast<const Key *>(keys.data()) + left_out, scale.count);
    return scale;
}

template <typename Key>
ColumnScale<Key> make_scale(const Call &call, const GivenColumn<Key> &given, const Sample<Key> &sample,
                            const Extent &extent, std::uint32_t slots) {
    ColumnScale<Key> scale;
    if (sample.size > 0) {
        const Key *sampled = sample.keys.data();
        Buffer<Key> unique = call.buffer<Key>(sample.size);
        const std::uint32_t distinct = unique_keys(call, sampled, sample.size, unique.data());
        if (distinct <= slots) {
            scale = above_lowest(call, std::move(unique), distinct, extent);
        }
        // A sample may lack the lowest key: then `slots` keys would make one slot too many.
        if (distinct > slots || scale.count == slots) {
            const std::uint64_t most = slots - 1;
            const Buffer<Key> quantiles = call.buffer<Key>(most);
            quantiles_kernel<<<column_blocks(most), column_threads, 0, call.stream()>>>(
                sampled, sample.size, slots, quantiles.data());
            check_launch("quantiles_kernel");
            Buffer<Key> picked = call.buffer<Key>(most);
            const std::uint32_t number =
                unique_keys(call, static_cast<const Key *>(quantiles.data()), most, picked.data());
            scale = above_lowest(call, std::move(picked), number, extent);
        }
    }
    if (scale.count > 0) {
        return scale;
    }
    const Buffer<unsigned long long> next = call.buffer<unsigned long long>(1);
    call.fill(next.data(), 0xff, sizeof(unsigned long long));
    next_above_kernel<<<looping_blocks(call, given.count), column_threads, 0, call.stream()>>>(
        given, extent.lowest, next.data());
    check_launch("next_above_kernel");
    const auto key =
        static_cast<Key>(read_element(call, static_cast<const unsigned long long *>(next.data())));
    scale.lowest = call.buffer<Key>(1);
    call.copy(scale.lowest.data(), &key, 1);
    scale.count = 1;
    call.wait();
    return scale;
}

// Returns how many of `count` ascending keys aren't above `key`.
template <typename Key>
__device__ __forceinline__ std::uint32_t keys_up_to(const Key *keys, std::uint32_t count, Key key) {
    std::uint32_t low = 0;
    std::uint32_t high = count;
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (keys[middle] <= key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

template <typename Key, bool Shared>
__global__ void __launch_bounds__(column_threads)
    add_slots_kernel(const GivenColumn<Key> given, const Key *lowest, std::uint32_t count,
                     std::uint32_t all_slots, std::uint32_t *cells) {
    extern __shared__ unsigned long long shared[];
    const Key *keys = lowest;
    if constexpr (Shared) {
        Key *copy = reinterpret_cast<Key *>(shared);
        for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
            copy[i] = lowest[i];
        }
        __syncthreads();
        keys = copy;
    }
    const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < given.count;
         i += stride) {
        // A column may have gained NULLs since it was searched for them.
        const bool null_slot = all_slots > count + 1 && is_null(given, i);
        const std::uint32_t slot = null_slot ? count + 1 : keys_up_to(keys, count, given.keys[i]);
        cells[i] = cells[i] * all_slots + slot;
    }
}

template <typename Key>
void add_slots(const Call &call, const GivenColumn<Key> &given, const ColumnScale<Key> &scale,
               std::uint32_t all_slots, std::uint32_t *cells) {
    const std::size_t bytes = scale.count * sizeof(Key);
    if (bytes <= shared_scale_bytes) {
        add_slots_kernel<Key, true>
            <<<looping_blocks(call, given.count), column_threads, bytes, call.stream()>>>(
                given, scale.lowest.data(), scale.count, all_slots, cells);
    } else {
        add_slots_kernel<Key, false><<<looping_blocks(call, given.count), column_threads, 0, call.stream()>>>(
            given, scale.lowest.data(), scale.count, all_slots, cells);
    }
    check_launch("add_slots_kernel");
}

template <typename Key>
__global__ void gather_column_kernel(const GivenColumn<Key> given, const std::uint32_t *order, Key *to) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < given.count) {
        const std::uint32_t from = order[i];
        to[i] = is_null(given, from) ? 0 : given.keys[from];
    }
}

template <typename Key>
void gather_column(const Call &call, const GivenColumn<Key> &given, const std::uint32_t *order, Key *to) {
    gather_column_kernel<<<column_blocks(given.count), column_threads, 0, call.stream()>>>(given, order, to);
    check_launch("gather_column_kernel");
}

template <typename Key, typename ViewKey>
__global__ void lay_out_scale_kernel(const Key *lowest, std::uint32_t count, const ScaleShape shape,
                                     ViewKey *padded, ViewKey *tree) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const std::uint32_t places = 1U << (shape.height + shape.shift);
    if (i < places) {
        padded[i] = i < count ? static_cast<ViewKey>(lowest[i]) : highest_of<ViewKey>();
    }
    if (i > 0 && i < 1U << shape.height) {
        // The node is the `within`-th of its level in ascending order, and the level's nodes stand between
        // those of the levels below.
        const int level = 31 - __clz(static_cast<int>(i));
        const std::uint32_t within = i - (1U << level);
        const std::uint32_t rank = ((2 * within + 1) << (shape.height - level - 1)) - 1;
        const std::uint32_t from = ((rank + 1) << shape.shift) - 1;
        tree[i] = from < count ? static_cast<ViewKey>(lowest[from]) : highest_of<ViewKey>();
    }
}

template <typename Key, typename ViewKey>
void lay_out_scale(const Call &call, const ColumnScale<Key> &scale, const ScaleShape &shape, ViewKey *padded,
                   ViewKey *tree) {
    lay_out_scale_kernel<<<column_blocks(std::uint64_t(1) << (shape.height + shape.shift)), column_threads, 0,
                           call.stream()>>>(scale.lowest.data(), scale.count, shape, padded, tree);
    check_launch("lay_out_scale_kernel");
}

}  // namespace gpu_engine::device
