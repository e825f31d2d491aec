// Frames of PForDelta decoded by single lanes, each of them its own. A lane takes what lists are full of,
// exceptions nested to any depth, within these bounds: nested frames' low bits are 8 at most, frames of level
// 1 have up to 32 exceptions and those deeper up to 4. For all else, sound or not, it answers false.
//
// A lane's values lie in a column of shared memory, row i's in [i * 32 + lane].
#pragma once

#include "device/text/decode.cuh"

namespace gpu_engine::device {

inline constexpr std::uint32_t lane_value_bits = 8;
inline constexpr std::uint32_t lane_nested_exceptions = 32;
inline constexpr std::uint32_t lane_deep_exceptions = 4;

// A row's halfword has an exception's distance from the one before in its lower bits, its high bits in the
// upper.
inline constexpr std::uint32_t distance_bits = 7;
inline constexpr std::uint32_t max_distance = (1U << distance_bits) - 1;
inline constexpr std::uint32_t max_row_high = (1U << (16 - distance_bits)) - 1;

// A lane's bytes that are still to be read, counted from the source's first.
struct LaneBytes {
    std::uint32_t at;
    std::uint32_t end;
};

struct LaneFrame {
    std::uint32_t bits;
    std::uint32_t exceptions;
    std::uint32_t lows;  // low bits of the first four values or so, packed
};

// Takes a nested frame's head and low bits from the rest. Twelve bytes are read, wherever the frame ends.
__device__ __forceinline__ bool open_frame(const Source &source, LaneBytes *rest, std::uint32_t count,
                                           std::uint32_t max_exceptions, LaneFrame *frame) {
    const std::uint32_t *words = source.words + rest->at / 4;
    const std::uint32_t shift = rest->at % 4 * 8;
    const std::uint32_t low = __funnelshift_r(words[0], words[1], shift);
    const std::uint32_t high = __funnelshift_r(words[1], words[2], shift);
    *frame = {low & 0xff, low >> 8 & 0xff, low >> 16 | high << 16};
    rest->at += 2 + packed_size(count, frame->bits);
    return frame->bits <= lane_value_bits && rest->at <= rest->end &&
           frame->exceptions <= min(count, max_exceptions);
}

__device__ __forceinline__ std::uint32_t byte_of(std::uint32_t bytes, std::uint32_t i) {
    return bytes >> i * 8 & 0xff;
}

// Decodes a frame of level 3 or 4, up to four values, a byte each.
template <int Level>
__device__ __forceinline__ bool few_values(const Source &source, LaneBytes *rest, std::uint32_t count,
                                           std::uint32_t *values) {
    constexpr bool may_have_exceptions = Level < postings::kMaxNesting;
    LaneFrame frame;
    if (!open_frame(source, rest, count, may_have_exceptions ? lane_deep_exceptions : 0, &frame)) {
        return false;
    }
    const std::uint32_t mask = low_mask(frame.bits);
    std::uint32_t bytes = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i, frame.lows >>= frame.bits) {
        bytes |= (frame.lows & mask) << i * 8;
    }
    *values = bytes & low_mask(count * 8);
    if constexpr (may_have_exceptions) {
        if (frame.exceptions > 0) {
            std::uint32_t distances;
            std::uint32_t highs;
            if (!few_values<Level + 1>(source, rest, frame.exceptions, &distances) ||
                !few_values<Level + 1>(source, rest, frame.exceptions, &highs)) {
                return false;
            }
            std::uint32_t place = 0;
            for (std::uint32_t i = 0; i < frame.exceptions; ++i, ++place) {
                place += byte_of(distances, i);
                const std::uint32_t high = (byte_of(highs, i) + 1) << frame.bits;
                if (place >= count || high > 0xff) {
                    return false;
                }
                *values |= high << place * 8;
            }
        }
    }
    return true;
}

// A frame of level 1 or 2, a value a row: distances first, then high bits beside them. `rows` is the lane's
// first, as many as values and up to three more. At level 1 `scratch` has lane_nested_exceptions rows. *all
// gets the bits that any of the values has, and maybe more.
template <int Level>
__device__ __forceinline__ bool store_values(const Source &source, LaneBytes *rest, std::uint32_t count,
                                             bool high_bits, std::uint16_t *rows, std::uint16_t *scratch,
                                             std::uint32_t *all) {
    std::uint32_t at = (rest->at + 2) * 8;
    LaneFrame frame;
    if (!open_frame(source, rest, count, Level == 1 ? lane_nested_exceptions : lane_deep_exceptions,
                    &frame)) {
        return false;
    }
    const std::uint32_t shift = high_bits ? distance_bits : 0;
    const std::uint32_t kept = high_bits ? max_distance : 0;
    const std::uint32_t most = high_bits ? max_row_high : max_distance;
    const std::uint32_t mask = low_mask(frame.bits);
    for (std::uint32_t i = 0; i < count; i += 4, at += 4 * frame.bits) {
        std::uint32_t lows = source.bits(at);
#pragma unroll
        for (std::uint32_t j = 0; j < 4; ++j, lows >>= frame.bits) {
            std::uint16_t &row = rows[(i + j) * 32];
            row = static_cast<std::uint16_t>((row & kept) | (lows & mask) << shift);
        }
    }
    *all = mask;
    bool fits = mask <= most;
    if (frame.exceptions == 0) {
        return fits;
    }
    std::uint32_t distances = 0;
    std::uint32_t highs = 0;
#pragma unroll 1
    for (std::uint32_t part = 0; part < 2; ++part) {
        if constexpr (Level == 1) {
            std::uint32_t nested_all;
            fits = fits &&
                   store_values<2>(source, rest, frame.exceptions, part == 1, scratch, nullptr, &nested_all);
        } else {
            distances = highs;
            fits = fits && few_values<3>(source, rest, frame.exceptions, &highs);
        }
    }
    std::uint32_t place = 0;
    for (std::uint32_t i = 0; fits && i < frame.exceptions; ++i, ++place) {
        std::uint32_t high;
        if constexpr (Level == 1) {
            const std::uint32_t row = scratch[i * 32];
            place += row & max_distance;
            high = row >> distance_bits;
        } else {
            place += byte_of(distances, i);
            high = byte_of(highs, i);
        }
        high = (high + 1) << frame.bits;
        fits = place < count && high <= most;
        if (fits) {
            rows[place * 32] |= static_cast<std::uint16_t>(high << shift);
            *all |= high;
        }
    }
    return fits;
}

}  // namespace gpu_engine::device
