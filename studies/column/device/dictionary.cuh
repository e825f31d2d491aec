// Dictionaries of one entry width on the device: the ways to merge two, and the removal of duplicates.
#pragma once

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/binary_search.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/merge.h>
#include <thrust/sequence.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/unique.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "studies/column/dictionary.h"
#include "device/call.h"
#include "device/column/merge/dictionary_merge.cuh"
#include "device/cub_calls.cuh"
#include "device/kary/key.cuh"

namespace gpu_engine::device {

template <typename Entry>
struct EntryBefore {
    __device__ bool operator()(const Entry &a, const Entry &b) const { return less(a, b); }
};
template <typename Entry>
struct EntrySame {
    __device__ bool operator()(const Entry &a, const Entry &b) const { return equal(a, b); }
};

// Takes Thrust's scratch memory out of the engine's budget.
class Scratch {
  public:
    using value_type = char;

    explicit Scratch(const Call &call) : call_(call) {}
    char *allocate(std::ptrdiff_t bytes) {
        buffers_.push_back(
            call_.buffer<char>(static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(bytes, 1))));
        return buffers_.back().data();
    }
    void deallocate(char *data, std::size_t) {
        std::erase_if(buffers_, [&](const Buffer<char> &buffer) { return buffer.data() == data; });
    }

  private:
    const Call &call_;
    std::vector<Buffer<char>> buffers_;
};

template <typename Entry>
void sort_entries(const Call &call, const Entry *entries, Entry *sorted, std::uint64_t count) {
    with_scratch_memory(call, "DeviceRadixSort::SortKeys", [&](void *scratch, std::size_t &bytes) {
        if constexpr (sizeof(Entry) == 16) {
            return cub::DeviceRadixSort::SortKeys(scratch, bytes, entries, sorted, count, Key128Parts{}, 0,
                                                  128, call.stream());
        } else {
            return cub::DeviceRadixSort::SortKeys(scratch, bytes, entries, sorted, count, 0,
                                                  static_cast<int>(sizeof(Entry) * 8), call.stream());
        }
    });
}

// ---- Merge or sort, unique, map ---------------------------------------------------------------------------

// Removes duplicates from merge.merged, which is sorted and has all entries, and looks up the codes.
template <typename Entry>
std::uint64_t unique_and_map(const Call &call, const MergeArrays<Entry> &merge) {
    Scratch scratch(call);
    const auto policy = thrust::cuda::par_nosync(scratch).on(call.stream());
    const Entry *const end =
        thrust::unique(policy, merge.merged, merge.merged + merge.total(), EntrySame<Entry>());
    thrust::lower_bound(policy, static_cast<const Entry *>(merge.merged), end, merge.main,
                        merge.main + merge.main_count, merge.main_map, EntryBefore<Entry>());
    thrust::lower_bound(policy, static_cast<const Entry *>(merge.merged), end, merge.delta,
                        merge.delta + merge.delta_count, merge.delta_map, EntryBefore<Entry>());
    return static_cast<std::uint64_t>(end - merge.merged);
}

template <typename Entry>
__global__ void ascend_kernel(const Entry *entries, std::uint64_t count, std::uint32_t *descends) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i > 0 && i < count && !less(entries[i - 1], entries[i])) {
        *descends = 1;
    }
}

// CUB's merge traps when its input isn't sorted, and the device would be lost then.
template <typename Entry>
void require_ascending(const Call &call, const MergeArrays<Entry> &merge) {
    constexpr unsigned threads = 256;
    const Buffer<std::uint32_t> descends = call.buffer<std::uint32_t>(1);
    call.fill(descends.data(), 0, sizeof(std::uint32_t));
    const auto look = [&](const Entry *entries, std::uint64_t count) {
        if (count > 0) {
            ascend_kernel<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0,
                            call.stream()>>>(entries, count, descends.data());
            check_launch("ascend_kernel");
        }
    };
    look(merge.main, merge.main_count);
    look(merge.delta, merge.delta_count);
    std::uint32_t descend = 0;
    call.copy(&descend, static_cast<const std::uint32_t *>(descends.data()), 1);
    call.wait();
    if (descend != 0) {
        throw Failure{make_status(StatusCode::invalid_argument, not_sorted)};
    }
}

template <typename Entry>
std::uint64_t merge_unique_map(const Call &call, const MergeArrays<Entry> &merge) {
    require_ascending(call, merge);
    Scratch scratch(call);
    thrust::merge(thrust::cuda::par_nosync(scratch).on(call.stream()), merge.main,
                  merge.main + merge.main_count, merge.delta, merge.delta + merge.delta_count, merge.merged,
                  EntryBefore<Entry>());
    return unique_and_map(call, merge);
}

