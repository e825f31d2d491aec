// Counting what is visible; entries on unknown heap blocks are given back instead.
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include <algorithm>

#include "device/cub_calls.cuh"
#include "device/kary/array.h"
#include "device/kary/live.cuh"

namespace gpu_engine::device {
namespace {

// The ranges' positions are taken as one sequence. Each block takes a tile of it, in which neighbouring
// threads take neighbouring places.
constexpr int rounds = 16;
constexpr std::uint64_t tile_positions = static_cast<std::uint64_t>(threads_a_block) * rounds;
// There are so many positions between two cancellation points. This bounds the copy of TIDs, too (96 MB).
constexpr std::uint64_t piece_positions = std::uint64_t(1) << 24;

__global__ void lengths_kernel(const KaryRange *ranges, std::uint64_t count, std::uint64_t *lengths) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i <= count) {
        lengths[i] = i < count ? ranges[i].last - ranges[i].first : 0;
    }
}

// All of these arrays are on the device.
struct Sequence {
    const KaryRange *ranges;
    const std::uint64_t *begins;  // count + 1
    std::uint64_t count;
    const Tid *tids;
    DeadView dead;
    KnownBlocks known;
};

enum class Found { nothing, on, elsewhere };

// Looks at what lies at `place` of the sequence; it belongs to one of ranges [low, high].
__device__ Found look(const Sequence &sequence, std::uint64_t low, std::uint64_t high, std::uint64_t place,
                      std::uint64_t *range, Tid *tid) {
    *range = range_of(sequence.begins, low, high, place);
    const std::uint64_t position = sequence.ranges[*range].first + (place - sequence.begins[*range]);
    if (sequence.dead.words != nullptr && is_dead(sequence.dead, position)) {
        return Found::nothing;
    }
    *tid = sequence.tids[position];
    const Seen seen = look_up(sequence.known, *tid);
    return seen == Seen::no ? Found::nothing : seen == Seen::yes ? Found::on : Found::elsewhere;
}

// Finds the ranges that places [first, last) belong to. All threads of the block call it.
__device__ void bracket(const Sequence &sequence, std::uint64_t first, std::uint64_t last,
                        std::uint64_t *bounds) {
    if (threadIdx.x < 2) {
        bounds[threadIdx.x] = range_of(sequence.begins, std::uint64_t{0}, sequence.count - 1,
                                       threadIdx.x == 0 ? first : last - 1);
    }
    __syncthreads();
}

// Adds to each range's numbers, and writes how many entries on unknown blocks each tile has.
__global__ void __launch_bounds__(threads_a_block)
    count_tiles_kernel(const Sequence sequence, std::uint64_t first, std::uint64_t last, std::uint64_t *on,
                       std::uint64_t *elsewhere, std::uint32_t *tiles) {
    using Reduce = cub::BlockReduce<std::uint32_t, threads_a_block>;
    __shared__ typename Reduce::TempStorage scratch;
    __shared__ std::uint64_t bounds[2];
    const std::uint64_t tile_first = first + blockIdx.x * tile_positions;
    const std::uint64_t tile_last = tile_first + tile_positions < last ? tile_first + tile_positions : last;
    bracket(sequence, tile_first, tile_last, bounds);
    const bool one_range = bounds[0] == bounds[1];
    // Both sums fit one word, because they are at most `tile_positions` each.
    std::uint32_t sums = 0;
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t place =
            tile_first + static_cast<std::uint64_t>(round) * threads_a_block + threadIdx.x;
        if (place < tile_last) {
            std::uint64_t range;
            Tid tid;
            const Found found = look(sequence, bounds[0], bounds[1], place, &range, &tid);
            sums += found == Found::on ? 1U : found == Found::elsewhere ? 1U << 16 : 0U;
            if (!one_range && found != Found::nothing) {
                atomicAdd(reinterpret_cast<unsigned long long *>(found == Found::on ? on : elsewhere) + range,
                          1ULL);
            }
        }
    }
    sums = Reduce(scratch).Sum(sums);
    if (threadIdx.x == 0) {
        tiles[blockIdx.x] = sums >> 16;
        if (one_range) {
            atomicAdd(reinterpret_cast<unsigned long long *>(on) + bounds[0], sums & 0xffffULL);
            atomicAdd(reinterpret_cast<unsigned long long *>(elsewhere) + bounds[0], sums >> 16);
        }
    }
}

