// The hash that dictionaries of strings may be sorted by.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define GPU_ENGINE_HASH __host__ __device__ __forceinline__
#else
#define GPU_ENGINE_HASH inline
#endif

namespace gpu_engine {

// It is the same on the processor and on a device, and must be so in all versions that share dictionaries. It
// doesn't withstand chosen strings: whoever chooses them can make any number of them collide.
GPU_ENGINE_HASH std::uint64_t string_hash(const std::uint8_t *bytes, std::uint64_t length) noexcept {
    std::uint64_t hash = length * 0x9e3779b97f4a7c15ULL;
    for (std::uint64_t first = 0; first < length; first += 8) {
        std::uint64_t word = 0;
        for (std::uint64_t i = 0; i < 8 && first + i < length; ++i) {
            word |= static_cast<std::uint64_t>(bytes[first + i]) << (8 * i);
        }
        hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
        hash ^= hash >> 32;
    }
    hash *= 0xc4ceb9fe1a85ec53ULL;
    return hash ^ hash >> 29;
}

}  // namespace gpu_engine

#undef GPU_ENGINE_HASH
