#include "host/column/select/unpack.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gpu_engine::host {

using packing::group;

namespace plain {

void unpack_group(const std::uint64_t *words, std::uint64_t number, std::uint32_t bits,
                  std::uint32_t *values) {
    static constexpr auto table = packing::unpackers<std::uint32_t>(std::make_index_sequence<33>{});
    table[bits](words + number * bits, 1, values);
}

std::uint64_t find_in_range(const std::uint64_t *words, std::uint64_t number, std::uint32_t bits,
                            std::uint32_t low, std::uint32_t width) {
    std::uint32_t codes[group];
    std::uint8_t hits[group];
    unpack_group(words, number, bits, codes);
    for (std::uint32_t i = 0; i < group; ++i) {
        hits[i] = codes[i] - low <= width ? 1 : 0;
    }
    return bits_of_bytes(hits);
}

}  // namespace plain

std::uint64_t bits_of_bytes(const std::uint8_t *bytes) {
    std::uint64_t bits = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
        std::uint64_t eight;
        std::memcpy(&eight, bytes + i * 8, sizeof(eight));
        bits |= (eight * 0x0102040810204080ULL >> 56) << (i * 8);
    }
    return bits;
}

void unpack_group(const std::uint64_t *words, std::uint64_t number, std::uint32_t bits,
                  std::uint64_t *values) {
    static constexpr auto table = packing::unpackers<std::uint64_t>(std::make_index_sequence<65>{});
    table[bits](words + number * bits, 1, values);
}

#if defined(__x86_64__)

namespace {

// Eight codes of so many bits take as many bytes, so they begin with a byte. A code of 25 bits at most lies
// within four bytes, wherever it begins.
constexpr std::uint32_t max_spread_bits = 25;

// A Spread makes integers of 32 bits of eight codes, four codes in each half, from 16 bytes that begin with
// the first one's: it picks each code's four bytes, and shifts them.
struct alignas(32) Spread {
    std::uint8_t bytes[32];
    std::uint32_t shifts[8];
    std::uint32_t mask[8];
    std::uint32_t second;  // the byte with which the second half's codes begin
};

constexpr Spread make_spread(std::uint32_t bits) {
    Spread spread = {};
    spread.second = 4 * bits / 8;
    for (std::uint32_t i = 0; i < 8; ++i) {
        const std::uint32_t at = i * bits - (i < 4 ? 0 : spread.second * 8);
        for (std::uint32_t byte = 0; byte < 4; ++byte) {
            spread.bytes[i * 4 + byte] = static_cast<std::uint8_t>(at / 8 + byte);
        }
        spread.shifts[i] = at % 8;
        spread.mask[i] = (1U << bits) - 1;
    }
    return spread;
}

constexpr auto spreads = [] {
    std::array<Spread, max_spread_bits + 1> all = {};
    for (std::uint32_t bits = 0; bits <= max_spread_bits; ++bits) {
        all[bits] = make_spread(bits);
    }
    return all;
}();

const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;

struct SpreadRegisters {
    __m256i bytes;
    __m256i shifts;
    __m256i mask;
};

__attribute__((target("avx2"))) inline SpreadRegisters load_spread(const Spread &spread) {
    return {_mm256_load_si256(reinterpret_cast<const __m256i *>(spread.bytes)),
            _mm256_load_si256(reinterpret_cast<const __m256i *>(spread.shifts)),
            _mm256_load_si256(reinterpret_cast<const __m256i *>(spread.mask))};
}

// Up to 16 bytes behind the codes are read: behind the last column's there are as many (keep_stream).
__attribute__((target("avx2"))) inline __m256i unpack_eight(const char *codes, std::uint32_t second,
                                                            const SpreadRegisters &spread) {
    const __m128i first_half = _mm_loadu_si128(reinterpret_cast<const __m128i *>(codes));
    const __m128i second_half = _mm_loadu_si128(reinterpret_cast<const __m128i *>(codes + second));
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(first_half), second_half, 1);
    const __m256i picked = _mm256_shuffle_epi8(both, spread.bytes);
    return _mm256_and_si256(_mm256_srlv_epi32(picked, spread.shifts), spread.mask);
}

__attribute__((target("avx2"))) void unpack_spread(const std::uint64_t *words, std::uint32_t bits,
                                                   std::uint32_t *values) {
    const Spread &spread = spreads[bits];
    const SpreadRegisters registers = load_spread(spread);
    const char *codes = reinterpret_cast<const char *>(words);
    for (std::uint32_t i = 0; i < group; i += 8, codes += bits) {
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(values + i),
                            unpack_eight(codes, spread.second, registers));
    }
}

__attribute__((target("avx2"))) std::uint64_t find_spread(const std::uint64_t *words, std::uint32_t bits,
                                                          std::uint32_t low, std::uint32_t width) {
    const Spread &spread = spreads[bits];
    const SpreadRegisters registers = load_spread(spread);
    const __m256i lows = _mm256_set1_epi32(static_cast<int>(low));
    const __m256i widths = _mm256_set1_epi32(static_cast<int>(width));
    const char *codes = reinterpret_cast<const char *>(words);
    std::uint64_t found = 0;
    for (std::uint32_t i = 0; i < group; i += 8, codes += bits) {
        const __m256i distance = _mm256_sub_epi32(unpack_eight(codes, spread.second, registers), lows);
        const __m256i hits = _mm256_cmpeq_epi32(_mm256_min_epu32(distance, widths), distance);
        const auto eight = static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(hits)));
        found |= std::uint64_t{eight} << i;
    }
    return found;
}

}  // namespace

void unpack_group(const std::uint64_t *words, std::uint64_t number, std::uint32_t bits,
                  std::uint32_t *values) {
    if (has_avx2 && bits <= max_spread_bits) {
        unpack_spread(words + number * bits, bits, values);
    } else {
        plain::unpack_group(words, number, bits, values);
    }
}

std::uint64_t find_in_range(const std::uint64_t *words, std::uint64_t number, std::uint32_t bits,
                            std::uint32_t low, std::uint32_t width) {
    return has_avx2 && bits <= max_spread_bits ? find_spread(words + number * bits, bits, low, width)
                                               : plain::find_in_range(words, number, bits, low, width);
}

#else

void unpack_group(const std::uint64_t *words, std::uint64_t number, std::uint32_t bits,
                  std::uint32_t *values) {
    plain::unpack_group(words, number, bits, values);
}

std::uint64_t find_in_range(const std::uint64_t *words, std::uint64_t number, std::uint32_t bits,
                            std::uint32_t low, std::uint32_t width) {
    return plain::find_in_range(words, number, bits, low, width);
}

#endif

}  // namespace gpu_engine::host
