// Decoding blocks of postings, a warp a block, four consecutive postings a lane. What is read is checked as
// postings::decode_gaps and postings::add_gaps do; nothing outside the list is looked at.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/text/index.h"

namespace gpu_engine::device {

inline constexpr std::uint32_t all_lanes = 0xffffffff;
inline constexpr std::uint32_t a_block = postings::kBlockPostings;
inline constexpr std::uint32_t a_lane = a_block / 32;

// Shared memory that a warp needs.
using WarpScratch = std::uint32_t[a_block];

// Bytes from a word's boundary on.
struct Source {
    const std::uint32_t *words;

    __device__ __forceinline__ std::uint32_t byte(std::uint32_t at) const {
        return words[at / 4] >> (at % 4 * 8) & 0xff;
    }
    // 32 bits from any bit on.
    __device__ __forceinline__ std::uint32_t bits(std::uint32_t at) const {
        return __funnelshift_r(words[at / 32], words[at / 32 + 1], at % 32);
    }
};

__device__ __forceinline__ std::uint32_t low_mask(std::uint32_t bits) {
    return bits == 0 ? 0 : all_lanes >> (32 - bits);
}

__device__ __forceinline__ std::uint32_t packed_size(std::uint32_t count, std::uint32_t bits) {
    return (count * bits + 7) / 8;
}

// The lane's four of the values that are packed from a byte on.
__device__ __forceinline__ void unpack(const Source &source, std::uint32_t byte, std::uint32_t bits,
                                       std::uint32_t lane, std::uint32_t (&values)[a_lane]) {
    const std::uint32_t mask = low_mask(bits);
    std::uint32_t at = byte * 8 + lane * a_lane * bits;
    if (bits <= 8) {
        std::uint32_t together = source.bits(at);
#pragma unroll
        for (std::uint32_t i = 0; i < a_lane; ++i) {
            values[i] = together & mask;
            together >>= bits;
        }
        return;
    }
#pragma unroll
    for (std::uint32_t i = 0; i < a_lane; ++i, at += bits) {
        values[i] = source.bits(at) & mask;
    }
}

__device__ __forceinline__ std::uint32_t inclusive_sum(std::uint32_t value, std::uint32_t lane) {
#pragma unroll
    for (std::uint32_t distance = 1; distance < 32; distance *= 2) {
        const std::uint32_t before = __shfl_up_sync(all_lanes, value, distance);
        value += lane >= distance ? before : 0;
    }
    return value;
}

// A part of a PForDelta block's bytes that is still to be read.
struct Rest {
    std::uint32_t at;
    std::uint32_t bytes;
};

// ---- PForDelta -----------------------------------------------------------------------------------

// What is behind some values of one a lane, and the lane's. Given back by value, so that it stays in
// registers.
struct Few {
    Rest rest;
    std::uint32_t value;
    bool sound;
};

template <int Depth>
__device__ __noinline__ Few decode_deep(Source source, Rest rest, std::uint32_t count, std::uint32_t lane,
                                        std::uint32_t *scratch);

// Up to 32 values, one a lane: exceptions' places or high bits, with their own b in front.
template <int Depth>
__device__ __forceinline__ Few decode_few(const Source &source, Rest rest, std::uint32_t count,
                                          std::uint32_t lane, std::uint32_t *scratch) {
    if (rest.bytes < 2) {
        return {rest, 0, false};
    }
    const std::uint32_t bits = source.byte(rest.at);
    const std::uint32_t exceptions = source.byte(rest.at + 1);
    const std::uint32_t used = 2 + packed_size(count, bits);
    if (bits > 32 || rest.bytes < used) {
        return {rest, 0, false};
    }
    std::uint32_t value = source.bits((rest.at + 2) * 8 + lane * bits) & low_mask(bits);
    rest.at += used;
    rest.bytes -= used;
    if (exceptions == 0) {
        return {rest, value, true};
    }
    if constexpr (Depth == postings::kMostNesting) {
        return {rest, 0, false};
    } else {
        if (exceptions > count || bits == 32) {
            return {rest, 0, false};
        }
        const Few gaps = decode_deep<Depth + 1>(source, rest, exceptions, lane, scratch);
        if (!gaps.sound) {
            return gaps;
        }
        const Few highs = decode_deep<Depth + 1>(source, gaps.rest, exceptions, lane, scratch);
        if (!highs.sound) {
            return highs;
        }
        const bool is_one = lane < exceptions;
        const bool fits = gaps.value < count && highs.value < UINT32_MAX >> bits;
        const std::uint32_t place = inclusive_sum(is_one ? gaps.value + 1 : 0, lane) - 1;
        if (__any_sync(all_lanes, is_one && (!fits || place >= count))) {
            return {rest, 0, false};
        }
        scratch[lane] = 0;
        __syncwarp();
        if (is_one) {
            scratch[place] = (highs.value + 1) << bits;
        }
        __syncwarp();
        value |= scratch[lane];
        __syncwarp();
        return {highs.rest, value, true};
    }
}

// For what is rare, not inline.
template <int Depth>
__device__ Few decode_deep(Source source, Rest rest, std::uint32_t count, std::uint32_t lane,
                           std::uint32_t *scratch) {
    return decode_few<Depth>(source, rest, count, lane, scratch);
}

// Values with `bits` low bits in place, four a lane.
template <int Depth>
__device__ bool decode_frame(const Source &source, Rest *rest, std::uint32_t count, std::uint32_t bits,
                             std::uint32_t lane, std::uint32_t *scratch, std::uint32_t (&values)[a_lane]);

struct Many {
    Rest rest;
    std::uint32_t values[a_lane];
    bool sound;
};

// More than 32 values, their own b in front.
template <int Depth>
__device__ __noinline__ Many decode_many(Source source, Rest rest, std::uint32_t count, std::uint32_t lane,
                                         std::uint32_t *scratch) {
    Many many = {rest, {}, rest.bytes > 0};
    if (many.sound) {
        const std::uint32_t bits = source.byte(rest.at);
        many.rest = {rest.at + 1, rest.bytes - 1};
        many.sound =
            bits <= 32 && decode_frame<Depth>(source, &many.rest, count, bits, lane, scratch, many.values);
    }
    return many;
}

template <int Depth>
__device__ bool decode_frame(const Source &source, Rest *rest, std::uint32_t count, std::uint32_t bits,
                             std::uint32_t lane, std::uint32_t *scratch, std::uint32_t (&values)[a_lane]) {
    const std::uint32_t used = 1 + packed_size(count, bits);
    if (rest->bytes < used) {
        return false;
    }
    const std::uint32_t exceptions = source.byte(rest->at);
    unpack(source, rest->at + 1, bits, lane, values);
    rest->at += used;
    rest->bytes -= used;
    if (exceptions == 0) {
        return true;
    }
    if constexpr (Depth == postings::kMostNesting) {
        return false;
    } else {
        if (exceptions > count || bits >= 32) {
            return false;
        }
        std::uint32_t gaps[a_lane] = {};
        std::uint32_t highs[a_lane] = {};
        const bool few = exceptions <= 32;
        if (few) {
            const Few low = decode_few<Depth + 1>(source, *rest, exceptions, lane, scratch);
            if (!low.sound) {
                return false;
            }
            const Few high = decode_few<Depth + 1>(source, low.rest, exceptions, lane, scratch);
            if (!high.sound) {
                return false;
            }
            *rest = high.rest;
            gaps[0] = low.value;
            highs[0] = high.value;
        } else {
            const Many low = decode_many<Depth + 1>(source, *rest, exceptions, lane, scratch);
            if (!low.sound) {
                return false;
            }
            const Many high = decode_many<Depth + 1>(source, low.rest, exceptions, lane, scratch);
            if (!high.sound) {
                return false;
            }
            *rest = high.rest;
#pragma unroll
            for (std::uint32_t i = 0; i < a_lane; ++i) {
                gaps[i] = low.values[i];
                highs[i] = high.values[i];
            }
        }
        const std::uint32_t first = few ? lane : lane * a_lane;
        const std::uint32_t most = few ? 1 : a_lane;
        bool fits = true;
        std::uint32_t here = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < a_lane; ++i) {
            if (i < most && first + i < exceptions) {
                fits = fits && gaps[i] < count && highs[i] < UINT32_MAX >> bits;
                here += gaps[i] + 1;
            }
        }
        const std::uint32_t end = inclusive_sum(here, lane);
        if (__any_sync(all_lanes, !fits || end > count)) {
            return false;
        }
        *reinterpret_cast<uint4 *>(scratch + lane * a_lane) = uint4{};
        __syncwarp();
        std::uint32_t place = end - here;
#pragma unroll
        for (std::uint32_t i = 0; i < a_lane; ++i) {
            if (i < most && first + i < exceptions) {
                place += gaps[i];
                scratch[place++] = (highs[i] + 1) << bits;
            }
        }
        __syncwarp();
        const uint4 high = *reinterpret_cast<const uint4 *>(scratch + lane * a_lane);
        __syncwarp();
        values[0] |= high.x;
        values[1] |= high.y;
        values[2] |= high.z;
        values[3] |= high.w;
        return true;
    }
}

