// Packing integers of 0 to 64 bits in groups of 64, and unpacking them. Each width has code of its own, in
// which all shifts are constants.
#pragma once

#include "column/format.h"

#include <array>
#include <utility>

namespace pg_gpu::column {

namespace packing {

template <uint32 bits, typename Value, size_t... places>
inline void unpack_group(const uint64 *words, Value *values, std::index_sequence<places...>) {
    constexpr uint64 mask = bits >= 64 ? PG_UINT64_MAX : (UINT64CONST(1) << (bits % 64)) - 1;
    const auto one = [words](auto place) -> Value {
        constexpr uint32 at = decltype(place)::value * bits;
        constexpr uint32 word = at / 64;
        constexpr uint32 shift = at % 64;
        if constexpr (bits == 0)
            return 0;
        else if constexpr (shift + bits <= 64)
            return static_cast<Value>(words[word] >> shift & mask);
        else
            return static_cast<Value>((words[word] >> shift | words[word + 1] << (64 - shift)) & mask);
    };
    ((values[places] = one(std::integral_constant<uint32, places>{})), ...);
}

template <uint32 bits, typename Value>
void unpack_groups(const uint64 *words, uint64 groups, Value *values) {
    for (uint64 i = 0; i < groups; i++)
        unpack_group<bits>(words + i * bits, values + i * kGroup, std::make_index_sequence<kGroup>{});
}

template <uint32 bits, size_t... places>
inline void pack_group(const uint64 *values, uint64 *words, std::index_sequence<places...>) {
    const auto one = [values, words](auto place) {
        constexpr uint32 at = decltype(place)::value * bits;
        constexpr uint32 word = at / 64;
        constexpr uint32 shift = at % 64;
        const uint64 value = values[decltype(place)::value];
        if constexpr (bits > 0) {
            if constexpr (shift == 0)
                words[word] = value;
            else
                words[word] |= value << shift;
            if constexpr (shift + bits > 64)
                words[word + 1] = value >> (64 - shift);
        }
    };
    (one(std::integral_constant<uint32, places>{}), ...);
}

template <uint32 bits>
void pack_one_group(const uint64 *values, uint64 *words) {
    pack_group<bits>(values, words, std::make_index_sequence<kGroup>{});
}

template <typename Value>
using Unpack = void (*)(const uint64 *words, uint64 groups, Value *values);
using Pack = void (*)(const uint64 *values, uint64 *words);

template <typename Value, size_t... bits>
constexpr auto unpackers(std::index_sequence<bits...>) {
    return std::array<Unpack<Value>, sizeof...(bits)>{unpack_groups<bits, Value>...};
}

template <size_t... bits>
constexpr auto packers(std::index_sequence<bits...>) {
    return std::array<Pack, sizeof...(bits)>{pack_one_group<bits>...};
}

}  // namespace packing

// `groups` groups of values of `bits` bits; values have 32 or 64 bits (packing.cpp).
void unpack(uint32 bits, const uint64 *words, uint64 groups, uint32 *values);
void unpack(uint32 bits, const uint64 *words, uint64 groups, uint64 *values);

// One group of values below 2^bits.
void pack(uint32 bits, const uint64 *values, uint64 *words);

}  // namespace pg_gpu::column
