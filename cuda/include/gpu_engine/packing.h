// Packing integers of 0 to 64 bits in groups of 64, b words each, the lowest bits of a word first; and
// unpacking them. Each width has code of its own, in which all shifts are constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gpu_engine::packing {

inline constexpr std::uint32_t group = 64;

template <std::uint32_t bits, typename Value, std::size_t... places>
inline void unpack_group(const std::uint64_t *words, Value *values, std::index_sequence<places...>) {
    constexpr std::uint64_t mask = bits >= 64 ? UINT64_MAX : (std::uint64_t(1) << (bits % 64)) - 1;
    const auto one = [words](auto place) -> Value {
        constexpr std::uint32_t at = decltype(place)::value * bits;
        constexpr std::uint32_t word = at / 64;
        constexpr std::uint32_t shift = at % 64;
        if constexpr (bits == 0) {
            return 0;
        } else if constexpr (shift + bits <= 64) {
            return static_cast<Value>(words[word] >> shift & mask);
        } else {
            return static_cast<Value>((words[word] >> shift | words[word + 1] << (64 - shift)) & mask);
        }
    };
    ((values[places] = one(std::integral_constant<std::uint32_t, places>{})), ...);
}

template <std::uint32_t bits, typename Value>
void unpack_groups(const std::uint64_t *words, std::uint64_t groups, Value *values) {
    for (std::uint64_t i = 0; i < groups; ++i) {
        unpack_group<bits>(words + i * bits, values + i * group, std::make_index_sequence<group>{});
    }
}

template <std::uint32_t bits, std::size_t... places>
inline void pack_group(const std::uint64_t *values, std::uint64_t *words, std::index_sequence<places...>) {
    const auto one = [values, words](auto place) {
        constexpr std::uint32_t at = decltype(place)::value * bits;
        constexpr std::uint32_t word = at / 64;
        constexpr std::uint32_t shift = at % 64;
        const std::uint64_t value = values[decltype(place)::value];
        if constexpr (bits > 0) {
            if constexpr (shift == 0) {
                words[word] = value;
            } else {
                words[word] |= value << shift;
            }
            if constexpr (shift + bits > 64) {
                words[word + 1] = value >> (64 - shift);
            }
        }
    };
    (one(std::integral_constant<std::uint32_t, places>{}), ...);
}

template <std::uint32_t bits>
void pack_one_group(const std::uint64_t *values, std::uint64_t *words) {
    pack_group<bits>(values, words, std::make_index_sequence<group>{});
}

template <typename Value>
using Unpack = void (*)(const std::uint64_t *words, std::uint64_t groups, Value *values);
using Pack = void (*)(const std::uint64_t *values, std::uint64_t *words);

template <typename Value, std::size_t... bits>
constexpr auto unpackers(std::index_sequence<bits...>) {
    return std::array<Unpack<Value>, sizeof...(bits)>{unpack_groups<bits, Value>...};
}

template <std::size_t... bits>
constexpr auto packers(std::index_sequence<bits...>) {
    return std::array<Pack, sizeof...(bits)>{pack_one_group<bits>...};
}

}  // namespace gpu_engine::packing