// ---- Rice ----------------------------------------------------------------------------------------

// Remainders by their places, quotients by two sums: of the ones before each byte, which gives each one its
// number, and (by the caller) of the values.
__device__ inline bool decode_rice(const Source &source, const Rest &rest, std::uint32_t count,
                                   std::uint32_t k, std::uint32_t lane, std::uint32_t *scratch,
                                   std::uint32_t (&values)[a_lane]) {
    const std::uint32_t binary = packed_size(count, k);
    if (rest.bytes <= binary) {
        return false;
    }
    unpack(source, rest.at, k, lane, values);
    const std::uint32_t unary = rest.bytes - binary;
    std::uint32_t ones = 0;
    for (std::uint32_t first = 0; first < unary && ones < count; first += 32) {
        std::uint32_t byte = first + lane < unary ? source.byte(rest.at + binary + first + lane) : 0;
        const std::uint32_t here = __popc(byte);
        const std::uint32_t end = ones + inclusive_sum(here, lane);
        for (std::uint32_t number = end - here; byte != 0 && number < count; ++number) {
            scratch[number] = (first + lane) * 8 + __ffs(static_cast<int>(byte)) - 1;
            byte &= byte - 1;
        }
        ones = __shfl_sync(all_lanes, end, 31);
    }
    __syncwarp();
    bool sound = ones >= count && scratch[count - 1] / 8 + 1 == unary;
    const std::uint32_t most = k < 32 ? UINT32_MAX >> k : 0;
    std::uint32_t next = lane == 0 ? 0 : scratch[lane * a_lane - 1] + 1;
#pragma unroll
    for (std::uint32_t i = 0; i < a_lane; ++i) {
        if (lane * a_lane + i < count) {
            const std::uint32_t quotient = scratch[lane * a_lane + i] - next;
            next += quotient + 1;
            sound = sound && quotient <= most;
            values[i] |= k < 32 ? quotient << k : 0;
        }
    }
    __syncwarp();
    return __all_sync(all_lanes, sound);
}

