// Pairs of keys and TIDs on the device. They are sorted by (key, TID) with CUB's radix sort (Adinets,
// Merrill: "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022), and merged along the
// merge path (CUB's DeviceMerge; Odeh, Green, Mwassi, Shmueli, Birk: "Merge Path - Parallel Merging Made
// Simple", 2012).
#pragma once

#include <cub/device/device_merge.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cuda/std/tuple>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/tabulate_output_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "device/cub_calls.cuh"
#include "device/kary/array.h"
#include "device/kary/key.cuh"
#include "gpu_engine/entry.h"

namespace gpu_engine::device {

// `keys` has as many places as a tree needs.
template <typename Key>
struct Pairs {
    Buffer<Key> keys;
    Buffer<Tid> tids;
    std::uint64_t count = 0;
};
template <typename Key>
Pairs<Key> make_pairs(const Call &call, std::uint64_t count) {
    return {call.buffer<Key>(padded_keys<Key>(count)), call.buffer<Tid>(count), count};
}

__device__ __forceinline__ std::uint64_t tid_value(const Tid &tid) {
    return static_cast<std::uint64_t>(tid.block_high) << 32 |
           static_cast<std::uint32_t>(tid.block_low) << 16 | tid.offset;
}

template <typename Key>
struct Entry {
    Key key;
    Tid tid;
};

template <typename Key>
struct EntryLess {
    __device__ bool operator()(const Entry<Key> &a, const Entry<Key> &b) const {
        return less(a.key, b.key) || (equal(a.key, b.key) && tid_value(a.tid) < tid_value(b.tid));
    }
};

// The parts of a TID to sort by, as Key128Parts are those of a key.
struct TidParts {
    __host__ __device__ cuda::std::tuple<std::uint16_t &, std::uint16_t &, std::uint16_t &> operator()(
        Tid &tid) const {
        return {tid.block_high, tid.block_low, tid.offset};
    }
};

// ---- Looking before sorting ---------------------------------------------------------------------

// A survey finds the bits that are set in all keys or TIDs, and in any, and whether the TIDs ascend. Bits
// that all keys share need no pass.
struct Survey {
    unsigned long long key_all[2];  // high, low
    unsigned long long key_any[2];
    unsigned long long tid_all;
    unsigned long long tid_any;
    std::uint32_t tids_descend;
};

template <typename Key>
__device__ __forceinline__ Key128 widened(const Key &key) {
    if constexpr (sizeof(Key) == 16) {
        return key;
    } else {
        return Key128{0, key};
    }
}

template <typename Key>
__global__ void survey_kernel(const Key *keys, const Tid *tids, std::uint64_t count, Survey *survey) {
    __shared__ Survey block;
    if (threadIdx.x == 0) {
        block = Survey{{~0ULL, ~0ULL}, {0, 0}, ~0ULL, 0, 0};
    }
    __syncthreads();
    Survey own = {{~0ULL, ~0ULL}, {0, 0}, ~0ULL, 0, 0};
    const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    const auto look = [&](std::uint64_t i) {
        const Key128 key = widened(keys[i]);
        const std::uint64_t tid = tid_value(tids[i]);
        own.key_all[0] &= key.high;
        own.key_all[1] &= key.low;
        own.key_any[0] |= key.high;
        own.key_any[1] |= key.low;
        own.tid_all &= tid;
        own.tid_any |= tid;
        own.tids_descend |= tid < tid_value(tids[i > 0 ? i - 1 : 0]) ? 1 : 0;
    };
    std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    // Several reads are under way at a time.
    constexpr int together = 4;
    for (; i + (together - 1) * stride < count; i += together * stride) {
#pragma unroll
        for (int j = 0; j < together; ++j) {
            look(i + j * stride);
        }
    }
    for (; i < count; i += stride) {
        look(i);
    }
    atomicAnd(&block.key_all[0], own.key_all[0]);
    atomicAnd(&block.key_all[1], own.key_all[1]);
    atomicOr(&block.key_any[0], own.key_any[0]);
    atomicOr(&block.key_any[1], own.key_any[1]);
    atomicAnd(&block.tid_all, own.tid_all);
    atomicOr(&block.tid_any, own.tid_any);
    atomicOr(&block.tids_descend, own.tids_descend);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAnd(&survey->key_all[0], block.key_all[0]);
        atomicAnd(&survey->key_all[1], block.key_all[1]);
        atomicOr(&survey->key_any[0], block.key_any[0]);
        atomicOr(&survey->key_any[1], block.key_any[1]);
        atomicAnd(&survey->tid_all, block.tid_all);
        atomicOr(&survey->tid_any, block.tid_any);
        atomicOr(&survey->tids_descend, block.tids_descend);
    }
}

