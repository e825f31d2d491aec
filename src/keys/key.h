// Key types and order-preserving encodings: a value comes before another in btree's order exactly when its
// code is the smaller unsigned integer. Plain C++, tested without PostgreSQL, and the same on a device.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace pg_gpu::keys {

__extension__ typedef unsigned __int128 Uint128;

// Keys wider than a machine word as they lie in arrays and on pages, whose content is aligned to 8 bytes: the
// compiler may want 16 for Uint128, which therefore is for local variables only.

// Three words, the lowest first, so that arrays have no gaps and the lower two load as one.
struct Key96 {
    uint32_t low;
    uint32_t middle;
    uint32_t high;

    constexpr Uint128 bits() const { return Uint128{high} << 64 | (uint64_t{middle} << 32 | low); }
    // The highest 32 bits don't fit and are left out.
    static constexpr Key96 from(Uint128 bits) {
        const auto lower = static_cast<uint64_t>(bits);
        return {static_cast<uint32_t>(lower), static_cast<uint32_t>(lower >> 32),
                static_cast<uint32_t>(bits >> 64)};
    }
};
static_assert(sizeof(Key96) == 12 && alignof(Key96) == 4);

struct Key128 {
    uint64_t high;
    uint64_t low;

    constexpr Uint128 bits() const { return Uint128{high} << 64 | low; }
    static constexpr Key128 from(Uint128 bits) {
        return {static_cast<uint64_t>(bits >> 64), static_cast<uint64_t>(bits)};
    }
};
static_assert(sizeof(Key128) == 16 && alignof(Key128) == 8);

template <typename Key>
concept WideKey = requires(const Key &key) {
    { key.bits() } -> std::same_as<Uint128>;
};

template <WideKey Key>
constexpr bool operator==(const Key &a, const Key &b) {
    return a.bits() == b.bits();
}
template <WideKey Key>
constexpr bool operator<(const Key &a, const Key &b) {
    return a.bits() < b.bits();
}
template <WideKey Key>
constexpr bool operator>(const Key &a, const Key &b) {
    return b < a;
}
template <WideKey Key>
constexpr bool operator<=(const Key &a, const Key &b) {
    return !(b < a);
}
template <WideKey Key>
constexpr bool operator>=(const Key &a, const Key &b) {
    return !(a < b);
}

// Names the integer that computes with keys of a type. It may be wider than they are.
template <typename Key>
struct BitsOf {
    using type = Key;
};
template <WideKey Key>
struct BitsOf<Key> {
    using type = Uint128;
};
template <typename Key>
using Bits = typename BitsOf<Key>::type;

template <typename Key>
inline constexpr int kKeyBits = static_cast<int>(sizeof(Key)) * 8;

template <typename Key>
constexpr Bits<Key> bits_of(Key key) {
    if constexpr (WideKey<Key>)
        return key.bits();
    else
        return key;
}

template <typename Key>
constexpr Key key_from(Bits<Key> bits) {
    if constexpr (WideKey<Key>)
        return Key::from(bits);
    else
        return bits;
}

// Returns the bits that either key has set.
template <typename Key>
constexpr Key join_keys(Key a, Key b) {
    return key_from<Key>(bits_of(a) | bits_of(b));
}

template <typename Key>
inline constexpr Key kHighestKey = key_from<Key>(~Bits<Key>{0});

// Returns the lowest `width` bits, 0 < width <= the type's.
template <typename Code>
constexpr Code low_bits(int width) {
    return static_cast<Code>(~Code{0}) >> (static_cast<int>(sizeof(Code)) * 8 - width);
}

// Encodes two's complement in `width` bits: with the sign bit flipped it ascends as unsigned.
constexpr uint64_t encode_signed(int64_t value, int width) {
    return (static_cast<uint64_t>(value) ^ (uint64_t{1} << (width - 1))) & low_bits<uint64_t>(width);
}

constexpr int64_t decode_signed(uint64_t code, int width) {
    const uint64_t value = code ^ (uint64_t{1} << (width - 1));
    const int unused = 64 - width;
    return static_cast<int64_t>(value << unused) >> unused;
}

template <typename Float>
struct FloatCode;
template <>
struct FloatCode<float> {
    using type = uint32_t;
};
template <>
struct FloatCode<double> {
    using type = uint64_t;
};

// Encodes IEEE 754 numbers: positive ones ascend with their bits, negative ones descend. As in btree NaNs are
// all equal and greater than infinity, and -0 equals 0; so codes don't tell which of these they came from.
template <typename Float>
constexpr typename FloatCode<Float>::type encode_float(Float value) {
    using Code = typename FloatCode<Float>::type;
    constexpr Code kSign = Code{1} << (sizeof(Code) * 8 - 1);
    if (value != value)
        return static_cast<Code>(~Code{0});
    const Code bits = std::bit_cast<Code>(value == 0 ? Float{0} : value);
    return bits & kSign ? static_cast<Code>(~bits) : static_cast<Code>(bits | kSign);
}

template <typename Float>
constexpr Float decode_float(typename FloatCode<Float>::type code) {
    using Code = typename FloatCode<Float>::type;
    constexpr Code kSign = Code{1} << (sizeof(Code) * 8 - 1);
    return std::bit_cast<Float>(code & kSign ? static_cast<Code>(code ^ kSign) : static_cast<Code>(~code));
}

// Encodes at most 8 bytes as a big-endian integer, so that codes compare as byte strings do.
constexpr uint64_t encode_bytes(const unsigned char *bytes, int count) {
    uint64_t code = 0;
    for (int i = 0; i < count; i++)
        code = code << 8 | bytes[i];
    return code;
}

constexpr void decode_bytes(uint64_t code, int count, unsigned char *bytes) {
    for (int i = count - 1; i >= 0; i--, code >>= 8)
        bytes[i] = static_cast<unsigned char>(code);
}

// The place of a constant among the codes of `width` bits is given by the greatest code below it and the
// least above it. A constant of another type can lie between two codes, or outside all of them.
template <typename Code>
struct Place {
    bool any_below;
    bool any_above;
    Code below;
    Code above;
};

template <typename Code>
constexpr Place<Code> place_at(Code code, int width) {
    const Code most = low_bits<Code>(width);
    return {code > 0, code < most, static_cast<Code>(code - 1), static_cast<Code>(code + 1)};
}

// The constant lies between a code and the next one.
template <typename Code>
constexpr Place<Code> place_after(Code code, int width) {
    return {true, code < low_bits<Code>(width), code, static_cast<Code>(code + 1)};
}

template <typename Code>
constexpr Place<Code> place_before_all() {
    return {false, true, 0, 0};
}

template <typename Code>
constexpr Place<Code> place_of_integer(int64_t value, int width) {
    const int64_t most = static_cast<int64_t>(low_bits<uint64_t>(width) >> 1);
    if (value < -most - 1)
        return place_before_all<Code>();
    if (value > most)
        return place_after<Code>(low_bits<Code>(width), width);
    return place_at<Code>(static_cast<Code>(encode_signed(value, width)), width);
}

// Returns the place of a double among the codes of float: it is rounded to the nearest float, which may lie
// on either side of it.
template <typename Code>
constexpr Place<Code> place_of_double_in_floats(double value) {
    constexpr int kWidth = 32;
    const auto nearest = static_cast<float>(value);
    const auto code = static_cast<Code>(encode_float(nearest));
    if (value != value || static_cast<double>(nearest) == value)
        return place_at<Code>(code, kWidth);
    return place_after<Code>(nearest < value ? code : static_cast<Code>(code - 1), kWidth);
}

}  // namespace pg_gpu::keys
