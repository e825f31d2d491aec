// Kernels that take an element a thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda_status.h"

namespace gpu_engine::query::on_device {

inline constexpr unsigned plain_threads = 256;
inline unsigned plain_blocks(std::uint64_t elements) {
    return static_cast<unsigned>(std::max<std::uint64_t>(1, (elements + plain_threads - 1) / plain_threads));
}
__device__ inline std::uint64_t plain_index() {
    return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline void set_null(std::uint64_t *nulls, std::uint64_t row) {
    atomicOr(reinterpret_cast<unsigned long long *>(nulls) + row / 64, 1ULL << (row % 64));
}

}  // namespace gpu_engine::query::on_device
