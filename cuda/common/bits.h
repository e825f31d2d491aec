// Bits of words, on the processor and on a device.
#pragma once

#include <cstdint>

#include "gpu_engine/both.h"

namespace gpu_engine {

GPU_ENGINE_BOTH std::uint32_t count_bits(std::uint64_t word) {
#ifdef __CUDA_ARCH__
    return static_cast<std::uint32_t>(__popcll(word));
#else
    return static_cast<std::uint32_t>(__builtin_popcountll(word));
#endif
}
GPU_ENGINE_BOTH std::uint32_t lowest_bit(std::uint64_t word) {
#ifdef __CUDA_ARCH__
    return static_cast<std::uint32_t>(__ffsll(static_cast<long long>(word)) - 1);
#else
    return static_cast<std::uint32_t>(__builtin_ctzll(word));
#endif
}
GPU_ENGINE_BOTH std::uint64_t low_bits(std::uint32_t count) {
    return count < 64 ? (std::uint64_t(1) << count) - 1 : UINT64_MAX;
}

// The bits of `bits` that stand where `places` has a one, moved together.
GPU_ENGINE_BOTH std::uint64_t gather_bits(std::uint64_t bits, std::uint64_t places) {
    std::uint64_t gathered = 0;
    for (std::uint32_t i = 0; places != 0; ++i, places &= places - 1) {
        gathered |= (bits >> lowest_bit(places) & 1) << i;
    }
    return gathered;
}

}  // namespace gpu_engine
