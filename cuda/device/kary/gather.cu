// Gathers the live entries in ranges of positions.
#include <algorithm>

#include "device/cub_calls.cuh"
#include "device/kary/array.h"
#include "device/kary/live.cuh"

namespace gpu_engine::device {
namespace {

// A piece has so many elements: about a millisecond of work, 96 MB of TIDs.
constexpr std::uint64_t piece_elements = std::uint64_t(1) << 24;

__global__ void count_live_kernel(const KaryRange *ranges, std::uint64_t count, DeadView dead,
                                  std::uint32_t *counts) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        counts[i] = live_within(ranges[i], dead);
    }
}

// The sizes are written where their sums will stand.
__global__ void measure_kernel(const KaryRange *ranges, std::uint64_t count, DeadView dead,
                               std::uint64_t *sizes) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i <= count) {
        sizes[i] = i < count ? live_within(ranges[i], dead) : 0;
    }
}

// Calls write(i, range) for output first + i of [first, first + size). A block first narrows down which
// ranges its outputs belong to.
template <typename Write>
__device__ __forceinline__ void for_outputs(const std::uint64_t *offsets, std::uint64_t count,
                                            std::uint64_t first, std::uint64_t size, Write write) {
    __shared__ std::uint64_t bounds[2];
    const std::uint64_t block_first = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x;
    if (threadIdx.x < 2) {
        const std::uint64_t block_last = block_first + blockDim.x < size ? block_first + blockDim.x : size;
        bounds[threadIdx.x] = range_of(offsets, std::uint64_t{0}, count - 1,
                                       first + (threadIdx.x == 0 ? block_first : block_last - 1));
    }
    __syncthreads();
    const std::uint64_t i = block_first + threadIdx.x;
    if (i < size) {
        write(i, range_of(offsets, bounds[0], bounds[1], first + i));
    }
}

template <typename Element>
__global__ void gather_kernel(const KaryRange *ranges, const std::uint64_t *offsets, std::uint64_t count,
                              DeadView dead, const Element *from, std::uint64_t first, std::uint64_t size,
                              Element *to) {
    for_outputs(offsets, count, first, size, [&](std::uint64_t i, std::uint64_t range) {
        to[i] = from[live_position(ranges[range], dead, first + i - offsets[range])];
    });
}

__global__ void gather_ranges_kernel(const std::uint64_t *offsets, std::uint64_t count, std::uint64_t first,
                                     std::uint64_t size, std::uint32_t *to) {
    for_outputs(offsets, count, first, size,
                [&](std::uint64_t i, std::uint64_t range) { to[i] = static_cast<std::uint32_t>(range); });
}

}  // namespace

void count_live(const Call &call, const KaryRange *ranges, std::uint64_t count, const DeadView &dead,
                std::uint32_t *counts) {
    count_live_kernel<<<blocks_for(count), threads_a_block, 0, call.stream()>>>(ranges, count, dead, counts);
    check_launch("count_live_kernel");
}

void measure_sizes(const Call &call, const KaryRange *ranges, std::uint64_t count, const DeadView &dead,
                   std::uint64_t *sizes) {
    measure_kernel<<<blocks_for(count + 1), threads_a_block, 0, call.stream()>>>(ranges, count, dead, sizes);
    check_launch("measure_kernel");
}

Gathered measure_ranges(const Call &call, const KaryRange *ranges, std::uint64_t count,
                        const DeadView &dead) {
    Gathered result;
    result.offsets = call.buffer<std::uint64_t>(count + 1);
    std::uint64_t *sums = result.offsets.data();
    measure_sizes(call, ranges, count, dead, sums);
    exclusive_sums(call, sums, sums, count + 1);
    call.copy(const_cast<std::uint64_t *>(call.result()), static_cast<const std::uint64_t *>(sums + count),
              1);
    call.wait();
    result.total = *call.result();
    return result;
}

// Calls launch(first, size, output) for piece after piece of the outputs. Between two pieces it waits.
template <typename Element, typename Launch>
void gather_pieces(const Call &call, std::uint64_t total, Element *to, Launch launch) {
    const Output<Element> output(call, to, total, piece_elements);
    for (std::uint64_t first = 0; first < total; first += piece_elements) {
        const std::uint64_t size = std::min(piece_elements, total - first);
        launch(first, size, output.piece(first));
        check_launch("gather_kernel");
        output.flush(first, size);
        if (first + size < total) {
            call.wait();
        }
    }
}

template <typename Element>
void gather_elements(const Call &call, const KaryRange *ranges, std::uint64_t count, const DeadView &dead,
                     const Element *from, const Places &places, Element *to) {
    gather_pieces(call, places.total, to, [&](std::uint64_t first, std::uint64_t size, Element *output) {
        gather_kernel<<<blocks_for(size), threads_a_block, 0, call.stream()>>>(
            ranges, places.offsets, count, dead, from, places.first + first, size, output);
    });
}

void gather_ranges(const Call &call, std::uint64_t count, const Places &places, std::uint32_t *to) {
    gather_pieces(call, places.total, to,
                  [&](std::uint64_t first, std::uint64_t size, std::uint32_t *output) {
                      gather_ranges_kernel<<<blocks_for(size), threads_a_block, 0, call.stream()>>>(
                          places.offsets, count, places.first + first, size, output);
                  });
}

template void gather_elements(const Call &, const KaryRange *, std::uint64_t, const DeadView &, const Tid *,
                              const Places &, Tid *);
template void gather_elements(const Call &, const KaryRange *, std::uint64_t, const DeadView &,
                              const std::uint32_t *, const Places &, std::uint32_t *);
template void gather_elements(const Call &, const KaryRange *, std::uint64_t, const DeadView &,
                              const std::uint64_t *, const Places &, std::uint64_t *);
template void gather_elements(const Call &, const KaryRange *, std::uint64_t, const DeadView &,
                              const Key128 *, const Places &, Key128 *);

}  // namespace gpu_engine::device
