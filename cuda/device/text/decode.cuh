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

// Shared memory that a warp needs: a word for each of a block's values.
inline constexpr std::uint32_t scratch_words = a_block;
using WarpScratch = std::uint32_t[scratch_words];

// Bytes from a word's boundary on.
struct Source {
    const std::uint32_t *words;

    __device__ __forceinline__ std::uint32_t byte(std::uint32_t at) const {
        return words[at / 4] >> (at % 4 * 8) & 0xff;
    }
    // Returns 32 bits from any bit on.
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

// A part of a block's bytes that is still to be read.
struct Rest {
    std::uint32_t at;
    std::uint32_t bytes;
};

// ---- PForDelta -----------------------------------------------------------------------------------

// Exceptions' high bits go to their values, of which there are `count`. A lane has `PerLane` exceptions, as
// the distances of their places and their high bits. False when a place or value can't be.
template <std::uint32_t PerLane>
__device__ __forceinline__ bool place_exceptions(const std::uint32_t (&gaps)[PerLane],
                                                 const std::uint32_t (&highs)[PerLane],
                                                 std::uint32_t exceptions, std::uint32_t count,
                                                 std::uint32_t bits, std::uint32_t lane,
                                                 std::uint32_t *scratch, std::uint32_t (&values)[a_lane]) {
    bool fits = true;
    std::uint32_t here = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < PerLane; ++i) {
        if (lane * PerLane + i < exceptions) {
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
    for (std::uint32_t i = 0; i < PerLane; ++i) {
        if (lane * PerLane + i < exceptions) {
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

// Any frame, for what is rare: frames that wait for their exceptions' places and high bits lie on a stack.
static __device__ __noinline__ bool decode_any_frame(Source source, Rest rest, std::uint32_t count,
                                                     std::uint32_t bits, std::uint32_t lane,
                                                     std::uint32_t *scratch, uint4 *decoded) {
    std::uint32_t values[a_lane];
    struct Waiting {
        std::uint32_t low[a_lane];
        std::uint32_t gaps[a_lane];
        std::uint32_t count;
        std::uint32_t bits;
        bool has_gaps;
    };
    Waiting stack[postings::kMaxNesting];
    int depth = 0;
    for (;;) {
        const std::uint32_t used = 1 + packed_size(count, bits);
        if (bits > 32 || rest.bytes < used) {
            return false;
        }
        const std::uint32_t exceptions = source.byte(rest.at);
        unpack(source, rest.at + 1, bits, lane, values);
        rest.at += used;
        rest.bytes -= used;
        if (exceptions > 0) {
            if (exceptions > count || bits == 32 || depth == postings::kMaxNesting) {
                return false;
            }
            Waiting &frame = stack[depth++];
            for (std::uint32_t i = 0; i < a_lane; ++i) {
                frame.low[i] = values[i];
            }
            frame.count = count;
            frame.bits = bits;
            frame.has_gaps = false;
            count = exceptions;
        } else {
            while (depth > 0 && stack[depth - 1].has_gaps) {
                const Waiting &frame = stack[--depth];
                std::uint32_t whole[a_lane];
                for (std::uint32_t i = 0; i < a_lane; ++i) {
                    whole[i] = frame.low[i];
                }
                if (!place_exceptions<a_lane>(frame.gaps, values, count, frame.count, frame.bits, lane,
                                              scratch, whole)) {
                    return false;
                }
                for (std::uint32_t i = 0; i < a_lane; ++i) {
                    values[i] = whole[i];
                }
                count = frame.count;
            }
            if (depth == 0) {
                *decoded = uint4{values[0], values[1], values[2], values[3]};
                return rest.bytes == 0;
            }
            Waiting &frame = stack[depth - 1];
            for (std::uint32_t i = 0; i < a_lane; ++i) {
                frame.gaps[i] = values[i];
            }
            frame.has_gaps = true;
        }
        // Nested frames have their b in front.
        if (rest.bytes == 0) {
            return false;
        }
        bits = source.byte(rest.at);
        rest.at += 1;
        rest.bytes -= 1;
    }
}

// Decodes a nested frame of up to 32 values, one a lane, at any level: its parts are decoded one after the
// other. Returns false when they contradict themselves.
template <int Level>
__device__ __forceinline__ bool decode_nested_frame(const Source &source, Rest *rest, std::uint32_t count,
                                                    std::uint32_t lane, std::uint32_t *value) {
    constexpr bool may_have_exceptions = Level < postings::kMaxNesting;
    const std::uint32_t head = source.bits(rest->at * 8);
    const std::uint32_t bits = head & 0xff;
    const std::uint32_t exceptions = head >> 8 & 0xff;
    const std::uint32_t used = 2 + packed_size(count, bits);
    if (bits > 31 || rest->bytes < used || exceptions > (may_have_exceptions ? count : 0)) {
        return false;
    }
    *value = source.bits((rest->at + 2) * 8 + min(lane, count - 1) * bits) & low_mask(bits);
    rest->at += used;
    rest->bytes -= used;
    if constexpr (may_have_exceptions) {
        if (exceptions > 0) {
            std::uint32_t gap = 0;
            std::uint32_t high = 0;
            // A loop, since levels within levels would fill the instruction cache.
#pragma unroll 1
            for (std::uint32_t part = 0; part < 2; ++part) {
                gap = high;
                if (!decode_nested_frame<Level + 1>(source, rest, exceptions, lane, &high)) {
                    return false;
                }
            }
            bool fits = gap < count && high < UINT32_MAX >> bits;
            std::uint32_t place = 0;
            for (std::uint32_t i = 0; i < exceptions; ++i, ++place) {
                place += __shfl_sync(all_lanes, gap, i);
                const std::uint32_t upper = (__shfl_sync(all_lanes, high, i) + 1) << bits;
                *value |= lane == place ? upper : 0;
                fits = fits && place < count;
            }
            return __all_sync(all_lanes, fits);
        }
    }
    return true;
}

// Decodes two nested frames of up to 32 values each, exceptions' places and high bits, and puts them into the
// values.
template <int Level>
__device__ __forceinline__ bool add_exceptions(const Source &source, Rest *rest, std::uint32_t exceptions,
                                               std::uint32_t count, std::uint32_t bits, std::uint32_t lane,
                                               std::uint32_t *scratch, std::uint32_t (&values)[a_lane]) {
    std::uint32_t gap[1];
    std::uint32_t high[1] = {};
#pragma unroll 1
    for (std::uint32_t part = 0; part < 2; ++part) {
        gap[0] = high[0];
        if (!decode_nested_frame<Level>(source, rest, exceptions, lane, &high[0])) {
            return false;
        }
    }
    return place_exceptions<1>(gap, high, exceptions, count, bits, lane, scratch, values);
}

// Decodes a frame of level 1 of more than 32 values, four a lane, of which up to 32 are exceptions. Returns
// false for all else, valid or not.
__device__ __forceinline__ bool decode_wide_frame(const Source &source, Rest *rest, std::uint32_t count,
                                                  std::uint32_t lane, std::uint32_t *scratch,
                                                  std::uint32_t (&values)[a_lane]) {
    const std::uint32_t head = source.bits(rest->at * 8);
    const std::uint32_t bits = head & 0xff;
    const std::uint32_t exceptions = head >> 8 & 0xff;
    const std::uint32_t used = 2 + packed_size(count, bits);
    if (bits > 31 || rest->bytes < used || exceptions > 32) {
        return false;
    }
    unpack(source, rest->at + 2, bits, lane * a_lane < count ? lane : 0, values);
    rest->at += used;
    rest->bytes -= used;
    return exceptions == 0 || add_exceptions<2>(source, rest, exceptions, count, bits, lane, scratch, values);
}

// A block's frame when it isn't beyond decode_wide_frame: nearly all. False for all else, sound or not.
__device__ __forceinline__ bool decode_usual_frame(const Source &source, const Rest &gaps,
                                                   std::uint32_t count, std::uint32_t bits,
                                                   std::uint32_t lane, std::uint32_t *scratch,
                                                   std::uint32_t (&values)[a_lane]) {
    const std::uint32_t used = 1 + packed_size(count, bits);
    if (gaps.bytes > postings::kMaxGapBytes || gaps.bytes < used || bits > 31) {
        return false;
    }
    // A part's place is known only from the one before, so that all lines are fetched at once beforehand.
    const std::uint32_t words = (gaps.at + gaps.bytes + 3) / 4;
    if (lane * 8 < words) {
        asm volatile("prefetch.global.L1 [%0];" ::"l"(source.words + lane * 8));
    }
    const std::uint32_t exceptions = source.byte(gaps.at);
    unpack(source, gaps.at + 1, bits, lane * a_lane < count ? lane : 0, values);
    if (exceptions == 0) {
        return gaps.bytes == used;
    }
    if (exceptions > count) {
        return false;
    }
    Rest rest = {gaps.at + used, gaps.bytes - used};
    if (exceptions <= 32) {
        return add_exceptions<1>(source, &rest, exceptions, count, bits, lane, scratch, values) &&
               rest.bytes == 0;
    }
    std::uint32_t gap[a_lane];
    std::uint32_t high[a_lane] = {};
#pragma unroll 1
    for (std::uint32_t part = 0; part < 2; ++part) {
#pragma unroll
        for (std::uint32_t i = 0; i < a_lane; ++i) {
            gap[i] = high[i];
        }
        if (!decode_wide_frame(source, &rest, exceptions, lane, scratch, high)) {
            return false;
        }
    }
    return rest.bytes == 0 &&
           place_exceptions<a_lane>(gap, high, exceptions, count, bits, lane, scratch, values);
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
    bool valid = ones >= count && scratch[count - 1] / 8 + 1 == unary;
    const std::uint32_t most = k < 32 ? UINT32_MAX >> k : 0;
    std::uint32_t next = lane == 0 ? 0 : scratch[lane * a_lane - 1] + 1;
#pragma unroll
    for (std::uint32_t i = 0; i < a_lane; ++i) {
        if (lane * a_lane + i < count) {
            const std::uint32_t quotient = scratch[lane * a_lane + i] - next;
            next += quotient + 1;
            valid = valid && quotient <= most;
            values[i] |= k < 32 ? quotient << k : 0;
        }
    }
    __syncwarp();
    return __all_sync(all_lanes, valid);
}

// ---- Blocks --------------------------------------------------------------------------------------

// A block as its warp knows it; the same in all lanes but for the ordinals.
struct Block {
    std::uint32_t ordinals[a_lane];  // ordinals of the lane's postings, as far as they are below `count`
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
    std::uint32_t first;  // the least ordinal that the block's first posting can have
    std::uint32_t last;   // the highest that its last one can have
    std::uint32_t offset;
    std::uint32_t bytes;
    std::uint32_t coding;  // the parameter, the frequencies' width, flags and the postings, a byte each

    static constexpr std::uint32_t is_last = 1 << 16;  // the last posting has `last`
    // All has been checked that can be checked without the bytes.
    static constexpr std::uint32_t is_valid = 1 << 17;

    __device__ __forceinline__ std::uint32_t parameter() const { return coding & 0xff; }
    __device__ __forceinline__ std::uint32_t frequency_bits() const { return coding >> 8 & 0xff; }
    __device__ __forceinline__ std::uint32_t count() const { return coding >> 24; }

    // Returns the head that a lane has read.
    __device__ __forceinline__ Head of_lane(std::uint32_t lane) const {
        return {__shfl_sync(all_lanes, first, lane), __shfl_sync(all_lanes, last, lane),
                __shfl_sync(all_lanes, offset, lane), __shfl_sync(all_lanes, bytes, lane),
                __shfl_sync(all_lanes, coding, lane)};
    }
};

__device__ __forceinline__ Head make_head(const TextView &text, const ListView &list, std::uint32_t number,
                                          std::uint64_t first, std::uint32_t last, std::uint32_t offset,
                                          std::uint64_t end, std::uint32_t coding) {
    const std::uint32_t frequency_bits = coding >> 8 & 0xff;
    const std::uint32_t count = min(list.documents - number * a_block, a_block);
    const bool valid = end >= offset && end <= list.data_bytes && end - offset <= postings::kMaxBlockBytes &&
                       frequency_bits <= 31 && packed_size(count, frequency_bits) <= end - offset &&
                       last < text.documents && first <= last;
    return {static_cast<std::uint32_t>(first), last, offset, static_cast<std::uint32_t>(end - offset),
            coding | (valid ? Head::is_valid : 0) | count << 24};
}

// Reads the head of a list of one block: its two bytes lie before the block.
__device__ __forceinline__ Head read_only_head(const TextView &text, const ListView &list) {
    const Source source = {text.postings + list.offset / 4};
    const std::uint32_t coding = source.bits(list.offset % 4 * 8) & 0xffff;
    return make_head(text, list, 0, 0, text.documents - 1, short_list_head, list.data_bytes, coding);
}

// Reads a block's head and what it needs of its neighbours', 12 bytes each, in one access of the warp.
__device__ __forceinline__ Head read_head(const TextView &text, const ListView &list, std::uint32_t number,
                                          std::uint32_t lane) {
    if (list.blocks == 1) {
        return read_only_head(text, list);
    }
    const std::uint32_t before = number > 0 ? 1 : 0;
    const std::uint64_t byte =
        list.offset + list.data_bytes + std::uint64_t(number - before) * sizeof(postings::BlockHead);
    std::uint32_t word = lane < 10 ? text.postings[byte / 4 + lane] : 0;
    word = __funnelshift_r(word, __shfl_down_sync(all_lanes, word, 1), byte % 4 * 8);
    const std::uint32_t last_before = __shfl_sync(all_lanes, word, 0);
    const std::uint32_t last = __shfl_sync(all_lanes, word, before * 3);
    const std::uint32_t offset = __shfl_sync(all_lanes, word, before * 3 + 1);
    const std::uint32_t coding = __shfl_sync(all_lanes, word, before * 3 + 2) >> 16;
    const std::uint32_t next = __shfl_sync(all_lanes, word, before * 3 + 4);
    return make_head(text, list, number, number > 0 ? std::uint64_t(last_before) + 1 : 0, last, offset,
                     number + 1 < list.blocks ? next : list.data_bytes, coding | Head::is_last);
}

// Does the same by a single lane.
__device__ __forceinline__ Head read_own_head(const TextView &text, const ListView &list,
                                              std::uint32_t number) {
    if (list.blocks == 1) {
        return read_only_head(text, list);
    }
    const std::uint64_t byte =
        list.offset + list.data_bytes + std::uint64_t(number) * sizeof(postings::BlockHead);
    const std::uint32_t *words = text.postings + byte / 4;
    const std::uint32_t shift = byte % 4 * 8;
    const auto word = [&](int i) { return __funnelshift_r(words[i], words[i + 1], shift); };
    return make_head(text, list, number, number > 0 ? std::uint64_t(word(-3)) + 1 : 0, word(0), word(1),
                     number + 1 < list.blocks ? word(4) : list.data_bytes, word(2) >> 16 | Head::is_last);
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
    const std::uint32_t before = inclusive_sum(here, lane) - here + head.first - 1;
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
    return __all_sync(all_lanes, ascends) &&
           ((head.coding & Head::is_last) != 0 ? last == head.last : last <= head.last);
}

// Decodes a block of the list, which must have it and be of several postings; false when it contradicts
// itself. Without `Sums`, gaps stay what they are.
template <postings::Codec Codec, bool Sums = true>
__device__ __forceinline__ bool decode_block(const TextView &text, const ListView &list, const Head &head,
                                             std::uint32_t lane, std::uint32_t *scratch, Block *block) {
    if ((head.coding & Head::is_valid) == 0) {
        return false;
    }
    const std::uint32_t count = head.count();
    const std::uint64_t byte = list.offset + head.offset;
    const Source source = {text.postings + byte / 4};
    const Rest gaps = {static_cast<std::uint32_t>(byte % 4),
                       head.bytes - packed_size(count, head.frequency_bits())};
    block->count = count;
    block->source = source;
    block->frequency_at = gaps.at + gaps.bytes;
    block->frequency_bits = head.frequency_bits();
    const std::uint32_t bits = head.parameter() & ~postings::kPackedFlag;
    const bool flagged = (head.parameter() & postings::kPackedFlag) != 0;
    constexpr bool bitpacks = Codec == postings::Codec::Bitpack;
    bool valid = bits <= 32 && !(flagged && bitpacks);
    if (!valid) {
        return false;
    }
    if (flagged || bitpacks) {
        valid = packed_size(count, bits) == gaps.bytes;
        if (valid) {
            unpack(source, gaps.at, bits, lane, block->ordinals);
        }
    } else if constexpr (Codec == postings::Codec::Rice) {
        valid = decode_rice(source, gaps, count, bits, lane, scratch, block->ordinals);
    } else if constexpr (Codec == postings::Codec::PForDelta) {
        if (!decode_usual_frame(source, gaps, count, bits, lane, scratch, block->ordinals)) {
            uint4 decoded = {};
            valid = decode_any_frame(source, gaps, count, bits, lane, scratch, &decoded);
            block->ordinals[0] = decoded.x;
            block->ordinals[1] = decoded.y;
            block->ordinals[2] = decoded.z;
            block->ordinals[3] = decoded.w;
        }
    }
    if constexpr (Sums) {
        valid = valid && add_gaps(head, count, lane, block->ordinals);
    }
    return valid;
}

// Decodes any block of any list, from its head on.
template <postings::Codec Codec, bool Sums = true>
__device__ __forceinline__ bool decode_block(const TextView &text, const ListView &list, std::uint32_t number,
                                             std::uint32_t lane, std::uint32_t *scratch, Block *block) {
    if (list.documents == 1) {
        block->count = 1;
        block->ordinals[0] = list.ordinal;
        return true;
    }
    return decode_block<Codec, Sums>(text, list, read_head(text, list, number, lane), lane, scratch, block);
}

// Decodes the frequencies of the lane's postings of a decoded block.
__device__ __forceinline__ void decode_frequencies(const ListView &list, const Block &block,
                                                   std::uint32_t lane, std::uint32_t (&values)[a_lane]) {
    if (list.documents == 1) {
        values[0] = list.frequency;
    } else {
        block.frequencies(lane, values);
    }
}

// Returns the last ordinal of a block of a list of several, unchecked.
__device__ __forceinline__ std::uint32_t last_of_block(const TextView &text, const ListView &list,
                                                       std::uint32_t block) {
    const std::uint64_t byte =
        list.offset + list.data_bytes + std::uint64_t(block) * sizeof(postings::BlockHead);
    const std::uint32_t *words = text.postings + byte / 4;
    return __funnelshift_r(words[0], words[1], byte % 4 * 8);
}

// Returns the first block from `low` on that reaches the ordinal, before `high`; `high` when there is none.
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

// Computes postings::contribution with the same bits.
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