// Writes the TIDs on unknown blocks; each tile's begin at tiles[tile].
__global__ void __launch_bounds__(threads_a_block)
    write_tiles_kernel(const Sequence sequence, std::uint64_t first, std::uint64_t last,
                       const std::uint32_t *tiles, Tid *tids) {
    using Scan = cub::BlockScan<std::uint32_t, threads_a_block>;
    __shared__ typename Scan::TempStorage scratch;
    __shared__ std::uint64_t bounds[2];
    const std::uint64_t tile_first = first + blockIdx.x * tile_positions;
    const std::uint64_t tile_last = tile_first + tile_positions < last ? tile_first + tile_positions : last;
    std::uint32_t output = tiles[blockIdx.x];
    if (output == tiles[blockIdx.x + 1]) {
        return;
    }
    bracket(sequence, tile_first, tile_last, bounds);
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t place =
            tile_first + static_cast<std::uint64_t>(round) * threads_a_block + threadIdx.x;
        std::uint64_t range;
        Tid tid;
        const std::uint32_t wanted =
            place < tile_last && look(sequence, bounds[0], bounds[1], place, &range, &tid) == Found::elsewhere
                ? 1
                : 0;
        std::uint32_t before = 0;
        std::uint32_t all = 0;
        Scan(scratch).ExclusiveSum(wanted, before, all);
        if (wanted != 0) {
            tids[output + before] = tid;
        }
        output += all;
        __syncthreads();
    }
}

static_assert(tile_positions < 1 << 16);
static_assert(piece_positions < std::uint64_t(1) << 32);

}  // namespace

Status count_ranges_on(const Call &call, const KaryRange *ranges, std::uint64_t count, const DeadView &dead,
                       const Tid *array_tids, const KnownBlocks &known, std::uint64_t *counts,
                       std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) {
    const Buffer<std::uint64_t> begins = call.buffer<std::uint64_t>(count + 1);
    lengths_kernel<<<blocks_for(count + 1), threads_a_block, 0, call.stream()>>>(ranges, count,
                                                                                 begins.data());
    check_launch("lengths_kernel");
    exclusive_sums(call, begins.data(), begins.data(), count + 1);
    const Buffer<std::uint64_t> on = call.buffer<std::uint64_t>(count);
    const Buffer<std::uint64_t> elsewhere = call.buffer<std::uint64_t>(count + 1);
    call.fill(on.data(), 0, count * sizeof(std::uint64_t));
    call.fill(elsewhere.data(), 0, (count + 1) * sizeof(std::uint64_t));

    const std::uint64_t positions =
        read_element(call, static_cast<const std::uint64_t *>(begins.data() + count));
    const Sequence sequence = {ranges, begins.data(), count, array_tids, dead, known};
    const std::uint64_t max_tiles =
        (std::min(positions, piece_positions) + tile_positions - 1) / tile_positions;
    const Buffer<std::uint32_t> tiles = call.buffer<std::uint32_t>(max_tiles + 1);
    Buffer<Tid> copy;
    std::uint64_t total = 0;
    for (std::uint64_t first = 0; first < positions; first += piece_positions) {
        const std::uint64_t last = std::min(first + piece_positions, positions);
        const std::uint64_t piece_tiles = (last - first + tile_positions - 1) / tile_positions;
        call.fill(tiles.data() + piece_tiles, 0, sizeof(std::uint32_t));
        count_tiles_kernel<<<static_cast<unsigned>(piece_tiles), threads_a_block, 0, call.stream()>>>(
            sequence, first, last, on.data(), elsewhere.data(), tiles.data());
        check_launch("count_tiles_kernel");
        exclusive_sums(call, tiles.data(), tiles.data(), piece_tiles + 1);
        const std::uint64_t found =
            read_element(call, static_cast<const std::uint32_t *>(tiles.data() + piece_tiles));
        if (found > 0 && total <= capacity && found <= capacity - total) {
            if (copy.size() < found) {
                copy = {};
                copy = call.buffer<Tid>(found);
            }
            write_tiles_kernel<<<static_cast<unsigned>(piece_tiles), threads_a_block, 0, call.stream()>>>(
                sequence, first, last, tiles.data(), copy.data());
            check_launch("write_tiles_kernel");
            call.copy(tids + total, static_cast<const Tid *>(copy.data()), found);
            call.wait();
        }
        total += found;
    }
    exclusive_sums(call, elsewhere.data(), elsewhere.data(), count + 1);
    call.copy(counts, static_cast<const std::uint64_t *>(on.data()), count);
    call.copy(offsets, static_cast<const std::uint64_t *>(elsewhere.data()), count + 1);
    call.wait();
    if (total > capacity) {
        return make_status(StatusCode::insufficient_space, "more TIDs match than there is space for");
    }
    return {};
}

}  // namespace gpu_engine::device
