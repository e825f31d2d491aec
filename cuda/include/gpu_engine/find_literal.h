// Looking for a string of bytes in another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gpu_engine {

// Finds where a literal of at least one byte begins in bytes from `at` to `end`; nullptr: it isn't there.
inline const char *find_literal(const char *at, const char *end, const char *literal, std::size_t length) {
    if (static_cast<std::size_t>(end - at) < length) {
        return nullptr;
    }
#if defined(__SSE2__)
    // Sixteen places at a time: where the first and the last byte fit. The last places are looked at together
    // with some of those before.
    constexpr std::ptrdiff_t together = sizeof(__m128i);
    const char *const places_end = end - length + 1;
    const auto has_rest = [literal, length](const char *place) {
        return length <= 2 || std::memcmp(place + 1, literal + 1, length - 2) == 0;
    };
    if (places_end - at < together) {
        for (; at < places_end; ++at) {
            if (at[0] == literal[0] && at[length - 1] == literal[length - 1] && has_rest(at)) {
                return at;
            }
        }
        return nullptr;
    }
    const __m128i first = _mm_set1_epi8(literal[0]);
    const __m128i last = _mm_set1_epi8(literal[length - 1]);
    for (;;) {
        const __m128i firsts = _mm_loadu_si128(reinterpret_cast<const __m128i *>(at));
        const __m128i lasts = _mm_loadu_si128(reinterpret_cast<const __m128i *>(at + length - 1));
        auto fitting = static_cast<std::uint32_t>(
            _mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(firsts, first), _mm_cmpeq_epi8(lasts, last))));
        for (; fitting != 0; fitting &= fitting - 1) {
            if (has_rest(at + __builtin_ctz(fitting))) {
                return at + __builtin_ctz(fitting);
            }
        }
        if (places_end - at <= together) {
            return nullptr;
        }
        at = at + together < places_end - together ? at + together : places_end - together;
    }
#else
    return static_cast<const char *>(memmem(at, static_cast<std::size_t>(end - at), literal, length));
#endif
}

}  // namespace gpu_engine
