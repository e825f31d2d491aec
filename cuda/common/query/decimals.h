// Quotients of decimals, digit by digit those of PostgreSQL's numeric.c. A decimal is an integer and a scale:
// how many of its digits are behind the point.
#pragma once

#include "common/query/numbers.h"

namespace gpu_engine::query {

// Step::detail of quotients.
struct QuotientScales {
    std::int32_t left;
    std::int32_t right;
    std::int32_t result;
};
GPU_ENGINE_BOTH QuotientScales quotient_scales(std::uint32_t detail) {
    return {static_cast<std::int32_t>(detail & 0xff), static_cast<std::int32_t>(detail >> 8 & 0xff),
            static_cast<std::int32_t>(detail >> 16)};
}

// Multiplies by 10^places; returns false where there is no room.
GPU_ENGINE_BOTH bool shift_decimal(UInt128 *value, std::int32_t places) {
    constexpr UInt128 room = ~UInt128(0) / 10;
    for (; places > 0 && *value != 0; --places) {
        if (*value > room) {
            return false;
        }
        *value *= 10;
    }
    return true;
}

// The highest digit of a number to the base 10000, as numeric.c has it.
struct FirstDigit {
    std::int32_t weight;
    std::int32_t digit;
};
GPU_ENGINE_BOTH FirstDigit first_digit(UInt128 value, std::int32_t scale) {
    if (value == 0) {
        return {0, 0};
    }
    // The place of its highest digit to the base 10, and of the lowest one of those four that belong
    // together.
    std::int32_t digits = 0;
    for (UInt128 rest = value; rest != 0; rest /= 10) {
        ++digits;
    }
    const std::int32_t highest = digits - 1 - scale;
    const std::int32_t weight = (highest + 4 * 256) / 4 - 256;
    const std::int32_t lowest = weight * 4 + scale;
    for (std::int32_t i = 0; i < lowest; ++i) {
        value /= 10;
    }
    for (std::int32_t i = lowest; i < 0; ++i) {
        value *= 10;
    }
    return {weight, static_cast<std::int32_t>(value)};
}

// How many digits select_div_scale gives a quotient, apart from the display scales of its operands.
struct QuotientDigits : OfTwo<Int128> {
    using Result = std::int64_t;
    GPU_ENGINE_BOTH static bool call(const StepContext &context, Int128 left, Int128 right,
                                     std::int64_t *result) {
        constexpr std::int32_t significant = 16;
        constexpr std::int32_t most = 1000;
        *result = 0;
        if (right == 0) {
            return false;
        }
        const QuotientScales scales = quotient_scales(context.detail);
        const FirstDigit one = first_digit(magnitude(left), scales.left);
        const FirstDigit other = first_digit(magnitude(right), scales.right);
        const std::int32_t weight = one.weight - other.weight - (one.digit <= other.digit ? 1 : 0);
        const std::int32_t digits = significant - weight * 4;
        *result = digits < 0 ? 0 : digits > most ? most : digits;
        return true;
    }
};

// Divides by long division, `places` digits further than the integers go; halves are rounded up. Returns
// false where there is no room.
GPU_ENGINE_BOTH bool divide_decimals(UInt128 left, UInt128 right, std::int32_t places, UInt128 *quotient) {
    if (places < 0 && !shift_decimal(&right, -places)) {
        return false;
    }
    UInt128 rest = left % right;
    *quotient = left / right;
    const UInt128 room = ~UInt128(0) / right;
    while (places > 0) {
        // As many digits as a word has room for are found together.
        UInt128 power = 1;
        std::int32_t some = 0;
        for (; some < places && power <= room / 10; ++some) {
            power *= 10;
        }
        if (some == 0 || !shift_decimal(quotient, some)) {
            return false;
        }
        rest *= power;
        const UInt128 digits = rest / right;
        rest -= digits * right;
        if (*quotient > ~UInt128(0) - digits) {
            return false;
        }
        *quotient += digits;
        places -= some;
    }
    *quotient += rest >= right - rest ? 1 : 0;
    return *quotient >> 127 == 0;
}
struct Quotient : OfTwo<Int128> {
    using Third = std::int64_t;
    static constexpr int operands = 3;
    GPU_ENGINE_BOTH static bool call(const StepContext &context, Int128 left, Int128 right,
                                     std::int64_t digits, Int128 *result) {
        *result = 0;
        const QuotientScales scales = quotient_scales(context.detail);
        if (right == 0 || digits < 0 || digits > scales.result) {
            return false;
        }
        const auto shown = static_cast<std::int32_t>(digits);
        UInt128 quotient;
        if (!divide_decimals(magnitude(left), magnitude(right), scales.right - scales.left + shown,
                             &quotient) ||
            !shift_decimal(&quotient, scales.result - shown) || quotient >> 127 != 0) {
            return false;
        }
        *result = static_cast<Int128>((left < 0) != (right < 0) ? 0 - quotient : quotient);
        return true;
    }
};

}  // namespace gpu_engine::query
