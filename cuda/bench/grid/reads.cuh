// Reads what requests to a grid of two columns of uniform keys must read, at places that are known without a
// search. It shows how fast the device is at such reads.
#pragma once

#include <cstdint>

#include "device/grid/view.h"

namespace gpu_engine::bench {

// Returns a place below `places` that follows from two keys.
__device__ inline std::uint64_t read_place(std::uint32_t a, std::uint32_t b, std::uint64_t places) {
    return static_cast<std::uint64_t>((a * 0x9e3779b1U) ^ b) * places >> 32;
}

// Reads a cell's two words, and then 32 bytes of its entries' keys in one column, whose place only the words
// tell. Returns the sum of all that; `next` is 0, which the compiler can't know.
__device__ inline std::uint32_t read_cell(const std::uint32_t *directory, const std::uint32_t *keys,
                                          std::uint64_t cell, std::uint64_t entry, std::uint32_t *next) {
    std::uint32_t sum = __ldg(directory + cell) + __ldg(directory + cell + 1);
    *next = sum == 0xffffffffU ? 1 : 0;
    const auto *from = reinterpret_cast<const uint4 *>(keys + entry / 4 * 4 + *next * 4);
    const uint4 a = __ldg(from);
    const uint4 b = __ldg(from + 1);
    sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
    *next = sum == 0xffffffffU ? 1 : 0;
    return sum;
}

// Reads for exact matches: a point, its cell and the other column's key of one entry; and writes the answer.
__global__ void __launch_bounds__(256)
    match_reads_kernel(const device::GridView<std::uint32_t> grid, const device::PointBatch points,
                       std::uint64_t cells, std::uint64_t entries, std::uint32_t *counts) {
    const auto *first = static_cast<const std::uint32_t *>(points.keys[0]);
    const auto *second = static_cast<const std::uint32_t *>(points.keys[1]);
    const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < points.count; i += stride) {
        const std::uint32_t x = __ldg(first + i);
        const std::uint32_t y = __ldg(second + i);
        const std::uint64_t entry = read_place(x, y, entries - 64);
        std::uint32_t next = 0;
        const std::uint32_t sum = read_cell(grid.directory, static_cast<const std::uint32_t *>(grid.keys[0]),
                                            read_place(x, y, cells - 1), entry, &next);
        counts[i] = sum + __ldg(static_cast<const std::uint32_t *>(grid.keys[1]) + entry + next);
    }
}

// Reads for boxes: the cells at both ends of each row, then the first and the last row's keys.
__global__ void __launch_bounds__(256)
    box_reads_kernel(const device::GridView<std::uint32_t> grid, const device::BoxBatch boxes,
                     std::uint64_t cells, std::uint64_t entries, std::uint32_t *counts) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t warps = static_cast<std::uint64_t>(gridDim.x) * blockDim.x / 32;
    for (std::uint64_t i = (static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
         i < boxes.count; i += warps) {
        std::uint32_t low[2];
        std::uint32_t slots[2];
        for (int c = 0; c < 2; ++c) {
            low[c] = __ldg(static_cast<const std::uint32_t *>(boxes.low[c]) + i);
            const std::uint32_t high = __ldg(static_cast<const std::uint32_t *>(boxes.high[c]) + i);
            slots[c] = __umulhi(high - low[c], grid.shapes[c].slots) + 1;
        }
        std::uint32_t sum = 0;
        std::uint32_t next = 0;
        for (std::uint32_t end = lane; end < 2 * slots[0]; end += 32) {
            const std::uint32_t at = low[0] + end * 0x10001U;
            sum += read_cell(grid.directory, static_cast<const std::uint32_t *>(grid.keys[1]),
                             read_place(at, low[1], cells - 1), read_place(at, low[1], entries - 64), &next);
        }
        const std::uint64_t row_keys = slots[1] * (entries / cells);
        for (int row = 0; row < 2; ++row) {
            const std::uint64_t begin = read_place(low[0], low[1] + row, entries - row_keys - 64) / 4 * 4;
            const auto *keys =
                reinterpret_cast<const uint4 *>(static_cast<const std::uint32_t *>(grid.keys[0]) + begin);
            for (std::uint32_t k = lane; k < row_keys / 4; k += 32) {
                const uint4 read = __ldg(keys + k + next);
                sum += read.x + read.y + read.z + read.w;
            }
        }
        sum = __reduce_add_sync(0xffffffffU, sum);
        if (lane == 0) {
            counts[i] = sum;
        }
    }
}

}  // namespace gpu_engine::bench
