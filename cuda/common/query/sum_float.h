// Exact sums of floats: integers of some words, two's complement, in units of 2^base. All values of one sum
// have a place there, so that it doesn't matter in which order they come, and the result is rounded once.
#pragma once

#include "common/query/numbers.h"

namespace gpu_engine::query {

// What a sum's words mean. Words enough for any sum: 2^-1074 to 2^1024, and 2^64 of these.
struct SumScale {
    std::int32_t base;
    std::uint32_t words;
};
constexpr std::int32_t least_exponent = -1074;
constexpr std::uint32_t max_sum_words = 34;

// Values that aren't numbers, as bits of a sum's word of flags.
constexpr std::uint64_t sum_has_nan = 1;
constexpr std::uint64_t sum_has_infinity = 2;
constexpr std::uint64_t sum_has_minus_infinity = 4;
GPU_ENGINE_BOTH std::uint64_t sum_flags(double value) {
    return is_nan(value)         ? sum_has_nan
           : !is_infinite(value) ? 0
           : value > 0           ? sum_has_infinity
                                 : sum_has_minus_infinity;
}

// A finite value is mantissa * 2^exponent; the mantissa has 53 bits.
struct FloatParts {
    std::int64_t mantissa;
    std::int32_t exponent;
};
GPU_ENGINE_BOTH FloatParts split_float(double value) {
    const std::uint64_t bits = bits_of_float(value);
    const auto exponent = static_cast<std::int32_t>(bits >> 52 & 0x7ff);
    auto mantissa = static_cast<std::int64_t>(bits & 0xfffffffffffff);
    mantissa |= exponent != 0 ? std::int64_t(1) << 52 : 0;
    return {(bits >> 63) != 0 ? -mantissa : mantissa, (exponent != 0 ? exponent : 1) + least_exponent - 1};
}

// The exponents between which the bits of some values lie: low <= high, unless there is none but 0.
struct FloatSpan {
    std::int32_t low;
    std::int32_t high;  // all are less than 2^high
};
constexpr FloatSpan no_span = {INT32_MAX, INT32_MIN};
GPU_ENGINE_BOTH void widen_span(FloatSpan *span, double value) {
    if (value == 0 || sum_flags(value) != 0) {
        return;
    }
    const FloatParts parts = split_float(value);
    const std::uint64_t size = magnitude(parts.mantissa);
#ifdef __CUDA_ARCH__
    const int low = parts.exponent + __ffsll(static_cast<long long>(size)) - 1;
#else
    const int low = parts.exponent + __builtin_ctzll(size);
#endif
    const int high = parts.exponent + 64 - leading_zeros(size);
    span->low = low < span->low ? low : span->low;
    span->high = high > span->high ? high : span->high;
}
// The scale of sums of `count` such values.
GPU_ENGINE_BOTH SumScale scale_of_span(const FloatSpan &span, std::uint64_t count) {
    if (span.low > span.high) {
        return {0, 1};
    }
    const int bits = span.high - span.low + 64 - leading_zeros(count) + 1;
    return {span.low, static_cast<std::uint32_t>(bits + 63) / 64};
}

// Adds a value that has a place in the sum.
GPU_ENGINE_BOTH void add_parts(std::uint64_t *sum, const SumScale &scale, const FloatParts &parts) {
    if (parts.mantissa == 0) {
        return;
    }
    // Bits below the base are 0, as the value has a place.
    const int places = parts.exponent - scale.base;
    const std::uint64_t size = places < 0 ? magnitude(parts.mantissa) >> -places : magnitude(parts.mantissa);
    std::uint32_t i = places < 0 ? 0 : static_cast<std::uint32_t>(places) / 64;
    const UInt128 shifted = static_cast<UInt128>(size) << (places < 0 ? 0 : places % 64);
    // The sum's words below and above, if it has both; what is carried from them hardly goes far.
    const UInt128 own = sum[i] | (i + 1 < scale.words ? static_cast<UInt128>(sum[i + 1]) << 64 : 0);
    const bool is_negative = parts.mantissa < 0;
    const UInt128 joined = is_negative ? own - shifted : own + shifted;
    bool is_carried = is_negative ? own < shifted : joined < own;
    sum[i] = static_cast<std::uint64_t>(joined);
    if (++i < scale.words) {
        sum[i] = static_cast<std::uint64_t>(joined >> 64);
    }
    while (is_carried && ++i < scale.words) {
        sum[i] += is_negative ? UINT64_MAX : 1;
        is_carried = sum[i] == (is_negative ? UINT64_MAX : 0);
    }
}
GPU_ENGINE_BOTH void add_float(std::uint64_t *sum, const SumScale &scale, double value) {
    add_parts(sum, scale, split_float(value));
}
// Adds it so many times.
GPU_ENGINE_BOTH void add_float_times(std::uint64_t *sum, const SumScale &scale, double value,
                                     std::uint32_t times) {
    FloatParts parts = split_float(value);
    for (; times != 0; times >>= 1, ++parts.exponent) {
        if ((times & 1) != 0) {
            add_parts(sum, scale, parts);
        }
    }
}
// Adds another sum of the same scale.
GPU_ENGINE_BOTH void add_sum(std::uint64_t *sum, const std::uint64_t *other, std::uint32_t words) {
    std::uint64_t carry = 0;
    for (std::uint32_t i = 0; i < words; ++i) {
        const UInt128 added = static_cast<UInt128>(sum[i]) + other[i] + carry;
        sum[i] = static_cast<std::uint64_t>(added);
        carry = static_cast<std::uint64_t>(added >> 64);
    }
}

// The float that is nearest to a sum, whose words it changes. Returns false where that is no finite number
// although all values were.
GPU_ENGINE_BOTH bool round_sum(std::uint64_t *sum, const SumScale &scale, std::uint64_t flags,
                               double *result) {
    if (flags != 0) {
        const bool is_nan_there =
            (flags & sum_has_nan) != 0 || flags == (sum_has_infinity | sum_has_minus_infinity);
        *result = float_of_bits(is_nan_there                ? 0x7ff8000000000000
                                : flags == sum_has_infinity ? 0x7ff0000000000000
                                                            : 0xfff0000000000000);
        return true;
    }
    const bool is_negative = (sum[scale.words - 1] >> 63) != 0;
    std::uint64_t carry = 1;
    std::int32_t top = -1;
    for (std::uint32_t i = 0; i < scale.words; ++i) {
        if (is_negative) {
            sum[i] = ~sum[i] + carry;
            carry = carry != 0 && sum[i] == 0 ? 1 : 0;
        }
        top = sum[i] != 0 ? static_cast<std::int32_t>(i) : top;
    }
    *result = 0;
    if (top < 0) {
        return true;
    }
    // The place of the highest bit, and that of the lowest one that the result has.
    const std::int32_t highest = top * 64 + 63 - leading_zeros(sum[top]);
    std::int32_t lowest = highest - 52;
    lowest = lowest + scale.base < least_exponent ? least_exponent - scale.base : lowest;
    std::uint64_t mantissa = 0;
    bool is_up = false;
    if (lowest <= 0) {
        mantissa = sum[0] << -lowest;
    } else {
        const std::int32_t word = lowest / 64;
        const std::int32_t shift = lowest % 64;
        mantissa = sum[word] >> shift;
        if (shift > 0 && word < top) {
            mantissa |= sum[word + 1] << (64 - shift);
        }
        const std::int32_t half = lowest - 1;
        bool is_more = (sum[half / 64] & ((std::uint64_t(1) << (half % 64)) - 1)) != 0;
        for (std::int32_t i = 0; i < half / 64; ++i) {
            is_more |= sum[i] != 0;
        }
        is_up = (sum[half / 64] >> (half % 64) & 1) != 0 && (is_more || (mantissa & 1) != 0);
    }
    mantissa += is_up ? 1 : 0;
    // A carry out of the mantissa raises the exponent, as it should.
    const std::int32_t exponent = lowest + scale.base;
    const bool is_normal = mantissa >> 52 != 0;
    const std::int32_t biased = is_normal ? exponent - least_exponent + 1 : 0;
    const std::uint64_t bits =
        mantissa + (static_cast<std::uint64_t>(biased) << 52) - (is_normal ? std::uint64_t(1) << 52 : 0);
    *result = float_of_bits(bits | (is_negative ? std::uint64_t(1) << 63 : 0));
    return bits < 0x7ff0000000000000;
}

// The same of what is left of a sum when so many such floats have been taken from it.
GPU_ENGINE_BOTH bool round_sum_part(std::uint64_t *sum, const SumScale &scale, std::uint64_t flags,
                                    std::uint32_t part, double *result) {
    if (flags != 0 && part > 0) {
        *result = 0;
        return true;
    }
    bool is_negated = false;
    for (;; --part) {
        if (!round_sum(sum, scale, flags, result)) {
            return false;
        }
        const bool is_negative = (bits_of_float(*result) >> 63) != 0;
        if (part == 0) {
            *result = is_negated ? -*result : *result;
            return true;
        }
        // Rounding has left the absolute value.
        is_negated ^= is_negative;
        add_float(sum, scale, is_negative ? *result : -*result);
    }
}

}  // namespace gpu_engine::query