// ---- Blocks --------------------------------------------------------------------------------------

// What a warp knows of a block; the same in all lanes but for the ordinals.
struct Block {
    std::uint32_t ordinals[a_lane];  // of the lane's postings, as far as they are below `count`
    std::uint32_t count;
    Source source;
    std::uint32_t frequency_at;  // the byte of `source` at which they begin
    std::uint32_t frequency_bits;

    __device__ __forceinline__ void frequencies(std::uint32_t lane, std::uint32_t (&values)[a_lane]) const {
        unpack(source, frequency_at, frequency_bits, lane, values);
#pragma unroll
        for (std::uint32_t i = 0; i < a_lane; ++i) {
            ++values[i];
        }
    }
};

struct Head {
    std::uint64_t first;  // the least ordinal that the block's first posting can have
    std::uint32_t last;   // the highest that its last one can have
    bool is_last;         // it has that one
    std::uint32_t offset;
    std::uint64_t end;  // of the block's bytes
    std::uint32_t parameter;
    std::uint32_t frequency_bits;
};

// Reads a block's head and what it needs of its neighbours', 12 bytes each, in one access.
__device__ __forceinline__ Head read_head(const TextView &text, const ListView &list, std::uint32_t block,
                                          std::uint32_t lane) {
    Head head;
    const std::uint32_t *postings = text.postings;
    if (list.blocks == 1) {
        const Source source = {postings + list.offset / 4};
        const std::uint32_t at = list.offset % 4;
        head = {0,
                text.documents - 1,
                false,
                short_list_head,
                list.data_bytes,
                source.byte(at),
                source.byte(at + 1)};
        return head;
    }
    const std::uint32_t before = block > 0 ? 1 : 0;
    const std::uint64_t byte =
        list.offset + list.data_bytes + std::uint64_t(block - before) * sizeof(postings::BlockHead);
    std::uint32_t word = lane < 10 ? postings[byte / 4 + lane] : 0;
    word = __funnelshift_r(word, __shfl_down_sync(all_lanes, word, 1), byte % 4 * 8);
    const std::uint32_t last_before = __shfl_sync(all_lanes, word, 0);
    head.first = block > 0 ? std::uint64_t(last_before) + 1 : 0;
    head.last = __shfl_sync(all_lanes, word, before * 3);
    head.is_last = true;
    head.offset = __shfl_sync(all_lanes, word, before * 3 + 1);
    const std::uint32_t rest = __shfl_sync(all_lanes, word, before * 3 + 2);
    head.parameter = rest >> 16 & 0xff;
    head.frequency_bits = rest >> 24;
    const std::uint32_t next = __shfl_sync(all_lanes, word, before * 3 + 4);
    head.end = block + 1 < list.blocks ? next : list.data_bytes;
    return head;
}

