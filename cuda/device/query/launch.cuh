// How kernels that run programs are launched.
#pragma once

#include <algorithm>

#include "device/cuda_status.h"
#include "device/query/plain.cuh"
#include "device/query/rows.cuh"

namespace gpu_engine::query::on_device {

struct Launch {
    unsigned blocks;
    unsigned threads;
    std::size_t shared;
    std::size_t slot_bytes;  // of a block's shared memory
    Buffer<std::uint64_t> scratch;
};

inline constexpr unsigned least_threads = 64;
// Threads of a multiprocessor. Where fewer are resident with slots in shared memory, these are in device
// memory.
inline constexpr unsigned least_resident = 128;

// Chooses blocks of `max_threads` or fewer, so that as many threads as possible are resident. `more` bytes of
// shared memory lie behind the slots.
template <typename Kernel>
Launch plan_launch(const Call &call, Kernel kernel, const ProgramView &program, const SourceView &source,
                   unsigned max_threads, std::size_t more) {
    const std::size_t thread_bytes = program.slots * SlotRoom::slot_bytes;
    const std::size_t max_shared = call.engine().shared_bytes();
    if (more > max_shared) {
        throw Failure{
            make_status(StatusCode::unavailable, "a block's shared memory has no room for a group")};
    }
    device::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(max_shared)),
                  "cudaFuncSetAttribute");
    const auto blocks_with = [&](unsigned threads, std::size_t shared) {
        int blocks = 0;
        if (shared <= max_shared) {
            device::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel,
                                                                        static_cast<int>(threads), shared),
                          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        }
        return static_cast<unsigned>(blocks);
    };
    Launch launch = {1, max_threads, more, 0, {}};
    unsigned blocks = 0;
    for (unsigned threads = max_threads; threads >= std::min(least_threads, max_threads); threads /= 2) {
        const unsigned resident = blocks_with(threads, thread_bytes * threads + more);
        if (resident * threads > blocks * launch.threads) {
            blocks = resident;
            launch.threads = threads;
        }
    }
    const bool is_shared = blocks * launch.threads >= std::min(least_resident, max_threads);
    if (!is_shared) {
        launch.threads = max_threads;
        blocks = std::max(1U, blocks_with(max_threads, more));
    }
    launch.slot_bytes = is_shared ? thread_bytes * launch.threads : 0;
    launch.shared = launch.slot_bytes + more;
    const std::uint64_t lots = (source.rows + device::rows_a_warp - 1) / device::rows_a_warp;
    const std::uint64_t wanted = (lots * 32 + launch.threads - 1) / launch.threads;
    const std::uint64_t resident = static_cast<std::uint64_t>(call.engine().multiprocessors()) * blocks;
    launch.blocks = static_cast<unsigned>(std::max<std::uint64_t>(1, std::min(wanted, resident)));
    if (!is_shared) {
        launch.scratch = call.buffer<std::uint64_t>((thread_bytes * launch.threads * launch.blocks + 7) / 8);
    }
    return launch;
}

}  // namespace gpu_engine::query::on_device
