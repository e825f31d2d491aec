// Launches of the search kernel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda_status.h"
#include "device/kary/search.cuh"

namespace gpu_engine::device {

// Batches that give each multiprocessor fewer searches than this read the top where it lies: copying it into
// shared memory wouldn't pay.
inline constexpr std::uint64_t small_batch_per_multiprocessor = 512;

template <typename Shape, typename Operation>
void launch_search(const Tree<typename Shape::Key> &tree, const Operation &operation, std::uint64_t count,
                   int multiprocessors, cudaStream_t stream) {
    if (count == 0) {
        return;
    }
    constexpr int threads = Shape::threads;
    const std::uint64_t tiles = (count + threads - 1) / threads;
    if (count < small_batch_per_multiprocessor * static_cast<std::uint64_t>(multiprocessors)) {
        search_kernel<Shape, false>
            <<<static_cast<unsigned>(tiles), threads, 0, stream>>>(tree, operation, count);
        check_launch("search_kernel");
        return;
    }
    const auto kernel = search_kernel<Shape, true, Operation>;
    const std::size_t top_bytes = sizeof(typename Shape::Key) << tree.top_depth;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(sizeof(typename Shape::Key) << Shape::top_depth)),
          "cudaFuncSetAttribute");
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, top_bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const std::uint64_t blocks = std::min(tiles, static_cast<std::uint64_t>(std::max(resident, 1)) *
                                                     static_cast<std::uint64_t>(multiprocessors));
    kernel<<<static_cast<unsigned>(blocks), threads, top_bytes, stream>>>(tree, operation, count);
    check_launch("search_kernel");
}

}  // namespace gpu_engine::device
