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

struct PowersOfTen {
    UInt128 power[39];
};
GPU_ENGINE_BOTH constexpr PowersOfTen powers_of_ten() {
    PowersOfTen powers = {};
    powers.power[0] = 1;
    for (int i = 1; i < 39; ++i) {
        powers.power[i] = powers.power[i - 1] * 10;
    }
    return powers;
}
// 10^exponent, for exponents from 0 to 38.
GPU_ENGINE_BOTH UInt128 power_of_ten(std::int32_t exponent) {
    static constexpr PowersOfTen powers = powers_of_ten();
    return powers.power[exponent];
}

// How many decimal digits a number has that isn't 0. Of a number of so many bits, 1233 / 4096 being the
// logarithm of 2 to the base 10, they are as many as the power of ten says or one more.
GPU_ENGINE_BOTH std::int32_t count_digits(UInt128 value) {
    const std::int32_t digits = (128 - leading_zeros(value)) * 1233 >> 12;
    return digits + (value >= power_of_ten(digits) ? 1 : 0);
}

// A quotient cut to an integer. Division of 64 bits is much the faster one, and most numbers have no more.
GPU_ENGINE_BOTH UInt128 divide_unsigned(UInt128 left, UInt128 right) {
    if ((left | right) >> 64 == 0) {
        return static_cast<std::uint64_t>(left) / static_cast<std::uint64_t>(right);
    }
    return left / right;
}

// Multiplies by 10^places; returns false where there is no room.
GPU_ENGINE_BOTH bool shift_decimal(UInt128 *value, std::int32_t places) {
    constexpr std::int32_t max_digits = 38;
    if (places <= 0 || *value == 0) {
        return true;
    }
    // A product of 39 digits may have room or not.
    const std::int32_t digits = count_digits(*value) + places;
    if (digits > max_digits + 1 || (digits > max_digits && *value > ~UInt128(0) / power_of_ten(places))) {
        return false;
    }
    *value *= power_of_ten(places);
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
    const std::int32_t highest = count_digits(value) - 1 - scale;
    const std::int32_t weight = (highest + 4 * 256) / 4 - 256;
    const std::int32_t lowest = weight * 4 + scale;
    value = lowest > 0 ? divide_unsigned(value, power_of_ten(lowest)) : value * power_of_ten(-lowest);
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
    constexpr std::int32_t max_digits = 38;
    if (places < 0 && !shift_decimal(&right, -places)) {
        return false;
    }
    *quotient = divide_unsigned(left, right);
    UInt128 rest = left - *quotient * right;
    // A remainder is less than its divisor: so many of its digits are found together that there is room.
    const std::int32_t digits_of_right = count_digits(right);
    const std::int32_t room = digits_of_right < max_digits ? max_digits - digits_of_right : 1;
    if (places > 0 && right > ~UInt128(0) / 10) {
        return false;
    }
    while (places > 0) {
        const std::int32_t some = places < room ? places : room;
        if (!shift_decimal(quotient, some)) {
            return false;
        }
        rest *= power_of_ten(some);
        const UInt128 digits = divide_unsigned(rest, right);
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