template <typename Entry>
std::uint64_t sort_unique_map(const Call &call, const MergeArrays<Entry> &merge) {
    {
        const Buffer<Entry> both = call.buffer<Entry>(merge.total());
        call.copy(both.data(), merge.main, merge.main_count);
        call.copy(both.data() + merge.main_count, merge.delta, merge.delta_count);
        sort_entries(call, static_cast<const Entry *>(both.data()), merge.merged, merge.total());
    }
    return unique_and_map(call, merge);
}

// ---- Slices -----------------------------------------------------------------------------------------------

// How many entries of main a thread takes.
inline constexpr std::uint32_t slice_entries = 64;

template <typename Entry>
__device__ std::uint32_t lower_bound(const Entry *entries, std::uint32_t count, const Entry &key) {
    std::uint32_t low = 0;
    std::uint32_t high = count;
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (less(entries[middle], key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Without `Write` counts each slice's union to sizes[slice]; with it writes the union from sizes[slice] on,
// and the maps.
template <bool Write, typename Entry>
__global__ void merge_slices_kernel(MergeArrays<Entry> merge, std::uint32_t slices, std::uint32_t *sizes) {
    const std::uint32_t slice = blockIdx.x * blockDim.x + threadIdx.x;
    if (slice >= slices) {
        return;
    }
    const auto main_count = static_cast<std::uint32_t>(merge.main_count);
    const auto delta_count = static_cast<std::uint32_t>(merge.delta_count);
    const auto delta_bound = [&](std::uint32_t i) {
        return i == 0            ? 0
               : i >= main_count ? delta_count
                                 : lower_bound(merge.delta, delta_count, merge.main[i]);
    };
    std::uint32_t a = slice * slice_entries;
    const std::uint32_t main_last = min(a + slice_entries, main_count);
    std::uint32_t b = delta_bound(a);
    const std::uint32_t delta_last = delta_bound(a + slice_entries);
    std::uint32_t code = Write ? sizes[slice] : 0;
    while (a < main_last || b < delta_last) {
        const bool takes_main = a < main_last && (b >= delta_last || !less(merge.delta[b], merge.main[a]));
        const bool takes_delta = b < delta_last && (a >= main_last || !less(merge.main[a], merge.delta[b]));
        if constexpr (Write) {
            merge.merged[code] = takes_main ? merge.main[a] : merge.delta[b];
            if (takes_main) {
                merge.main_map[a] = code;
            }
            if (takes_delta) {
                merge.delta_map[b] = code;
            }
        }
        a += takes_main ? 1 : 0;
        b += takes_delta ? 1 : 0;
        ++code;
    }
    if constexpr (!Write) {
        sizes[slice] = code;
    }
}

template <typename Entry>
std::uint64_t merge_slices(const Call &call, const MergeArrays<Entry> &merge) {
    constexpr unsigned threads = 128;
    const auto slices = static_cast<std::uint32_t>(
        std::max<std::uint64_t>((merge.main_count + slice_entries - 1) / slice_entries, 1));
    const unsigned grid = (slices + threads - 1) / threads;
    // The last place gets the sum of all.
    const Buffer<std::uint32_t> sizes = call.buffer<std::uint32_t>(slices + 1);
    call.fill(sizes.data() + slices, 0, sizeof(std::uint32_t));
    merge_slices_kernel<false><<<grid, threads, 0, call.stream()>>>(merge, slices, sizes.data());
    check_launch("merge_slices_kernel");
    with_scratch_memory(call, "DeviceScan::ExclusiveSum", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(scratch, bytes, sizes.data(), sizes.data(), slices + 1,
                                             call.stream());
    });
    std::uint32_t count = 0;
    call.copy(&count, static_cast<const std::uint32_t *>(sizes.data()) + slices, 1);
    call.wait();
    if (count > merge.total()) {
        // Entries aren't sorted then: slices can overlap, and have more entries than there are places.
        throw Failure{make_status(StatusCode::invalid_argument, not_sorted)};
    }
    merge_slices_kernel<true><<<grid, threads, 0, call.stream()>>>(merge, slices, sizes.data());
    check_launch("merge_slices_kernel");
    return count;
}

// ---- The entry points -------------------------------------------------------------------------------------

// Merges on the device; returns how many entries the union has.
template <typename Entry>
std::uint64_t merge_on_device(const Call &call, const MergeArrays<Entry> &merge, MergeWay way) {
    if (merge.total() == 0) {
        return 0;
    }
    switch (way) {
        case MergeWay::merge_unique_map:
            return merge_unique_map(call, merge);
        case MergeWay::sort_unique_map:
            return sort_unique_map(call, merge);
        case MergeWay::slices:
            return merge_slices(call, merge);
        case MergeWay::fused:
            break;
        default:
            throw Failure{
                make_status(StatusCode::invalid_argument, "there is no such way to merge dictionaries")};
    }
    return merge_fused(call, merge);
}

template <typename Entry>
Status merge_dictionaries(DeviceEngine &engine, Stream &stream, const Dictionary<Entry> &main,
                          const Dictionary<Entry> &delta, MergeWay way, MergedDictionary<Entry> *merged) {
    return merge_dictionaries(engine, stream, main, delta, merged,
                              [way](const Call &call, const MergeArrays<Entry> &arrays) {
                                  return merge_on_device(call, arrays, way);
                              });
}

// Is an entry of a sorted sequence the first of its kind?
template <typename Entry>
struct IsFirst {
    const Entry *sorted;

    __device__ std::uint32_t operator()(std::int64_t i) const {
        return i == 0 || !equal(sorted[i], sorted[i - 1]) ? 1 : 0;
    }
};

// Sets ranks[i] to the number of kinds that the entries up to the i-th have.
template <typename Entry>
__global__ void assign_codes_kernel(const Entry *sorted, const std::uint32_t *rows,
                                    const std::uint32_t *ranks, std::uint64_t count, Entry *entries,
                                    std::uint32_t *codes) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        const std::uint32_t code = ranks[i] - 1;
        codes[rows[i]] = code;
        if (i == 0 || ranks[i - 1] != ranks[i]) {
            entries[code] = sorted[i];
        }
    }
}

