// The runs of a request about groups, as kernels go over their rows.
#pragma once

#include <algorithm>
#include <memory>

#include "device/column/aggregate/rows.cuh"
#include "device/column/select/select.h"
#include "device/cuda_status.h"

namespace gpu_engine::device {

// The rows of a run, and the program with what it needs there.
struct Part {
    const StoreParts *parts;
    HeldBuffers held;
    Selection selection;
    Buffer<std::uint64_t> unresolved;
    std::uint64_t unresolved_count = 0;
    std::unique_ptr<PartProgram> program;

    SpansView places() const { return {parts->spans.data(), parts->count.spans, parts->bitmaps.data()}; }
};

inline constexpr std::uint32_t no_rows_word = UINT32_MAX;
// `rows_word` as PartProgram takes it. Throws Failure.
Part open_part(const Call &call, const AggregateRequest &request, const AggregatePlan &plan,
               std::uint32_t number, std::uint32_t rows_word);

// A block has fewer than `most` threads where what each of them takes in shared memory would come to more
// than this, or to more than three quarters of what a block has: the rest is for groups and rows that wait.
inline unsigned threads_with_room(const Call &call, unsigned most, std::size_t bytes_a_thread) {
    constexpr std::size_t shared_for_slots = 96 << 10;
    const std::size_t limit = std::min(shared_for_slots, call.engine().shared_bytes() / 4 * 3);
    while (most > 32 && bytes_a_thread * most > limit) {
        most /= 2;
    }
    return most;
}

// Returns how many blocks with `shared` bytes of shared memory go over a selection. Throws Failure when a
// block can't have so many.
template <typename Kernel>
unsigned blocks_over_rows(const Call &call, Kernel kernel, unsigned block_threads, std::size_t shared,
                          const Selection &selection) {
    const std::size_t max_bytes = call.engine().shared_bytes();
    if (shared > max_bytes) {
        throw Failure{
            make_status(StatusCode::internal, "a program takes more shared memory than a block has")};
    }
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(max_bytes)),
          "cudaFuncSetAttribute");
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(block_threads),
                                                        shared),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const std::uint64_t warps = selection.words.size() / (rows_a_warp / 64);
    const std::uint64_t wanted = (warps * 32 + block_threads - 1) / block_threads;
    const std::uint64_t most =
        static_cast<std::uint64_t>(call.engine().multiprocessors()) * std::max(blocks, 1);
    return static_cast<unsigned>(std::min(wanted, most));
}

}  // namespace gpu_engine::device
