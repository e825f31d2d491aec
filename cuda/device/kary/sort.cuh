// Sorting pairs by (key, TID) with CUB's radix sort (Adinets, Merrill: "Onesweep: A Faster Least Significant
// Digit Radix Sort for GPUs", 2022).
#pragma once

#include <cub/device/device_radix_sort.cuh>
#include <cuda/std/tuple>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "device/kary/array.h"
#include "device/kary/entry.cuh"

namespace gpu_engine::device {

// The parts of composite sort keys, the most significant first, as CUB wants them.
struct Key128Parts {
    __host__ __device__ cuda::std::tuple<std::uint64_t &, std::uint64_t &> operator()(Key128 &key) const {
        return {key.high, key.low};
    }
};
struct TidParts {
    __host__ __device__ cuda::std::tuple<std::uint16_t &, std::uint16_t &, std::uint16_t &> operator()(
        Tid &tid) const {
        return {tid.block_high, tid.block_low, tid.offset};
    }
};

// ---- Looking before sorting ------------------------------------------------------------------------------

// Which bits are set in all keys or TIDs and which in any, and whether the TIDs ascend. Bits that all keys
// share need no pass.
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
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        const Key128 key = widened(keys[i]);
        const std::uint64_t tid = tid_value(tids[i]);
        own.key_all[0] &= key.high;
        own.key_all[1] &= key.low;
        own.key_any[0] |= key.high;
        own.key_any[1] |= key.low;
        own.tid_all &= tid;
        own.tid_any |= tid;
        own.tids_descend |= i > 0 && tid < tid_value(tids[i - 1]) ? 1 : 0;
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

template <typename Key>
__global__ void ascend_kernel(const Key *keys, const Tid *tids, std::uint64_t count, std::uint32_t *descend) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i > 0 && i < count &&
        EntryLess<Key>()(Entry<Key>{keys[i], tids[i]}, Entry<Key>{keys[i - 1], tids[i - 1]})) {
        *descend = 1;
    }
}

template <typename Key>
bool pairs_ascend(const Call &call, const Pairs<Key> &pairs) {
    if (pairs.count < 2) {
        return true;
    }
    constexpr int threads = 256;
    const Buffer<std::uint32_t> descend = call.buffer<std::uint32_t>(1);
    call.fill(descend.data(), 0, sizeof(std::uint32_t));
    ascend_kernel<<<static_cast<unsigned>((pairs.count + threads - 1) / threads), threads, 0,
                    call.stream()>>>(pairs.keys.data(), pairs.tids.data(), pairs.count, descend.data());
    check_launch("ascend_kernel");
    std::uint32_t result = 0;
    call.copy(&result, static_cast<const std::uint32_t *>(descend.data()), 1);
    call.wait();
    return result == 0;
}

// Bits [begin, end) are those in which values differ; begin == end when none do.
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

// ---- Sorting ---------------------------------------------------------------------------------------------

// Calls `sort` with null scratch to learn its size, then with scratch.
template <typename Sort>
void with_scratch(const Call &call, const char *name, Sort sort) {
    std::size_t bytes = 0;
    check(sort(nullptr, bytes), name);
    // CUB takes a null pointer for the question about the size.
    const Buffer<char> scratch = call.buffer<char>(std::max<std::size_t>(bytes, 1));
    check(sort(scratch.data(), bytes), name);
}

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

// A stable sort of `from` into `to` by these bits. `own` says that `from` may be overwritten, and then no
// third place is needed: the sorted pairs may end in either.
template <typename SortKey, typename Value>
void sort_by_bits(const Call &call, const SortKey *from_keys, const Value *from_values, bool own,
                  SortKey *to_keys, Value *to_values, std::uint64_t count, BitSpan bits, bool *in_from) {
    *in_from = false;
    if (bits.begin == bits.end) {
        call.copy(to_keys, from_keys, count);
        call.copy(to_values, from_values, count);
        return;
    }
    if (own) {
        cub::DoubleBuffer<SortKey> keys(const_cast<SortKey *>(from_keys), to_keys);
        cub::DoubleBuffer<Value> values(const_cast<Value *>(from_values), to_values);
        with_scratch(call, "DeviceRadixSort::SortPairs", [&](void *scratch, std::size_t &bytes) {
            if constexpr (std::is_integral_v<SortKey>) {
                return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, count, bits.begin,
                                                       bits.end, call.stream());
            } else {
                return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, count,
                                                       typename PartsOf<SortKey>::type{}, bits.begin,
                                                       bits.end, call.stream());
            }
        });
        *in_from = keys.Current() == from_keys;
    } else {
        with_scratch(call, "DeviceRadixSort::SortPairs", [&](void *scratch, std::size_t &bytes) {
            if constexpr (std::is_integral_v<SortKey>) {
                return cub::DeviceRadixSort::SortPairs(scratch, bytes, from_keys, to_keys, from_values,
                                                       to_values, count, bits.begin, bits.end, call.stream());
            } else {
                return cub::DeviceRadixSort::SortPairs(scratch, bytes, from_keys, to_keys, from_values,
                                                       to_values, count, typename PartsOf<SortKey>::type{},
                                                       bits.begin, bits.end, call.stream());
            }
        });
    }
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
    call.copy(&result, static_cast<const Survey *>(survey.data()), 1);
    call.wait();
    return result;
}

template <typename Key>
Pairs<Key> sort_pairs(const Call &call, const Key *keys, const Tid *tids, std::uint64_t count) {
    Pairs<Key> from;
    if (count == 0) {
        return from;
    }
    // Pairs on the device already are sorted from where they lie.
    const auto *from_keys = static_cast<const Key *>(device_address(keys, false));
    const auto *from_tids = static_cast<const Tid *>(device_address(tids, false));
    bool own = from_keys == nullptr || from_tids == nullptr;
    if (own) {
        from = make_pairs<Key>(call, count);
        call.copy(from.keys.data(), keys, count);
        call.copy(from.tids.data(), tids, count);
        from_keys = from.keys.data();
        from_tids = from.tids.data();
    }
    const Survey survey = survey_pairs(call, from_keys, from_tids, count);
    Pairs<Key> to = make_pairs<Key>(call, count);
    bool in_from = false;
    if (survey.tids_descend != 0) {
        // By TID first; the sort by key keeps that order among equal keys.
        sort_by_bits(call, from_tids, from_keys, own, to.tids.data(), to.keys.data(), count,
                     differing_bits(0, survey.tid_any ^ survey.tid_all), &in_from);
        call.wait();
        if (!in_from) {
            std::swap(from, to);
        }
        if (!own) {
            to = make_pairs<Key>(call, count);
            own = true;
        }
        from_keys = from.keys.data();
        from_tids = from.tids.data();
    }
    sort_by_bits(call, from_keys, from_tids, own, to.keys.data(), to.tids.data(), count,
                 differing_bits(survey.key_any[0] ^ survey.key_all[0], survey.key_any[1] ^ survey.key_all[1]),
                 &in_from);
    call.wait();
    return in_from ? std::move(from) : std::move(to);
}

}  // namespace gpu_engine::device
