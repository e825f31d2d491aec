// Arithmetic and casts, which fail where PostgreSQL's int.c, int8.c, float.c and numeric.c raise errors.
#pragma once

#include <cmath>

#include "common/query/operation.h"

namespace gpu_engine::query {

// ---- integers ---------------------------------------------------------------------------------------------

GPU_ENGINE_BOTH bool fits_width(std::int64_t value, std::uint8_t width) {
    const int unused = width >= 8 ? 0 : 64 - 8 * width;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused == value;
}
GPU_ENGINE_BOTH bool fits_width(Int128 value, std::uint8_t width) {
    const auto low = static_cast<std::int64_t>(value);
    return width == 16 || (low == value && fits_width(low, width));
}
template <typename Integer>
GPU_ENGINE_BOTH constexpr Integer least_integer() {
    return sizeof(Integer) == 16 ? static_cast<Integer>(static_cast<UInt128>(1) << 127)
                                 : static_cast<Integer>(INT64_MIN);
}
GPU_ENGINE_BOTH std::uint64_t magnitude(std::int64_t value) {
    return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}
GPU_ENGINE_BOTH UInt128 magnitude(Int128 value) {
    return value < 0 ? 0 - static_cast<UInt128>(value) : static_cast<UInt128>(value);
}

// These return false where the result has no room in the type.
template <typename Integer>
GPU_ENGINE_BOTH bool add_integers(Integer left, Integer right, Integer *sum) {
#ifdef __CUDA_ARCH__
    using Unsigned = decltype(magnitude(left));
    *sum = static_cast<Integer>(static_cast<Unsigned>(left) + static_cast<Unsigned>(right));
    return ((left ^ *sum) & (right ^ *sum)) >= 0;
#else
    return !__builtin_add_overflow(left, right, sum);
#endif
}
template <typename Integer>
GPU_ENGINE_BOTH bool subtract_integers(Integer left, Integer right, Integer *difference) {
#ifdef __CUDA_ARCH__
    using Unsigned = decltype(magnitude(left));
    *difference = static_cast<Integer>(static_cast<Unsigned>(left) - static_cast<Unsigned>(right));
    return ((left ^ right) & (left ^ *difference)) >= 0;
#else
    return !__builtin_sub_overflow(left, right, difference);
#endif
}
GPU_ENGINE_BOTH bool multiply_integers(std::int64_t left, std::int64_t right, std::int64_t *product) {
#ifdef __CUDA_ARCH__
    *product =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(left) * static_cast<std::uint64_t>(right));
    return __mul64hi(left, right) == *product >> 63;
#else
    return !__builtin_mul_overflow(left, right, product);
#endif
}
GPU_ENGINE_BOTH bool multiply_integers(Int128 left, Int128 right, Int128 *product) {
#ifdef __CUDA_ARCH__
    const UInt128 a = magnitude(left);
    const UInt128 b = magnitude(right);
    const auto high_a = static_cast<std::uint64_t>(a >> 64);
    const auto high_b = static_cast<std::uint64_t>(b >> 64);
    const auto low_a = static_cast<std::uint64_t>(a);
    const auto low_b = static_cast<std::uint64_t>(b);
    *product = static_cast<Int128>(static_cast<UInt128>(left) * static_cast<UInt128>(right));
    if (high_a != 0 && high_b != 0) {
        return false;
    }
    const UInt128 middle =
        high_a != 0 ? static_cast<UInt128>(high_a) * low_b : static_cast<UInt128>(high_b) * low_a;
    const UInt128 upper = middle + (static_cast<UInt128>(low_a) * low_b >> 64);
    if (upper >> 64 != 0) {
        return false;
    }
    return *product == 0 || (*product < 0) == ((left < 0) != (right < 0));
#else
    return !__builtin_mul_overflow(left, right, product);
#endif
}

// Returns false for a divisor of 0 and where the quotient has no room. The remainder has the dividend's sign.
template <typename Integer>
GPU_ENGINE_BOTH bool divide_integers(Integer left, Integer right, Integer *quotient, Integer *remainder) {
    *remainder = 0;
    if (right == 0) {
        return false;
    }
    // The least number divided by -1 would trap.
    if (right == -1) {
        *quotient = static_cast<Integer>(0 - static_cast<decltype(magnitude(left))>(left));
        return left != least_integer<Integer>();
    }
    *quotient = left / right;
    *remainder = left - *quotient * right;
    return true;
}