// Values differ in bits [begin, end) only; begin == end when all are the same.
struct BitSpan {
    int begin = 0;
    int end = 0;
};
inline BitSpan differing_bits(std::uint64_t high, std::uint64_t low) {
    if (high == 0 && low == 0) {
        return {};
    }
    return {low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(high),
            high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(low)};
}

template <typename Key>
Survey survey_pairs(const Call &call, const Key *keys, const Tid *tids, std::uint64_t count) {
    constexpr int threads = 256;
    const Survey nothing = {{~0ULL, ~0ULL}, {0, 0}, ~0ULL, 0, 0};
    const Buffer<Survey> survey = call.buffer<Survey>(1);
    call.copy(survey.data(), &nothing, 1);
    const std::uint64_t blocks = std::min((count + threads - 1) / threads,
                                          static_cast<std::uint64_t>(call.engine().multiprocessors()) * 8);
    survey_kernel<<<static_cast<unsigned>(blocks), threads, 0, call.stream()>>>(keys, tids, count,
                                                                                survey.data());
    check_launch("survey_kernel");
    Survey result;
    call.read(&result, survey.data(), 1);
    return result;
}

// ---- Equal keys ---------------------------------------------------------------------------------

// Groups of equal keys that are longer than this are not left to one thread.
inline constexpr int short_group = 32;

// Puts the TIDs of each short group of equal keys into order. `keys` ascend.
template <typename Key>
__global__ void order_groups_kernel(const Key *keys, Tid *tids, std::uint64_t count,
                                    std::uint32_t *any_long) {
    const std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (first >= count) {
        return;
    }
    const Key key = keys[first];
    if (first + 1 == count || !equal(keys[first + 1], key) || (first > 0 && equal(keys[first - 1], key))) {
        return;
    }
    std::uint64_t end = first + 2;
    while (end < count && end - first <= short_group && equal(keys[end], key)) {
        ++end;
    }
    if (end - first > short_group) {
        *any_long = 1;
        return;
    }
    for (std::uint64_t i = first + 1; i < end; ++i) {
        const Tid tid = tids[i];
        std::uint64_t place = i;
        while (place > first && tid_value(tid) < tid_value(tids[place - 1])) {
            tids[place] = tids[place - 1];
            --place;
        }
        if (place < i) {
            tids[place] = tid;
        }
    }
}

template <typename Key>
__global__ void groups_descend_kernel(const Key *keys, const Tid *tids, std::uint64_t count,
                                      std::uint32_t *descend) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i > 0 && i < count && equal(keys[i], keys[i - 1]) && tid_value(tids[i]) < tid_value(tids[i - 1])) {
        *descend = 1;
    }
}

