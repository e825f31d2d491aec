// What every operation of an expression means, once for both engines: each of them is a class here, and
// with_operation finds the class of a step. A class has
//     operands              how many it takes, of the types Left, Right and Third
//     Result                the type of what it gives
//     call(context, ...)    of a strict one: takes operands that aren't NULL, and returns false where it
//     fails look(context, ...)    of one that sees NULLs (sees_nulls), which never fails
#pragma once

#include <cstdint>

#include "gpu_engine/both.h"
#include "gpu_engine/query/query.h"

namespace gpu_engine::query {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;
using Truth = std::uint8_t;  // 0 or 1

// What a step knows besides its operands.
struct StepContext {
    std::uint8_t width;
    std::uint32_t detail;
    std::uint32_t list_count;
    const Constant *list;  // of in_list and look_up
    Zone zone;             // of shifts by a zone
    Int128 power;          // 10^detail, of to_float
};

template <typename Type>
struct Nullable {
    Type value;
    bool is_null;
};
struct Nothing {};

// ---- types ------------------------------------------------------------------------------------------------

template <ValueType type>
struct TypeFor;
template <>
struct TypeFor<ValueType::boolean> {
    using type = Truth;
};
template <>
struct TypeFor<ValueType::int64> {
    using type = std::int64_t;
};
template <>
struct TypeFor<ValueType::int128> {
    using type = Int128;
};
template <>
struct TypeFor<ValueType::float64> {
    using type = double;
};

GPU_ENGINE_BOTH std::uint64_t bits_of_float(double value) {
#ifdef __CUDA_ARCH__
    return static_cast<std::uint64_t>(__double_as_longlong(value));
#else
    return __builtin_bit_cast(std::uint64_t, value);
#endif
}
GPU_ENGINE_BOTH double float_of_bits(std::uint64_t bits) {
#ifdef __CUDA_ARCH__
    return __longlong_as_double(static_cast<long long>(bits));
#else
    return __builtin_bit_cast(double, bits);
#endif
}

// A value's words, and back. What isn't 0 is true.
template <typename Type>
struct Words;
template <>
struct Words<Truth> {
    static constexpr std::uint32_t count = 1;
    GPU_ENGINE_BOTH static Truth read(const std::uint64_t *words) { return words[0] != 0 ? 1 : 0; }
    GPU_ENGINE_BOTH static void write(Truth value, std::uint64_t *words) { words[0] = value; }
};
template <>
struct Words<std::int64_t> {
    static constexpr std::uint32_t count = 1;
    GPU_ENGINE_BOTH static std::int64_t read(const std::uint64_t *words) {
        return static_cast<std::int64_t>(words[0]);
    }
    GPU_ENGINE_BOTH static void write(std::int64_t value, std::uint64_t *words) {
        words[0] = static_cast<std::uint64_t>(value);
    }
};
template <>
struct Words<Int128> {
    static constexpr std::uint32_t count = 2;
    GPU_ENGINE_BOTH static Int128 read(const std::uint64_t *words) {
        return static_cast<Int128>(static_cast<UInt128>(words[1]) << 64 | words[0]);
    }
    GPU_ENGINE_BOTH static void write(Int128 value, std::uint64_t *words) {
        words[0] = static_cast<std::uint64_t>(value);
        words[1] = static_cast<std::uint64_t>(static_cast<UInt128>(value) >> 64);
    }
};
template <>
struct Words<double> {
    static constexpr std::uint32_t count = 1;
    GPU_ENGINE_BOTH static double read(const std::uint64_t *words) { return float_of_bits(words[0]); }
    GPU_ENGINE_BOTH static void write(double value, std::uint64_t *words) { words[0] = bits_of_float(value); }
};

// ---- order ------------------------------------------------------------------------------------------------

template <typename Type>
GPU_ENGINE_BOTH bool is_less(Type left, Type right) {
    return left < right;
}
template <typename Type>
GPU_ENGINE_BOTH bool is_equal(Type left, Type right) {
    return left == right;
}
// NaN equals NaN and is greater than all others.
template <>
GPU_ENGINE_BOTH bool is_less<double>(double left, double right) {
    return left < right || (left == left && right != right);
}
template <>
GPU_ENGINE_BOTH bool is_equal<double>(double left, double right) {
    return left == right || (left != left && right != right);
}

// The word of a key: equal values have equal words.
GPU_ENGINE_BOTH double key_of_float(double value) {
    return value == 0 ? 0.0 : value != value ? float_of_bits(0x7ff8000000000000) : value;
}
// Words that compare, the first one first, as the values do.
GPU_ENGINE_BOTH std::uint64_t order_of_integer(std::int64_t value) {
    return static_cast<std::uint64_t>(value) ^ std::uint64_t(1) << 63;
}
GPU_ENGINE_BOTH std::uint64_t order_of_float(double value) {
    const std::uint64_t bits = bits_of_float(key_of_float(value));
    return (bits >> 63) != 0 ? ~bits : bits | std::uint64_t(1) << 63;
}

}  // namespace gpu_engine::query