// ---- floats -----------------------------------------------------------------------------------------------

GPU_ENGINE_BOTH bool is_nan(double value) {
    return value != value;
}
GPU_ENGINE_BOTH bool is_infinite(double value) {
    return (bits_of_float(value) & INT64_MAX) == 0x7ff0000000000000;
}

// Additions and products that no compiler makes one rounding of.
#ifdef __CUDA_ARCH__
#define GPU_ENGINE_FLOAT_PAIR(name, single, twice, operator_)                           \
    GPU_ENGINE_BOTH double name(double left, double right, std::uint8_t width) {        \
        return width == 4 ? single(static_cast<float>(left), static_cast<float>(right)) \
                          : twice(left, right);                                         \
    }
#else
#define GPU_ENGINE_FLOAT_PAIR(name, single, twice, operator_)                            \
    GPU_ENGINE_BOTH double name(double left, double right, std::uint8_t width) {         \
        return width == 4 ? static_cast<float>(left) operator_ static_cast<float>(right) \
                          : left operator_ right;                                        \
    }
#endif
GPU_ENGINE_FLOAT_PAIR(add_rounded, __fadd_rn, __dadd_rn, +)
GPU_ENGINE_FLOAT_PAIR(subtract_rounded, __fsub_rn, __dsub_rn, -)
GPU_ENGINE_FLOAT_PAIR(multiply_rounded, __fmul_rn, __dmul_rn, *)
GPU_ENGINE_FLOAT_PAIR(divide_rounded, __fdiv_rn, __ddiv_rn, /)
#undef GPU_ENGINE_FLOAT_PAIR

// ---- arithmetic -------------------------------------------------------------------------------------------

template <typename Type>
struct OfTwo {
    using Left = Type;
    using Right = Type;
    using Result = Type;
    static constexpr int operands = 2;
    static constexpr bool sees_nulls = false;
};
template <typename LeftType, typename ResultType = LeftType>
struct OfOne {
    using Left = LeftType;
    using Result = ResultType;
    static constexpr int operands = 1;
    static constexpr bool sees_nulls = false;
};

template <typename Type>
struct Add : OfTwo<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, Type left, Type right, Type *result) {
        return add_integers(left, right, result) && fits_width(*result, context.width);
    }
};
template <>
struct Add<double> : OfTwo<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, double left, double right, double *result) {
        *result = add_rounded(left, right, context.width);
        return !is_infinite(*result) || is_infinite(left) || is_infinite(right);
    }
};
template <typename Type>
struct Subtract : OfTwo<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, Type left, Type right, Type *result) {
        return subtract_integers(left, right, result) && fits_width(*result, context.width);
    }
};
template <>
struct Subtract<double> : OfTwo<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, double left, double right, double *result) {
        *result = subtract_rounded(left, right, context.width);
        return !is_infinite(*result) || is_infinite(left) || is_infinite(right);
    }
};
template <typename Type>
struct Multiply : OfTwo<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, Type left, Type right, Type *result) {
        return multiply_integers(left, right, result) && fits_width(*result, context.width);
    }
};
template <>
struct Multiply<double> : OfTwo<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, double left, double right, double *result) {
        *result = multiply_rounded(left, right, context.width);
        return (!is_infinite(*result) || is_infinite(left) || is_infinite(right)) &&
               (*result != 0 || left == 0 || right == 0);
    }
};
template <typename Type>
struct Divide : OfTwo<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, Type left, Type right, Type *result) {
        Type remainder;
        return divide_integers(left, right, result, &remainder) && fits_width(*result, context.width);
    }
};
template <>
struct Divide<double> : OfTwo<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, double left, double right, double *result) {
        if (right == 0 && !is_nan(left)) {
            return false;
        }
        *result = divide_rounded(left, right, context.width);
        return (!is_infinite(*result) || is_infinite(left)) &&
               (*result != 0 || left == 0 || is_infinite(right));
    }
};
template <typename Type>
struct Modulo : OfTwo<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, Type left, Type right, Type *result) {
        Type quotient;
        divide_integers(left, right, &quotient, result);
        return right != 0;
    }
};