// Orders equal keys by TID. Returns false when some are left in disorder. Waits for the device.
template <typename Key>
bool order_groups(const Call &call, Pairs<Key> &pairs) {
    constexpr int threads = 256;
    const auto blocks = blocks_for(pairs.count, threads);
    const Buffer<std::uint32_t> flag = call.buffer<std::uint32_t>(1);
    std::uint32_t result = 0;
    call.fill(flag.data(), 0, sizeof(std::uint32_t));
    order_groups_kernel<<<blocks, threads, 0, call.stream()>>>(pairs.keys.data(), pairs.tids.data(),
                                                               pairs.count, flag.data());
    check_launch("order_groups_kernel");
    call.read(&result, flag.data(), 1);
    if (result == 0) {
        return true;
    }
    call.fill(flag.data(), 0, sizeof(std::uint32_t));
    groups_descend_kernel<<<blocks, threads, 0, call.stream()>>>(pairs.keys.data(), pairs.tids.data(),
                                                                 pairs.count, flag.data());
    check_launch("groups_descend_kernel");
    call.read(&result, flag.data(), 1);
    return result == 0;
}

// ---- Sorting ------------------------------------------------------------------------------------

template <typename SortKey>
struct PartsOf;
template <>
struct PartsOf<Key128> {
    using type = Key128Parts;
};
template <>
struct PartsOf<Tid> {
    using type = TidParts;
};

// The pairs of a caller, which are sorted by one stable sort after the other.
template <typename Key>
class PairSort {
  public:
    // Pairs on the device are first sorted from where they lie, others from a copy.
    PairSort(const Call &call, const Key *keys, const Tid *tids, std::uint64_t count)
        : call_(call),
          count_(count),
          keys_(static_cast<const Key *>(device_address(keys, false))),
          tids_(static_cast<const Tid *>(device_address(tids, false))) {
        if (keys_ == nullptr || tids_ == nullptr) {
            own(make_pairs<Key>(call, count));
            call.copy(pairs_.keys.data(), keys, count);
            call.copy(pairs_.tids.data(), tids, count);
        }
    }

    const Key *keys() const { return keys_; }
    const Tid *tids() const { return tids_; }
    std::uint64_t count() const { return count_; }

    void by_key(BitSpan bits) {
        pass(
            bits, keys_, tids_, [](Pairs<Key> &to) { return to.keys.data(); },
            [](Pairs<Key> &to) { return to.tids.data(); });
    }
    void by_tid(BitSpan bits) {
        pass(
            bits, tids_, keys_, [](Pairs<Key> &to) { return to.tids.data(); },
            [](Pairs<Key> &to) { return to.keys.data(); });
    }
    // Returns the pairs in their present order. They must have been sorted at least once.
    Pairs<Key> &pairs() { return pairs_; }

  private:
    void own(Pairs<Key> pairs) {
        pairs_ = std::move(pairs);
        keys_ = pairs_.keys.data();
        tids_ = pairs_.tids.data();
    }

    template <typename SortKey, typename Value, typename Keys, typename Values>
    void pass(BitSpan bits, const SortKey *from_keys, const Value *from_values, Keys keys_of,
              Values values_of) {
        const bool owned = pairs_.count > 0;
        if (owned && bits.begin == bits.end) {
            return;
        }
        Pairs<Key> to = make_pairs<Key>(call_, count_);
        SortKey *to_keys = keys_of(to);
        Value *to_values = values_of(to);
        if (bits.begin == bits.end) {
            call_.copy(to_keys, from_keys, count_);
            call_.copy(to_values, from_values, count_);
            own(std::move(to));
            return;
        }
        if (!owned) {
            with_scratch_memory(call_, "DeviceRadixSort::SortPairs", [&](void *scratch, std::size_t &bytes) {
                if constexpr (std::is_integral_v<SortKey>) {
                    return cub::DeviceRadixSort::SortPairs(scratch, bytes, from_keys, to_keys, from_values,
                                                           to_values, count_, bits.begin, bits.end,
                                                           call_.stream());
                } else {
                    return cub::DeviceRadixSort::SortPairs(
                        scratch, bytes, from_keys, to_keys, from_values, to_values, count_,
                        typename PartsOf<SortKey>::type{}, bits.begin, bits.end, call_.stream());
                }
            });
            own(std::move(to));
            return;
        }
        // The sort may overwrite what it owns, so no third copy is needed.
        cub::DoubleBuffer<SortKey> keys(keys_of(pairs_), to_keys);
        cub::DoubleBuffer<Value> values(values_of(pairs_), to_values);
        with_scratch_memory(call_, "DeviceRadixSort::SortPairs", [&](void *scratch, std::size_t &bytes) {
            if constexpr (std::is_integral_v<SortKey>) {
                return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, count_, bits.begin,
                                                       bits.end, call_.stream());
            } else {
                return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, count_,
                                                       typename PartsOf<SortKey>::type{}, bits.begin,
                                                       bits.end, call_.stream());
            }
        });
        if (keys.Current() == to_keys) {
            own(std::move(to));
        }
    }

    const Call &call_;
    std::uint64_t count_;
    Pairs<Key> pairs_;
    const Key *keys_;
    const Tid *tids_;
};

