// CUB's sort of pairs.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <cstdint>

#include "device/cub_calls.cuh"

namespace gpu_engine::device {

// Sorts from one buffer of each to the other, by the keys' lowest `bits`. Equal keys stay in order.
template <bool Descending, typename Key, typename Value>
void sort_pairs(const Call &call, const Key *keys, Key *sorted_keys, const Value *values,
                Value *sorted_values, std::uint32_t count, int bits = sizeof(Key) * 8) {
    with_scratch_memory(call, "DeviceRadixSort", [&](void *scratch, std::size_t &bytes) {
        if constexpr (Descending) {
            return cub::DeviceRadixSort::SortPairsDescending(scratch, bytes, keys, sorted_keys, values,
                                                             sorted_values, count, 0, bits, call.stream());
        } else {
            return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted_keys, values, sorted_values,
                                                   count, 0, bits, call.stream());
        }
    });
}

}  // namespace gpu_engine::device
