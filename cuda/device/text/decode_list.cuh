// The kernels of decode_list.h.
#pragma once

#include <algorithm>

#include "device/launch_bounds.cuh"
#include "device/text/decode.cuh"
#include "device/text/decode_list.h"
#include "device/text/lane_frames.cuh"
#include "device/warp.cuh"

namespace gpu_engine::device::whole_lists {

// ---- A warp a block ------------------------------------------------------------------------------

// Returns false, in all lanes, when the block contradicts itself.
template <postings::Codec Codec, bool Sums>
__device__ __forceinline__ bool decode_and_store(const TextView &text, const ListView &list,
                                                 std::uint32_t number, std::uint32_t lane,
                                                 std::uint32_t *scratch, std::uint32_t *values) {
    Block block;
    if (!decode_block<Codec, Sums>(text, list, number, lane, scratch, &block)) {
        return false;
    }
    std::uint32_t *out = values + std::uint64_t(number) * a_block + lane * a_lane;
    if (block.count == a_block) {
        *reinterpret_cast<uint4 *>(out) =
            uint4{block.ordinals[0], block.ordinals[1], block.ordinals[2], block.ordinals[3]};
        return true;
    }
#pragma unroll
    for (std::uint32_t j = 0; j < a_lane; ++j) {
        if (lane * a_lane + j < block.count) {
            out[j] = block.ordinals[j];
        }
    }
    return true;
}

template <postings::Codec Codec, bool Sums>
__global__ void __launch_bounds__(threads_a_block, resident_blocks(5, threads_a_block))
    decode_list_kernel(TextView text, ListView list, std::uint32_t *values, std::uint32_t *damaged) {
    __shared__ alignas(16) WarpScratch scratch[warps_a_block];
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t number = blockIdx.x * warps_a_block + warp;
    if (number < list.blocks &&
        !decode_and_store<Codec, Sums>(text, list, number, threadIdx.x % 32, scratch[warp], values)) {
        *damaged = 1;
    }
}

// ---- A lane a block ------------------------------------------------------------------------------

// 128 gaps of so many bits have a sum of 32.
constexpr std::uint32_t max_gap_bits = 24;
constexpr std::uint32_t max_exceptions = 64;
// Values that a lane adds up before the warp writes them, and how far lanes' lie apart: no two meet in a
// bank.
constexpr std::uint32_t chunk = 16;
constexpr std::uint32_t pitch = chunk + 1;

struct LaneShared {
    union {
        std::uint32_t values[32 * pitch];
        std::uint16_t scratch[lane_nested_exceptions * 32];
    };
    alignas(16) std::uint16_t exceptions[(max_exceptions + 1) * 32];
    // The blocks' bytes follow, when they don't need more words than there are.
};
static_assert(max_exceptions % 4 == 0 && max_exceptions < a_block);

// Adds a lane's next `chunk` values: the low bits, of which `PerAccess` come from one, and what is in the
// cells; with `Sums` they become ordinals, the one before them being *sum.
template <std::uint32_t PerAccess, bool Sums>
__device__ __forceinline__ void add_chunk(const Source &source, std::uint32_t at, std::uint32_t bits,
                                          std::uint32_t *cells, std::uint32_t *sum) {
    constexpr std::uint32_t accesses = chunk / PerAccess < 8 ? chunk / PerAccess : 8;
    const std::uint32_t mask = low_mask(bits);
#pragma unroll
    for (std::uint32_t first = 0; first < chunk; first += accesses * PerAccess) {
        std::uint32_t packed[accesses];
#pragma unroll
        for (std::uint32_t i = 0; i < accesses; ++i, at += PerAccess * bits) {
            packed[i] = source.bits(at);
        }
#pragma unroll
        for (std::uint32_t i = 0; i < accesses * PerAccess; ++i) {
            std::uint32_t &lows = packed[i / PerAccess];
            std::uint32_t value = (lows & mask) | cells[first + i];
            if constexpr (PerAccess > 1) {
                lows >>= bits;
            }
            if constexpr (Sums) {
                value += *sum + 1;
                *sum = value;
            }
            cells[first + i] = value;
        }
    }
}

// A lane finds its block's exceptions, then the warp goes through all its 32 blocks in chunks: lanes add up
// their own values in shared memory, from where the warp writes them, block by block. What lanes don't take,
// and what contradicts itself, is left.
template <bool Sums>
__global__ void __launch_bounds__(32)
    decode_by_lanes_kernel(TextView text, ListView list, std::uint32_t staged_words, std::uint32_t *values,
                           std::uint32_t *left) {
    extern __shared__ uint4 dynamic_shared[];
    LaneShared &shared = *reinterpret_cast<LaneShared *>(dynamic_shared);
    auto *staged = reinterpret_cast<uint4 *>(&shared + 1);
    const std::uint32_t lane = threadIdx.x;
    const std::uint32_t first_block = blockIdx.x * 32;
    const std::uint32_t size = min(list.blocks - first_block, 32U);
    const Head head = read_own_head(text, list, first_block + min(lane, size - 1));
    const std::uint32_t bits = head.parameter() & ~postings::kPackedFlag;
    const std::uint32_t begin = __shfl_sync(all_lanes, head.offset, 0);
    bool valid = lane < size && (head.coding & Head::is_valid) != 0 && head.count() == a_block &&
                 head.offset >= begin && head.offset - begin <= 32 * postings::kMaxBlockBytes &&
                 bits <= max_gap_bits;
    // Bytes are counted from a boundary of 16 before the first block's first.
    const std::uint64_t first_byte = list.offset + begin;
    const auto *pieces = reinterpret_cast<const uint4 *>(text.postings) + first_byte / 16;
    Source source = {reinterpret_cast<const std::uint32_t *>(pieces)};
    LaneBytes rest = {head.offset - begin + static_cast<std::uint32_t>(first_byte % 16), 0};
    rest.end = rest.at + head.bytes - packed_size(a_block, head.frequency_bits());
    // The words reach as far behind a block's end as anything is read.
    const std::uint32_t words = max_of_warp(valid ? rest.end / 4 + 4 : 0);
    if (words <= staged_words) {
        for (std::uint32_t i = lane; i * 4 < words; i += 32) {
            staged[i] = pieces[i];
        }
        source.words = reinterpret_cast<const std::uint32_t *>(staged);
    }
    __syncwarp();
    std::uint32_t exceptions = 0;
    std::uint32_t lows = rest.at * 8;
    if ((head.parameter() & postings::kPackedFlag) != 0) {
        valid = valid && rest.at + packed_size(a_block, bits) == rest.end;
    } else if (valid) {
        const std::uint32_t frame = rest.at;
        lows += 8;
        rest.at += 1 + packed_size(a_block, bits);
        valid = rest.at <= rest.end;
        if (valid) {
            exceptions = source.byte(frame);
            valid = exceptions <= max_exceptions;
            if (exceptions > 0) {
                std::uint32_t all = 0;
#pragma unroll 1
                for (std::uint32_t part = 0; part < 2; ++part) {
                    valid = valid && store_values<1>(source, &rest, exceptions, part == 1,
                                                     shared.exceptions + lane, shared.scratch + lane, &all);
                }
                valid = valid && all < (1U << max_gap_bits >> bits) - 1;
            }
            valid = valid && rest.at == rest.end;
        }
    }
    __syncwarp();
    const std::uint32_t decoded = __ballot_sync(all_lanes, valid);
    const std::uint32_t own_bits = valid ? bits : 0;
    exceptions = valid ? exceptions : 0;
    lows = valid ? lows : 0;
    const std::uint32_t widest = max_of_warp(own_bits);
    // Behind the last exception comes one that isn't in the block.
    const std::uint16_t *next = shared.exceptions + lane;
    const std::uint16_t *last = next + exceptions * 32;
    shared.exceptions[exceptions * 32 + lane] = max_distance;
    std::uint32_t place = exceptions > 0 ? *next & max_distance : a_block;
    std::uint32_t high = ((*next >> distance_bits) + 1U) << own_bits;
    std::uint32_t *cells = shared.values + lane * pitch;
    std::uint32_t sum = head.first - 1;
    for (std::uint32_t at = 0; decoded != 0 && at < a_block; at += chunk) {
#pragma unroll
        for (std::uint32_t i = 0; i < chunk; ++i) {
            cells[i] = 0;
        }
        while (place < at + chunk) {
            cells[place - at] = high;
            next += 32;
            const std::uint32_t row = *next;
            place += 1 + (row & max_distance);
            high = ((row >> distance_bits) + 1) << own_bits;
        }
        const std::uint32_t from = lows + at * own_bits;
        if (widest <= 8) {
            add_chunk<4, Sums>(source, from, own_bits, cells, &sum);
        } else if (widest <= 16) {
            add_chunk<2, Sums>(source, from, own_bits, cells, &sum);
        } else {
            add_chunk<1, Sums>(source, from, own_bits, cells, &sum);
        }
        __syncwarp();
        // Lanes take a block's chunk together.
        constexpr std::uint32_t together = 32 / chunk;
        const std::uint32_t own = lane / chunk;
        const std::uint32_t *cell = shared.values + own * pitch + lane % chunk;
        std::uint32_t *out = values + (std::uint64_t(first_block) + own) * a_block + at + lane % chunk;
#pragma unroll 8
        for (std::uint32_t block = 0; block < 32; block += together) {
            if ((decoded >> (block + own) & 1) != 0) {
                out[block * a_block] = cell[block * pitch];
            }
        }
        __syncwarp();
    }
    valid = valid && next == last && (!Sums || sum == head.last);
    const bool is_left = lane < size && !valid;
    const std::uint32_t all_left = __ballot_sync(all_lanes, is_left);
    if (all_left == 0) {
        return;
    }
    std::uint32_t number = 0;
    if (lane == 0) {
        number = 1 + atomicAdd(left, __popc(all_left));
    }
    number = __shfl_sync(all_lanes, number, 0) + __popc(all_left & ((1U << lane) - 1));
    if (is_left) {
        left[number] = first_block + lane;
    }
}

template <bool Sums>
__global__ void __launch_bounds__(threads_a_block, resident_blocks(5, threads_a_block))
    decode_left_kernel(TextView text, ListView list, const std::uint32_t *left, std::uint32_t *values,
                       std::uint32_t *damaged) {
    __shared__ alignas(16) WarpScratch scratch[warps_a_block];
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t count = left[0];
    for (std::uint32_t i = blockIdx.x * warps_a_block + warp; i < count; i += gridDim.x * warps_a_block) {
        if (!decode_and_store<postings::Codec::PForDelta, Sums>(text, list, left[1 + i], threadIdx.x % 32,
                                                                scratch[warp], values)) {
            *damaged = 1;
        }
    }
}

// ---- Launches ------------------------------------------------------------------------------------

// If a multiprocessor has fewer warps of lanes, single lanes' time decides.
constexpr std::uint32_t least_lane_warps = 7;

// Words for the bytes of 32 blocks of the list, and a sixteenth more, since some are longer.
inline std::uint32_t words_to_stage(const ListView &list) {
    constexpr std::uint64_t most = 2048;
    const std::uint64_t bytes = list.data_bytes * 32 / list.blocks;
    return static_cast<std::uint32_t>(std::min((bytes + bytes / 16) / 16 * 4 + 8, most));
}

// The gaps are written where `Sums` is false, and otherwise the ordinals that they add up to.
template <bool Sums>
void launch_decode(const Call &call, const TextView &text, const ListView &list, std::uint32_t *values,
                   std::uint32_t *damaged, std::optional<DecodeForm> form) {
    const auto multiprocessors = static_cast<std::uint32_t>(call.engine().multiprocessors());
    if (!form) {
        form = list.blocks / 32 / least_lane_warps >= multiprocessors ? DecodeForm::lane_a_block
                                                                      : DecodeForm::warp_a_block;
    }
    const auto grid = [&](std::uint32_t blocks) {
        return list.blocks / blocks + (list.blocks % blocks != 0 ? 1 : 0);
    };
    if (*form == DecodeForm::lane_a_block && text.codec == postings::Codec::PForDelta && list.blocks > 1) {
        // The number of blocks that are left to warps lies in front of their list.
        const Buffer<std::uint32_t> left = call.buffer<std::uint32_t>(std::uint64_t(list.blocks) + 1);
        call.fill(left.data(), 0, sizeof(std::uint32_t));
        const std::uint32_t words = words_to_stage(list);
        decode_by_lanes_kernel<Sums>
            <<<grid(32), 32, sizeof(LaneShared) + words * sizeof(std::uint32_t), call.stream()>>>(
                text, list, words, values, left.data());
        check_launch("decode_by_lanes_kernel");
        constexpr std::uint32_t blocks_at_once = 8;
        decode_left_kernel<Sums>
            <<<std::min(grid(warps_a_block), multiprocessors * blocks_at_once), threads_a_block, 0,
               call.stream()>>>(text, list, left.data(), values, damaged);
        check_launch("decode_left_kernel");
        return;
    }
    with_codec(text.codec, [&](auto codec) {
        const auto kernel = decode_list_kernel<codec, Sums>;
        kernel<<<grid(warps_a_block), threads_a_block, 0, call.stream()>>>(text, list, values, damaged);
    });
    check_launch("decode_list_kernel");
}

}  // namespace gpu_engine::device::whole_lists
