// Launches of the search kernel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda_status.h"
#include "device/engine.h"
#include "device/kary/search.cuh"

namespace gpu_engine::device {

// A batch that gives each multiprocessor less than one search for so many bytes of the copies reads what it
// needs where it lies, since copying into shared memory wouldn't pay.
inline constexpr std::size_t shared_bytes_a_search = 128;

template <typename Shape, typename Operation>
void launch_search(const Tree<typename Shape::Key> &tree, const Operation &operation, std::uint64_t count,
                   const DeviceEngine &engine, cudaStream_t stream) {
    if (count == 0) {
        return;
    }
    constexpr int threads = Shape::threads;
    const auto multiprocessors = static_cast<std::uint64_t>(engine.multiprocessors());
    const std::uint64_t tiles = (count + threads * Operation::batch - 1) / (threads * Operation::batch);
    const std::size_t bytes = shared_bytes<Shape>(tree);
    if (count * shared_bytes_a_search < bytes * multiprocessors || bytes > engine.shared_bytes()) {
        search_kernel<Shape, false>
            <<<static_cast<unsigned>(tiles), threads, 0, stream>>>(tree, operation, count);
        check_launch("search_kernel");
        return;
    }
    const auto kernel = search_kernel<Shape, true, Operation>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(engine.shared_bytes())),
          "cudaFuncSetAttribute");
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const std::uint64_t blocks =
        std::min(tiles, static_cast<std::uint64_t>(std::max(resident, 1)) * multiprocessors);
    kernel<<<static_cast<unsigned>(blocks), threads, bytes, stream>>>(tree, operation, count);
    check_launch("search_kernel");
}

}  // namespace gpu_engine::device
