// Arithmetic of keys as unsigned integers, on the device.
#pragma once

#include <cuda/std/tuple>

#include <bit>
#include <cstdint>

#include "gpu_engine/entry.h"

namespace gpu_engine::device {

// The parts of a composite key to sort by, the most significant first, as CUB wants them.
struct Key128Parts {
    __host__ __device__ cuda::std::tuple<std::uint64_t &, std::uint64_t &> operator()(Key128 &key) const {
        return {key.high, key.low};
    }
};

template <typename Key>
__host__ __device__ constexpr Key lowest_key() {
    return Key{};
}

template <typename Key>
__host__ __device__ constexpr Key highest_key() {
    if constexpr (sizeof(Key) == 16) {
        return Key{UINT64_MAX, UINT64_MAX};
    } else {
        return static_cast<Key>(~Key(0));
    }
}

__device__ __forceinline__ bool less(std::uint32_t a, std::uint32_t b) {
    return a < b;
}
__device__ __forceinline__ bool less(std::uint64_t a, std::uint64_t b) {
    return a < b;
}
__device__ __forceinline__ bool less(const Key128 &a, const Key128 &b) {
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}

template <typename Key>
__device__ __forceinline__ bool equal(Key a, Key b) {
    if constexpr (sizeof(Key) == 16) {
        return a.high == b.high && a.low == b.low;
    } else {
        return a == b;
    }
}

// Returns a - b, for b <= a.
template <typename Key>
__host__ __device__ __forceinline__ Key distance(Key a, Key b) {
    if constexpr (sizeof(Key) == 16) {
        return Key{a.high - b.high - (a.low < b.low ? 1 : 0), a.low - b.low};
    } else {
        return a - b;
    }
}

// Returns the key's successor; not for the highest key.
template <typename Key>
__device__ __forceinline__ Key next_key(Key key) {
    if constexpr (sizeof(Key) == 16) {
        return key.low == UINT64_MAX ? Key{key.high + 1, 0} : Key{key.high, key.low + 1};
    } else {
        return key + 1;
    }
}

// Returns the number of bits up to the highest one that is set.
__host__ __device__ __forceinline__ int bit_width(std::uint32_t a) {
#ifdef __CUDA_ARCH__
    return 32 - __clz(static_cast<int>(a));
#else
    return std::bit_width(a);
#endif
}
__host__ __device__ __forceinline__ int bit_width(std::uint64_t a) {
#ifdef __CUDA_ARCH__
    return 64 - __clzll(static_cast<long long>(a));
#else
    return std::bit_width(a);
#endif
}
__host__ __device__ __forceinline__ int bit_width(const Key128 &a) {
    return a.high != 0 ? 64 + bit_width(a.high) : bit_width(a.low);
}

// Returns the lowest 64 bits of key >> bits, for bits up to 64.
__host__ __device__ __forceinline__ std::uint64_t shifted(const Key128 &key, int bits) {
    if (bits == 0) {
        return key.low;
    }
    return bits == 64 ? key.high : key.low >> bits | key.high << (64 - bits);
}

// Returns the key that lane `lane` of a group of `width` lanes has.
template <typename Key>
__device__ __forceinline__ Key shuffle(Key key, int lane, int width) {
    if constexpr (sizeof(Key) == 16) {
        return Key{__shfl_sync(0xffffffffU, key.high, lane, width),
                   __shfl_sync(0xffffffffU, key.low, lane, width)};
    } else {
        return __shfl_sync(0xffffffffU, key, lane, width);
    }
}

}  // namespace gpu_engine::device