// How a quotient that is no integer is made one.
enum class Rounding { nearest, up, down };
template <typename Type, Rounding rounding>
struct DivideRounded : OfTwo<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, Type left, Type right, Type *result) {
        Type remainder;
        if (!divide_integers(left, right, result, &remainder)) {
            return false;
        }
        const bool is_negative = (left < 0) != (right < 0);
        const auto rest = magnitude(remainder);
        const bool is_moved = rest != 0 && (rounding == Rounding::nearest ? rest >= magnitude(right) - rest
                                            : rounding == Rounding::up    ? !is_negative
                                                                          : is_negative);
        *result += !is_moved ? 0 : is_negative ? -1 : 1;
        return fits_width(*result, context.width);
    }
};

template <typename Type>
struct Negate : OfOne<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, Type value, Type *result) {
        return subtract_integers(Type(0), value, result) && fits_width(*result, context.width);
    }
};
template <>
struct Negate<double> : OfOne<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, double value, double *result) {
        *result = -value;
        return true;
    }
};
template <typename Type>
struct Absolute : OfOne<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, Type value, Type *result) {
        *result = value;
        return value >= 0 ||
               (subtract_integers(Type(0), value, result) && fits_width(*result, context.width));
    }
};
template <>
struct Absolute<double> : OfOne<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, double value, double *result) {
        *result = float_of_bits(bits_of_float(value) & INT64_MAX);
        return true;
    }
};
template <typename Type>
struct Sign : OfOne<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, Type value, Type *result) {
        *result = static_cast<Type>((value > 0 ? 1 : 0) - (value < 0 ? 1 : 0));
        return true;
    }
};

enum class FloatRounding { even, up, down, zero };
template <FloatRounding rounding>
struct RoundFloat : OfOne<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, double value, double *result) {
        *result = rounding == FloatRounding::even   ? rint(value)
                  : rounding == FloatRounding::up   ? ceil(value)
                  : rounding == FloatRounding::down ? floor(value)
                                                    : trunc(value);
        return true;
    }
};
struct SquareRoot : OfOne<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, double value, double *result) {
        *result = sqrt(value);
        return !(value < 0);
    }
};

struct ProductRest : OfTwo<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, double left, double right, double *result) {
        const double product = multiply_rounded(left, right, 8);
        const double rest = fma(left, right, -product);
        *result = is_nan(rest) || is_infinite(product) ? 0 : rest;
        // Its last bit is as far below the product's as both factors have bits.
        constexpr double least = 0x1p-960;
        return product == 0 ? left == 0 || right == 0
                            : product >= least || product <= -least || is_nan(product);
    }
};

// ---- bits -------------------------------------------------------------------------------------------------

// The low bytes as an integer with a sign.
GPU_ENGINE_BOTH std::int64_t cut_to_width(std::uint64_t value, std::uint8_t width) {
    const int unused = width >= 8 ? 0 : 64 - 8 * width;
    return static_cast<std::int64_t>(value << unused) >> unused;
}
// A processor's shift of 16 bits is one of 32, and so is C's.
GPU_ENGINE_BOTH int shift_within(std::int64_t places, std::uint8_t width) {
    return static_cast<int>(places & (width >= 8 ? 63 : 31));
}
template <Operation operation>
struct Bits : OfTwo<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, std::int64_t left, std::int64_t right,
                                     std::int64_t *result) {
        if constexpr (operation == Operation::bit_and) {
            *result = left & right;
        } else if constexpr (operation == Operation::bit_or) {
            *result = left | right;
        } else if constexpr (operation == Operation::bit_xor) {
            *result = left ^ right;
        } else if constexpr (operation == Operation::shift_left) {
            *result = cut_to_width(static_cast<std::uint64_t>(left) << shift_within(right, context.width),
                                   context.width);
        } else {
            *result = left >> shift_within(right, context.width);
        }
        return true;
    }
};
struct BitNot : OfOne<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, std::int64_t value, std::int64_t *result) {
        *result = ~value;
        return true;
    }
};

// ---- casts ------------------------------------------------------------------------------------------------