// Both arrays are on the device. Returns how many entries there are.
template <typename Entry>
std::uint64_t build_with_codes(const Call &call, const Entry *values, std::uint64_t count, Entry *entries,
                               std::uint32_t *codes) {
    constexpr unsigned threads = 256;
    const auto grid = static_cast<unsigned>((count + threads - 1) / threads);
    const Buffer<Entry> sorted = call.buffer<Entry>(count);
    const Buffer<std::uint32_t> rows = call.buffer<std::uint32_t>(count);
    const Buffer<std::uint32_t> ranks = call.buffer<std::uint32_t>(count);
    // The numbers before sorting lie where the ranks will lie.
    Scratch scratch(call);
    thrust::sequence(thrust::cuda::par_nosync(scratch).on(call.stream()), ranks.data(), ranks.data() + count);
    with_scratch_memory(call, "DeviceRadixSort::SortPairs", [&](void *memory, std::size_t &bytes) {
        const std::uint32_t *const numbers = ranks.data();
        if constexpr (sizeof(Entry) == 16) {
            return cub::DeviceRadixSort::SortPairs(memory, bytes, values, sorted.data(), numbers, rows.data(),
                                                   count, Key128Parts{}, 0, 128, call.stream());
        } else {
            return cub::DeviceRadixSort::SortPairs(memory, bytes, values, sorted.data(), numbers, rows.data(),
                                                   count, 0, static_cast<int>(sizeof(Entry) * 8),
                                                   call.stream());
        }
    });
    const auto firsts = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0),
                                                        IsFirst<Entry>{sorted.data()});
    with_scratch_memory(call, "DeviceScan::InclusiveSum", [&](void *memory, std::size_t &bytes) {
        return cub::DeviceScan::InclusiveSum(memory, bytes, firsts, ranks.data(),
                                             static_cast<std::int64_t>(count), call.stream());
    });
    assign_codes_kernel<<<grid, threads, 0, call.stream()>>>(
        static_cast<const Entry *>(sorted.data()), rows.data(), ranks.data(), count, entries, codes);
    check_launch("assign_codes_kernel");
    std::uint32_t distinct = 0;
    call.copy(&distinct, static_cast<const std::uint32_t *>(ranks.data()) + (count - 1), 1);
    call.wait();
    return distinct;
}

template <typename Entry>
Status build_dictionary(DeviceEngine &engine, Stream &stream, const Entry *values, std::uint64_t count,
                        Entry *entries, std::uint32_t *codes, std::uint64_t *distinct) {
    return guarded([&] {
        check_merged_entries(count, 0);
        const Call call(engine, stream);
        *distinct = 0;
        if (count == 0) {
            return Status{};
        }
        const Input<Entry> input(call, values, count, count);
        const Output<Entry> output(call, entries, count, count);
        if (codes != nullptr) {
            const Output<std::uint32_t> code_output(call, codes, count, count);
            *distinct =
                build_with_codes(call, input.piece(0, count), count, output.piece(0), code_output.piece(0));
            code_output.flush(0, count);
            output.flush(0, *distinct);
            call.wait();
        } else {
            Entry *const sorted = output.piece(0);
            sort_entries(call, input.piece(0, count), sorted, count);
            Scratch scratch(call);
            *distinct =
                static_cast<std::uint64_t>(thrust::unique(thrust::cuda::par_nosync(scratch).on(call.stream()),
                                                          sorted, sorted + count, EntrySame<Entry>()) -
                                           sorted);
            output.flush(0, *distinct);
            call.wait();
        }
        return Status{};
    });
}

}  // namespace gpu_engine::device