// Gaps become ordinals. False when they leave the head's range.
__device__ __forceinline__ bool add_gaps(const Head &head, std::uint32_t count, std::uint32_t lane,
                                         std::uint32_t (&values)[a_lane]) {
    std::uint32_t here = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < a_lane; ++i) {
        here += lane * a_lane + i < count ? values[i] + 1 : 0;
        values[i] = here;
    }
    const std::uint32_t before =
        inclusive_sum(here, lane) - here + static_cast<std::uint32_t>(head.first) - 1;
#pragma unroll
    for (std::uint32_t i = 0; i < a_lane; ++i) {
        values[i] += before;
    }
    // A sum that left 32 bits is no higher than the one before.
    const std::uint32_t left = __shfl_up_sync(all_lanes, values[a_lane - 1], 1);
    bool ascends = lane == 0 ? values[0] >= head.first : values[0] > left || lane * a_lane >= count;
#pragma unroll
    for (std::uint32_t i = 1; i < a_lane; ++i) {
        ascends = ascends && (values[i] > values[i - 1] || lane * a_lane + i >= count);
    }
    // Behind the last posting, sums stay.
    const std::uint32_t last = __shfl_sync(all_lanes, values[a_lane - 1], 31);
    return __all_sync(all_lanes, ascends) && (head.is_last ? last == head.last : last <= head.last);
}