template <typename From>
struct Widen : OfOne<From, Int128> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, From value, Int128 *result) {
        *result = value;
        return true;
    }
};
template <typename From>
struct Narrow : OfOne<From, std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, From value, std::int64_t *result) {
        *result = static_cast<std::int64_t>(value);
        return *result == value && fits_width(*result, context.width);
    }
};

GPU_ENGINE_BOTH int leading_zeros(std::uint64_t word) {
#ifdef __CUDA_ARCH__
    return __clzll(static_cast<long long>(word));
#else
    return word == 0 ? 64 : __builtin_clzll(word);
#endif
}
GPU_ENGINE_BOTH int leading_zeros(UInt128 value) {
    const auto high = static_cast<std::uint64_t>(value >> 64);
    return high != 0 ? leading_zeros(high) : 64 + leading_zeros(static_cast<std::uint64_t>(value));
}
// 2^exponent, which has to be a normal number.
GPU_ENGINE_BOTH double power_of_two(int exponent) {
    return float_of_bits(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// `value` divided by `power`, a power of ten, as the nearest float.
GPU_ENGINE_BOTH double decimal_to_float(UInt128 value, UInt128 power, std::uint8_t width) {
    // The quotient of two numbers that are floats is rounded but once; so is an integer.
    const std::uint64_t exact = width == 4 ? std::uint64_t(1) << 24 : std::uint64_t(1) << 53;
    const std::uint64_t exact_power = width == 4 ? 10000000000 : 10000000000000000000U;
    const auto low = static_cast<std::uint64_t>(value);
    if (value == 0) {
        return 0;
    }
    if (value <= exact && power <= exact_power) {
        return divide_rounded(static_cast<double>(low),
                              static_cast<double>(static_cast<std::uint64_t>(power)), width);
    }
    if (power == 1 && value == low) {
        return width == 4 ? static_cast<float>(low) : static_cast<double>(low);
    }
    UInt128 quotient = value / power;
    UInt128 rest = value - quotient * power;
    // 64 bits of the quotient are found, and whether anything is behind them.
    int exponent = 0;
    while (quotient >> 63 == 0) {
        rest <<= 1;
        quotient = quotient << 1 | (rest >= power ? 1 : 0);
        rest -= rest >= power ? power : 0;
        --exponent;
    }
    const int more = 64 - leading_zeros(quotient);
    if (more > 0) {
        rest |= quotient & ((UInt128(1) << more) - 1);
        quotient >>= more;
        exponent += more;
    }
    const auto bits = static_cast<std::uint64_t>(quotient);
    if (width == 8) {
        return static_cast<double>(bits | (rest != 0 ? 1 : 0)) * power_of_two(exponent);
    }
    const std::uint64_t odd = bits >> 11 | ((bits & 0x7ff) != 0 || rest != 0 ? 1 : 0);
    return static_cast<float>(static_cast<double>(odd) * power_of_two(exponent + 11));
}
template <typename From>
struct ToFloat : OfOne<From, double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, From value, double *result) {
        const double size =
            decimal_to_float(magnitude(value), static_cast<UInt128>(context.power), context.width);
        *result = value < 0 ? -size : size;
        return true;
    }
};
struct FloatToFloat : OfOne<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, double value, double *result) {
        *result = context.width == 4 ? static_cast<double>(static_cast<float>(value)) : value;
        return (!is_infinite(*result) || is_infinite(value)) && (*result != 0 || value == 0);
    }
};
struct FloatToInteger : OfOne<double, std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, double value, std::int64_t *result) {
        const double whole = rint(value);
        const double end = power_of_two(8 * context.width - 1);
        const bool is_within = whole >= -end && whole < end;
        *result = is_within ? static_cast<std::int64_t>(whole) : 0;
        return is_within;
    }
};
struct IsNegative : OfOne<double, Truth> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, double value, Truth *result) {
        *result = static_cast<Truth>(bits_of_float(value) >> 63);
        return true;
    }
};
struct ToBoolean : OfOne<std::int64_t, Truth> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, std::int64_t value, Truth *result) {
        *result = value != 0 ? 1 : 0;
        return true;
    }
};

}  // namespace gpu_engine::query
