// Computes values that the lanes of a whole warp have together. Compute capability 8.0 has an instruction for
// it, and before 8.0 cooperative groups shuffle.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdint>

namespace gpu_engine::device {

// All 32 lanes call these together, and each gets the result.
__device__ __forceinline__ std::uint32_t sum_of_warp(std::uint32_t value) {
    namespace groups = cooperative_groups;
    return groups::reduce(groups::tiled_partition<32>(groups::this_thread_block()), value,
                          groups::plus<std::uint32_t>());
}

__device__ __forceinline__ std::uint32_t max_of_warp(std::uint32_t value) {
    namespace groups = cooperative_groups;
    return groups::reduce(groups::tiled_partition<32>(groups::this_thread_block()), value,
                          groups::greater<std::uint32_t>());
}

}  // namespace gpu_engine::device