template <typename Key>
Pairs<Key> sort_pairs(const Call &call, const Key *keys, const Tid *tids, std::uint64_t count) {
    if (count == 0) {
        return {};
    }
    PairSort<Key> sort(call, keys, tids, count);
    const Survey survey = survey_pairs(call, sort.keys(), sort.tids(), count);
    const BitSpan key_bits =
        differing_bits(survey.key_any[0] ^ survey.key_all[0], survey.key_any[1] ^ survey.key_all[1]);
    const BitSpan tid_bits = differing_bits(0, survey.tid_any ^ survey.tid_all);
    // Equal keys are put into the order of their TIDs after the sort by key, if TIDs don't ascend. But if
    // groups of equal keys are long, which few bits of the keys promise, the pairs are sorted by TID before
    // it instead.
    const bool long_groups =
        key_bits.end - key_bits.begin + std::bit_width(std::uint64_t(short_group)) < std::bit_width(count);
    if (survey.tids_descend != 0 && long_groups) {
        sort.by_tid(tid_bits);
        call.wait();
    }
    sort.by_key(key_bits);
    call.wait();
    if (survey.tids_descend != 0 && !long_groups && !order_groups(call, sort.pairs())) {
        sort.by_tid(tid_bits);
        call.wait();
        sort.by_key(key_bits);
        call.wait();
    }
    return std::move(sort.pairs());
}

// ---- Merging ------------------------------------------------------------------------------------

template <typename Key>
struct ReadEntry {
    const Key *keys;
    const Tid *tids;

    __host__ __device__ Entry<Key> operator()(std::int64_t i) const { return Entry<Key>{keys[i], tids[i]}; }
};

template <typename Key>
struct WriteEntry {
    Key *keys;
    Tid *tids;

    __host__ __device__ void operator()(std::int64_t i, const Entry<Key> &entry) const {
        keys[i] = entry.key;
        tids[i] = entry.tid;
    }
};

template <typename Key>
auto entry_iterator(const Key *keys, const Tid *tids) {
    return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0),
                                           ReadEntry<Key>{keys, tids});
}

// Entries of the first sequence come before equal ones of the second.
template <typename Key>
Pairs<Key> merge_pairs(const Call &call, const Key *keys_a, const Tid *tids_a, std::uint64_t count_a,
                       const Key *keys_b, const Tid *tids_b, std::uint64_t count_b) {
    Pairs<Key> result = make_pairs<Key>(call, count_a + count_b);
    const auto output =
        thrust::make_tabulate_output_iterator(WriteEntry<Key>{result.keys.data(), result.tids.data()});
    with_scratch_memory(call, "DeviceMerge::MergeKeys", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceMerge::MergeKeys(scratch, bytes, entry_iterator(keys_a, tids_a),
                                           static_cast<std::int64_t>(count_a), entry_iterator(keys_b, tids_b),
                                           static_cast<std::int64_t>(count_b), output, EntryLess<Key>(),
                                           call.stream());
    });
    return result;
}

}  // namespace gpu_engine::device
