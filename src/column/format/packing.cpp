#include "column/format/packing.h"

#include <array>
#include <bit>

namespace pg_gpu::column {

// ---- values -----------------------------------------------------------------------------------------------

void unpack(uint32 bits, const uint64 *words, uint64 groups, uint32 *values) {
    static constexpr auto table = gpu_engine::packing::unpackers<uint32>(std::make_index_sequence<33>{});
    table[bits](words, groups, values);
}

void unpack(uint32 bits, const uint64 *words, uint64 groups, uint64 *values) {
    static constexpr auto table = gpu_engine::packing::unpackers<uint64>(std::make_index_sequence<65>{});
    table[bits](words, groups, values);
}

// Returns the bits from bit `at` on, at least 57 of them.
static inline uint64 read_at(const uint64 *words, uint32 at) {
    if constexpr (std::endian::native == std::endian::little) {
        uint64 read;
        memcpy(&read, reinterpret_cast<const char *>(words) + at / 8, sizeof(read));
        return read >> at % 8;
    } else {
        const uint64 *word = words + at / kGroup;
        const uint32 shift = at % kGroup;
        return word[0] >> shift | word[1] << 1 << (kGroup - 1 - shift);
    }
}

template <typename Value>
static inline void unpack_places(uint32 bits, const uint64 *words, const uint16 *places, size_t count,
                                 Value *values) {
    constexpr uint32 max_read = 57;
    const uint64 mask = bits >= kGroup ? PG_UINT64_MAX : (UINT64CONST(1) << bits) - 1;
    for (size_t i = 0; i < count; i++) {
        const uint32 at = places[i] * bits;
        uint64 value = read_at(words, at);
        if (sizeof(Value) > sizeof(uint32) && bits > max_read)
            value |= read_at(words, at + kGroup / 2) << kGroup / 2;
        values[i] = static_cast<Value>(value & mask);
    }
}

void unpack_some(uint32 bits, const uint64 *words, const uint16 *places, uint32 count, uint32 *values) {
    unpack_places(bits, words, places, count, values);
}

void unpack_some(uint32 bits, const uint64 *words, const uint16 *places, uint32 count, uint64 *values) {
    unpack_places(bits, words, places, count, values);
}

void pack(uint32 bits, const uint64 *values, uint64 *words) {
    static constexpr auto table = gpu_engine::packing::packers(std::make_index_sequence<65>{});
    table[bits](values, words);
}

// ---- bits -------------------------------------------------------------------------------------------------

namespace {

// The places of a byte's set bits.
struct ByteBits {
    uint16 places[8];
};
using EightPlaces = uint16 __attribute__((vector_size(16)));

constexpr auto bits_of_bytes = [] {
    std::array<ByteBits, 256> all = {};
    for (uint32 byte = 0; byte < all.size(); byte++)
        for (uint32 bit = 0, count = 0; bit < 8; bit++)
            if ((byte >> bit & 1) != 0)
                all[byte].places[count++] = static_cast<uint16>(bit);
    return all;
}();
constexpr auto counts_of_bytes = [] {
    std::array<uint8, 256> all = {};
    for (uint32 byte = 1; byte < all.size(); byte++)
        all[byte] = static_cast<uint8>(all[byte / 2] + byte % 2);
    return all;
}();

}  // namespace

// Bits are random, as conditions' are, so a loop over those that are set would be guessed wrongly once a
// word. Eight places are written for each byte instead, of which the next ones overwrite what there isn't.
uint32 list_bits(const uint64 *bits, uint32 words, uint16 *places) {
    uint32 count = 0;
    for (uint32 word = 0; word < words; word++) {
        uint64 left = bits[word];
        if (left == 0)
            continue;
        for (uint32 first = word * kGroup; first < (word + 1) * kGroup; first += 8, left >>= 8) {
            const auto byte = static_cast<uint8>(left);
            EightPlaces eight;
            memcpy(&eight, bits_of_bytes[byte].places, sizeof(eight));
            eight += static_cast<uint16>(first);
            memcpy(places + count, &eight, sizeof(eight));
            count += counts_of_bytes[byte];
        }
    }
    return count;
}

}  // namespace pg_gpu::column