// Decodes a block of the list, which must have it; false when it contradicts itself. Without `Sums`, gaps
// stay what they are.
template <postings::Codec Codec, bool Sums = true>
__device__ __forceinline__ bool decode_block(const TextView &text, const ListView &list, std::uint32_t number,
                                             std::uint32_t lane, std::uint32_t *scratch, Block *block) {
    if (list.documents == 1) {
        block->count = 1;
        block->ordinals[0] = list.ordinal;
        return true;
    }
    const Head head = read_head(text, list, number, lane);
    const std::uint32_t count = min(list.documents - number * a_block, a_block);
    const std::uint64_t bytes = head.end - head.offset;
    const std::uint32_t frequency_bytes = packed_size(count, head.frequency_bits);
    if (head.end < head.offset || head.end > list.data_bytes || bytes > postings::kMostBlockBytes ||
        head.frequency_bits > 31 || frequency_bytes > bytes || head.last >= text.documents ||
        head.first > head.last) {
        return false;
    }
    const std::uint64_t byte = list.offset + head.offset;
    const Source source = {text.postings + byte / 4};
    const Rest gaps = {static_cast<std::uint32_t>(byte % 4),
                       static_cast<std::uint32_t>(bytes) - frequency_bytes};
    block->count = count;
    block->source = source;
    block->frequency_at = gaps.at + gaps.bytes;
    block->frequency_bits = head.frequency_bits;
    const std::uint32_t bits = head.parameter & ~postings::kPackedFlag;
    const bool flagged = (head.parameter & postings::kPackedFlag) != 0;
    constexpr bool bitpacks = Codec == postings::Codec::Bitpack;
    bool sound = bits <= 32 && !(flagged && bitpacks);
    if (!sound) {
        return false;
    }
    if (flagged || bitpacks) {
        sound = packed_size(count, bits) == gaps.bytes;
        if (sound) {
            unpack(source, gaps.at, bits, lane, block->ordinals);
        }
    } else if constexpr (Codec == postings::Codec::Rice) {
        sound = decode_rice(source, gaps, count, bits, lane, scratch, block->ordinals);
    } else if constexpr (Codec == postings::Codec::PForDelta) {
        Rest rest = gaps;
        sound =
            decode_frame<0>(source, &rest, count, bits, lane, scratch, block->ordinals) && rest.bytes == 0;
    }
    if constexpr (Sums) {
        sound = sound && add_gaps(head, count, lane, block->ordinals);
    }
    return sound;
}

// The frequencies of the lane's postings of a decoded block.
__device__ __forceinline__ void decode_frequencies(const ListView &list, const Block &block,
                                                   std::uint32_t lane, std::uint32_t (&values)[a_lane]) {
    if (list.documents == 1) {
        values[0] = list.frequency;
    } else {
        block.frequencies(lane, values);
    }
}

// The last ordinal of a block of a list of several, unchecked.
__device__ __forceinline__ std::uint32_t last_of_block(const TextView &text, const ListView &list,
                                                       std::uint32_t block) {
    const std::uint64_t byte =
        list.offset + list.data_bytes + std::uint64_t(block) * sizeof(postings::BlockHead);
    const std::uint32_t *words = text.postings + byte / 4;
    return __funnelshift_r(words[0], words[1], byte % 4 * 8);
}

// The first block from `low` on that reaches the ordinal, before `high`; `high` when there is none.
__device__ inline std::uint32_t find_block(const TextView &text, const ListView &list, std::uint32_t ordinal,
                                           std::uint32_t low, std::uint32_t high) {
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (last_of_block(text, list, middle) < ordinal) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// postings::contribution with the same bits.
__device__ __forceinline__ std::int64_t contribution(double weight, const postings::Norms &norms,
                                                     std::uint32_t length, std::uint32_t frequency) {
    const double norm = __dadd_rn(norms.base, __dmul_rn(norms.slope, static_cast<double>(length)));
    const double tf = static_cast<double>(frequency);
    const double part = __ddiv_rn(__dmul_rn(weight, tf), __dadd_rn(tf, norm));
    const auto units = static_cast<long long>(__dadd_rn(part, 0.5));
    return units < 1 ? 1 : units;
}

// Calls run(codec) with the index's codec as a type.
template <typename Run>
void with_codec(postings::Codec codec, Run run) {
    using postings::Codec;
    switch (codec) {
        case Codec::Bitpack:
            return run(std::integral_constant<Codec, Codec::Bitpack>());
        case Codec::PForDelta:
            return run(std::integral_constant<Codec, Codec::PForDelta>());
        case Codec::Rice:
            return run(std::integral_constant<Codec, Codec::Rice>());
    }
}

}  // namespace gpu_engine::device
