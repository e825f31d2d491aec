// Floats as PostgreSQL's numerics have them: what printf writes of some significant digits.
#pragma once

#include "common/query/decimals.h"
#include "common/query/sum_float.h"

namespace gpu_engine::query {

// Step::detail of float_to_decimal and float_scale.
struct FloatDecimal {
    std::int32_t scale;
    std::int32_t significant;
    std::int32_t precision;
    bool is_exact;  // the decimal isn't rounded again
};
GPU_ENGINE_BOTH FloatDecimal float_decimal(std::uint32_t detail) {
    return {static_cast<std::int32_t>(detail & 0xff), static_cast<std::int32_t>(detail >> 8 & 0xff),
            static_cast<std::int32_t>(detail >> 16 & 0xff), (detail >> 24 & 1) != 0};
}

// 5^exponent, which has room.
GPU_ENGINE_BOTH UInt128 power_of_five(std::int32_t exponent) {
    UInt128 power = 1;
    for (UInt128 square = 5; exponent > 0; exponent >>= 1) {
        power *= (exponent & 1) != 0 ? square : 1;
        square = exponent > 1 ? square * square : square;
    }
    return power;
}

// The quotient, with halves rounded to the even one.
GPU_ENGINE_BOTH UInt128 divide_to_even(UInt128 dividend, UInt128 divisor) {
    const UInt128 quotient = dividend / divisor;
    const UInt128 rest = dividend - quotient * divisor;
    const UInt128 other = divisor - rest;
    return quotient + (rest > other || (rest == other && (quotient & 1) != 0) ? 1 : 0);
}

// The float of an absolute value, times 10^places, rounded to an integer that has room.
GPU_ENGINE_BOTH std::uint64_t scale_float(const FloatParts &parts, std::int32_t places) {
    UInt128 number = magnitude(parts.mantissa);
    const std::int32_t shift = parts.exponent + places;
    if (places < 0) {
        const UInt128 divisor = power_of_five(-places);
        return static_cast<std::uint64_t>(shift >= 0 ? divide_to_even(number << shift, divisor)
                                                     : divide_to_even(number, divisor << -shift));
    }
    number *= power_of_five(places);
    return static_cast<std::uint64_t>(shift >= 0 ? number << shift
                                                 : divide_to_even(number, UInt128(1) << -shift));
}

// A decimal digits * 10^-places without zeros at its end; {0, 0} of 0.
struct SignificantDigits {
    std::uint64_t digits;
    std::int32_t places;
};
// Of an absolute value from 10^-16 to 10^37: within these, 128 bits have room for all that is computed.
GPU_ENGINE_BOTH SignificantDigits significant_digits(double value, std::int32_t significant) {
    if (value == 0) {
        return {0, 0};
    }
    const FloatParts parts = split_float(value);
    const std::int32_t highest = parts.exponent + 63 - leading_zeros(magnitude(parts.mantissa));
    // The place of the first digit, or one less, as it is with the factor log10(2).
    const std::int32_t power = static_cast<std::int32_t>(
        (static_cast<std::int64_t>(highest) * 1233 - (highest < 0 ? 4095 : 0)) / 4096);
    std::int32_t places = significant - 1 - power;
    std::uint64_t digits = scale_float(parts, places);
    for (const auto end = static_cast<std::uint64_t>(power_of_ten(significant)); digits >= end;) {
        digits = scale_float(parts, --places);
    }
    for (; digits % 10 == 0; digits /= 10) {
        --places;
    }
    return {digits, places};
}

GPU_ENGINE_BOTH bool has_significant_digits(double value) {
    return value == 0 || (value >= 1e-16 && value <= 1e37);
}

struct FloatToDecimal : OfOne<double, Int128> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, double value, Int128 *result) {
        const FloatDecimal wanted = float_decimal(context.detail);
        const double size = value < 0 ? -value : value;
        *result = 0;
        if (!has_significant_digits(size)) {
            // What is too small is rounded away.
            return size < 1e-16 && !wanted.is_exact && wanted.scale <= 15;
        }
        const SignificantDigits found = significant_digits(size, wanted.significant);
        UInt128 number = found.digits;
        const std::int32_t more = wanted.scale - found.places;
        if (more >= 0) {
            if (!shift_decimal(&number, more)) {
                return false;
            }
        } else if (wanted.is_exact) {
            return false;
        } else if (more < -19) {
            number = 0;
        } else {
            const UInt128 divisor = power_of_ten(-more);
            number = (number + divisor / 2) / divisor;
        }
        *result = static_cast<Int128>(value < 0 ? 0 - number : number);
        return number < power_of_ten(wanted.precision);
    }
};
struct FloatScale : OfOne<double, std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, double value, std::int64_t *result) {
        const double size = value < 0 ? -value : value;
        *result = 0;
        if (!has_significant_digits(size)) {
            return false;
        }
        const std::int32_t places =
            significant_digits(size, float_decimal(context.detail).significant).places;
        *result = places < 0 ? 0 : places;
        return true;
    }
};

}  // namespace gpu_engine::query
