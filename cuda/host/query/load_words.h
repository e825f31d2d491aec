// Values of words as vectors.
#pragma once

#include "host/query/tile.h"

namespace gpu_engine::host {

inline bool bit_of(const std::uint64_t *bits, std::uint64_t i) noexcept {
    return (bits[i / 64] >> (i % 64) & 1) != 0;
}

// Has the int128 of these words room in 64 bits?
inline bool fits_word(const std::uint64_t *words) noexcept {
    return words[1] == ((words[0] >> 63) != 0 ? UINT64_MAX : 0);
}

// Writes values of words, with whether each is NULL. `words_at` and `null_at` say where row i has them.
template <typename WordsAt, typename NullAt>
Vector load_words(ValueType type, std::uint32_t count, const VectorRoom &room, WordsAt words_at,
                  NullAt null_at) {
    std::uint8_t any_null = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        room.nulls[i] = null_at(i) ? 1 : 0;
        any_null |= room.nulls[i];
    }
    const std::uint8_t *nulls = any_null != 0 ? room.nulls : nullptr;
    if (type == ValueType::int128) {
        bool is_narrow = true;
        for (std::uint32_t i = 0; i < count && is_narrow; ++i) {
            is_narrow = fits_word(words_at(i));
        }
        if (is_narrow) {
            for (std::uint32_t i = 0; i < count; ++i) {
                room.as<std::int64_t>()[i] = static_cast<std::int64_t>(words_at(i)[0]);
            }
            return {type, true, room.values, nulls};
        }
    }
    with_stored(type, [&]<typename Type>(Type) {
        for (std::uint32_t i = 0; i < count; ++i) {
            room.as<Type>()[i] = query::Words<Type>::read(words_at(i));
        }
    });
    return {type, false, room.values, nulls};
}

}  // namespace gpu_engine::host
