// Reading packed codes in kernels.
#pragma once

#include "common/columns/layout.h"

namespace gpu_engine::device {

// Blocks of a kernel that goes over all rows: what keeps a device busy, a warp a word of 32 rows at a time.
inline constexpr int row_threads = 256;
inline constexpr int row_blocks_a_multiprocessor = 8;

struct CodesView {
    const std::uint64_t *words;
    std::uint32_t bits;

    __device__ std::uint64_t operator[](std::uint64_t row) const {
        if (bits > 32) {
            return packed_at(words, row, bits);
        }
        const std::uint64_t bit = row * bits;
        const auto *halves = reinterpret_cast<const std::uint32_t *>(words) + bit / 32;
        // Behind the last code there are words of nothing.
        const std::uint32_t window = __funnelshift_r(halves[0], halves[1], static_cast<unsigned>(bit % 32));
        return bits == 32 ? window : window & ((1U << bits) - 1);
    }
};

}  // namespace gpu_engine::device
