// Inverted lists: how blocks of postings are coded, and what a posting contributes to a score. Plain C++,
// used by the session and the engines alike.
//
// A block holds up to 128 postings: the gaps between document ordinals by one of three codecs, then the term
// frequencies, each of the same width, so that any one can be read alone.
//
//   Bitpack    every gap in as many bits as the block's largest one needs
//   PForDelta  every gap's low b bits, one b a list; the rest of those that need more are exceptions, whose
//              places and high bits are compressed in the same way, recursively (Zukowski et al., ICDE 2006;
//              with compressed exceptions, Yan, Ding and Suel, WWW 2009)
//   Rice       quotients by 2^k in unary, apart from the remainders of k bits (Ding et al., WWW 2009)
//
// The last two fall back to bit packing where a block would be no smaller. Decoders take any bytes: they
// answer false for what no encoder writes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace gpu_engine::postings {

inline constexpr std::uint32_t kBlockPostings = 128;

// Bytes that must be readable behind whatever is decoded.
inline constexpr std::uint32_t kPadding = 8;

// The most bytes the gaps of a block take: packed at 32 bits each.
inline constexpr std::uint32_t kMaxGapBytes = kBlockPostings * 4;
inline constexpr std::uint32_t kMaxBlockBytes = 2 * kMaxGapBytes;

enum class Codec : std::uint8_t { Bitpack = 0, PForDelta = 1, Rice = 2 };
inline constexpr int kCodecs = 3;

// The head that is stored uncompressed for each block of a list of several blocks.
struct BlockHead {
    std::uint32_t last;    // ordinal of the block's last posting
    std::uint32_t offset;  // byte at which the block begins, counted from the list's
    std::uint16_t bound;   // the upper half of a float: the least norm / frequency in the block, rounded down
    std::uint8_t parameter;  // the codec's, see encode_gaps
    std::uint8_t frequency_bits;
};
static_assert(sizeof(BlockHead) == 12);

// ---- bit packing -----------------------------------------------------------------------------------------

inline std::uint64_t load_word(const std::uint8_t *from) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof(word));
    if constexpr (std::endian::native == std::endian::big)
        word = __builtin_bswap64(word);
    return word;
}

inline std::uint32_t bits_for(std::uint32_t value) {
    return static_cast<std::uint32_t>(std::bit_width(value));
}

inline std::uint32_t packed_bytes(std::uint32_t count, std::uint32_t bits) {
    return (count * bits + 7) / 8;
}

// Packs the low `bits` bits (at most 32) of each value; it writes packed_bytes(count, bits) bytes.
inline void pack(const std::uint32_t *values, std::uint32_t count, std::uint32_t bits, std::uint8_t *out) {
    std::uint64_t word = 0;
    std::uint32_t filled = 0;
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    for (std::uint32_t i = 0; i < count; i++) {
        word |= (values[i] & mask) << filled;
        for (filled += bits; filled >= 8; filled -= 8) {
            *out++ = static_cast<std::uint8_t>(word);
            word >>= 8;
        }
    }
    if (filled > 0)
        *out = static_cast<std::uint8_t>(word);
}

inline std::uint32_t unpack_one(const std::uint8_t *in, std::uint32_t i, std::uint32_t bits) {
    const std::uint32_t at = i * bits;
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    return static_cast<std::uint32_t>((load_word(in + at / 8) >> (at % 8)) & mask);
}

// Eight values of a width known when this is compiled take as many bytes as each has bits.
template <std::uint32_t Bits>
struct UnpackEights {
    template <std::size_t... Place>
    static void eight(const std::uint8_t *in, std::uint32_t *out, std::index_sequence<Place...>) {
        constexpr std::uint64_t kMask = (std::uint64_t{1} << Bits) - 1;
        ((out[Place] =
              static_cast<std::uint32_t>((load_word(in + Place * Bits / 8) >> (Place * Bits % 8)) & kMask)),
         ...);
    }

    static void run(const std::uint8_t *in, std::uint32_t eights, std::uint32_t *out) {
        for (std::uint32_t i = 0; i < eights; i++, in += Bits, out += 8)
            eight(in, out, std::make_index_sequence<8>());
    }
};

template <std::size_t... Bits>
inline void unpack_eights(const std::uint8_t *in, std::uint32_t eights, std::uint32_t bits,
                          std::uint32_t *out, std::index_sequence<Bits...>) {
    using Run = void (*)(const std::uint8_t *, std::uint32_t, std::uint32_t *);
    static constexpr Run kRuns[] = {UnpackEights<Bits>::run...};
    kRuns[bits](in, eights, out);
}

// Unpacks what `pack` wrote; `bits` is at most 32. It reads up to kPadding bytes behind the packed ones.
inline void unpack(const std::uint8_t *in, std::uint32_t count, std::uint32_t bits, std::uint32_t *out) {
    unpack_eights(in, count / 8, bits, out, std::make_index_sequence<33>());
    for (std::uint32_t i = count / 8 * 8; i < count; i++)
        out[i] = unpack_one(in, i, bits);
}

inline std::uint32_t widest(const std::uint32_t *values, std::uint32_t count) {
    std::uint32_t all = 0;
    for (std::uint32_t i = 0; i < count; i++)
        all |= values[i];
    return bits_for(all);
}

// ---- PForDelta -------------------------------------------------------------------------------------------

// Returns the b with which `count` values take roughly the least room: an exception costs its high bits and
// its place.
inline std::uint32_t choose_frame_bits(const std::uint32_t *values, std::uint32_t count) {
    constexpr std::uint64_t kPlaceBits = 4;
    std::uint64_t of_width[33] = {};
    for (std::uint32_t i = 0; i < count; i++)
        of_width[bits_for(values[i])]++;
    std::uint32_t best = 32;
    std::uint64_t best_cost = UINT64_MAX;
    for (std::uint32_t bits = 0; bits <= 32; bits++) {
        std::uint64_t cost = std::uint64_t{count} * bits;
        for (std::uint32_t width = bits + 1; width <= 32; width++)
            cost += of_width[width] * (width - bits + kPlaceBits);
        if (cost < best_cost) {
            best_cost = cost;
            best = bits;
        }
    }
    return best;
}

// Exceptions are nested at most so deep; those of the deepest level have no exceptions.
inline constexpr int kMaxNesting = 4;

inline std::uint32_t encode_frame(const std::uint32_t *values, std::uint32_t count, std::uint32_t bits,
                                  int depth, std::uint8_t *out);

// Encodes the places or the high bits of exceptions, with a b of their own in front.
inline std::uint32_t encode_nested(const std::uint32_t *values, std::uint32_t count, int depth,
                                   std::uint8_t *out) {
    const std::uint32_t bits =
        depth == kMaxNesting ? widest(values, count) : choose_frame_bits(values, count);
    *out = static_cast<std::uint8_t>(bits);
    return 1 + encode_frame(values, count, bits, depth, out + 1);
}

// Writes the number of exceptions, the low bits, and the exceptions' places (as gaps) and high bits. They
// take at most 3 * kMaxGapBytes bytes for 128 values.
inline std::uint32_t encode_frame(const std::uint32_t *values, std::uint32_t count, std::uint32_t bits,
                                  int depth, std::uint8_t *out) {
    std::uint32_t places[kBlockPostings];
    std::uint32_t highs[kBlockPostings];
    std::uint32_t exceptions = 0;
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; bits < 32 && i < count; i++) {
        if (values[i] >> bits == 0)
            continue;
        places[exceptions] = i - next;
        highs[exceptions] = (values[i] >> bits) - 1;
        exceptions++;
        next = i + 1;
    }
    *out = static_cast<std::uint8_t>(exceptions);
    std::uint32_t bytes = 1 + packed_bytes(count, bits);
    pack(values, count, bits, out + 1);
    if (exceptions > 0) {
        bytes += encode_nested(places, exceptions, depth + 1, out + bytes);
        bytes += encode_nested(highs, exceptions, depth + 1, out + bytes);
    }
    return bytes;
}

inline bool decode_frame(const std::uint8_t *in, std::uint32_t bytes, std::uint32_t count, std::uint32_t bits,
                         int depth, std::uint32_t *values, std::uint32_t *used);

inline bool decode_nested(const std::uint8_t *in, std::uint32_t bytes, std::uint32_t count, int depth,
                          std::uint32_t *values, std::uint32_t *used) {
    if (bytes < 1 || in[0] > 32 || !decode_frame(in + 1, bytes - 1, count, in[0], depth, values, used))
        return false;
    *used += 1;
    return true;
}

inline bool decode_frame(const std::uint8_t *in, std::uint32_t bytes, std::uint32_t count, std::uint32_t bits,
                         int depth, std::uint32_t *values, std::uint32_t *used) {
    *used = 1 + packed_bytes(count, bits);
    if (bytes < *used)
        return false;
    unpack(in + 1, count, bits, values);
    const std::uint32_t exceptions = in[0];
    if (exceptions == 0)
        return true;
    if (exceptions > count || depth == kMaxNesting || bits >= 32)
        return false;
    std::uint32_t places[kBlockPostings];
    std::uint32_t highs[kBlockPostings];
    std::uint32_t nested;
    if (!decode_nested(in + *used, bytes - *used, exceptions, depth + 1, places, &nested))
        return false;
    *used += nested;
    if (!decode_nested(in + *used, bytes - *used, exceptions, depth + 1, highs, &nested))
        return false;
    *used += nested;
    std::uint64_t place = 0;
    for (std::uint32_t i = 0; i < exceptions; i++, place++) {
        place += places[i];
        if (place >= count || highs[i] >= UINT32_MAX >> bits)
            return false;
        values[place] |= (highs[i] + 1) << bits;
    }
    return true;
}

// ---- Rice ------------------------------------------------------------------------------------------------

inline std::uint64_t rice_bits(const std::uint32_t *values, std::uint32_t count, std::uint32_t k) {
    std::uint64_t unary = count;
    for (std::uint32_t i = 0; i < count; i++)
        unary += k < 32 ? values[i] >> k : 0;
    return std::uint64_t{8} * packed_bytes(count, k) + unary;
}

inline std::uint32_t choose_rice_parameter(const std::uint32_t *values, std::uint32_t count) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < count; i++)
        sum += values[i];
    const std::uint32_t middle = bits_for(static_cast<std::uint32_t>(sum / count));
    std::uint32_t best = middle;
    for (std::uint32_t k = middle > 2 ? middle - 2 : 0; k <= std::min(middle + 1, 32u); k++)
        if (rice_bits(values, count, k) < rice_bits(values, count, best))
            best = k;
    return best;
}

// Writes the remainders, packed, and then the quotients: as many zeros as each says, and a one behind them.
inline std::uint32_t encode_rice(const std::uint32_t *values, std::uint32_t count, std::uint32_t k,
                                 std::uint8_t *out) {
    const std::uint32_t binary = packed_bytes(count, k);
    const auto bytes = static_cast<std::uint32_t>((rice_bits(values, count, k) + 7) / 8);
    pack(values, count, k, out);
    std::memset(out + binary, 0, bytes - binary);
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < count; i++, at++) {
        at += k < 32 ? values[i] >> k : 0;
        out[binary + at / 8] = static_cast<std::uint8_t>(out[binary + at / 8] | 1u << (at % 8));
    }
    return bytes;
}

inline bool decode_rice(const std::uint8_t *in, std::uint32_t bytes, std::uint32_t count, std::uint32_t k,
                        std::uint32_t *values) {
    const std::uint32_t binary = packed_bytes(count, k);
    if (bytes < binary)
        return false;
    unpack(in, count, k, values);
    const std::uint8_t *unary = in + binary;
    const std::uint32_t end = (bytes - binary) * 8;
    const std::uint32_t most = k < 32 ? UINT32_MAX >> k : 0;
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < count; i++) {
        const std::uint32_t begin = at;
        for (;;) {
            if (at >= end)
                return false;
            const std::uint64_t word = load_word(unary + at / 8) >> (at % 8);
            if (word != 0) {
                at += static_cast<std::uint32_t>(std::countr_zero(word));
                break;
            }
            at += 64 - at % 8;
        }
        const std::uint32_t quotient = at - begin;
        if (at >= end || quotient > most)
            return false;
        if (quotient > 0)
            values[i] |= quotient << k;
        at++;
    }
    return (at + 7) / 8 == bytes - binary;
}

// ---- gaps ------------------------------------------------------------------------------------------------

// This flag in a block's parameter says that the gaps are bit-packed, whatever the list's codec.
inline constexpr std::uint32_t kPackedFlag = 0x80;

// Encodes 1 to 128 gaps into at most kMaxGapBytes bytes; returns how many. `frame_bits` is PForDelta's b of
// the whole list.
inline std::uint32_t encode_gaps(Codec codec, const std::uint32_t *gaps, std::uint32_t count,
                                 std::uint32_t frame_bits, std::uint8_t *out, std::uint8_t *parameter) {
    const std::uint32_t bits = widest(gaps, count);
    const std::uint32_t packed = packed_bytes(count, bits);
    if (codec == Codec::PForDelta) {
        std::uint8_t frame[4 * kMaxGapBytes];
        const std::uint32_t bytes = encode_frame(gaps, count, frame_bits, 0, frame);
        if (bytes < packed) {
            std::memcpy(out, frame, bytes);
            *parameter = static_cast<std::uint8_t>(frame_bits);
            return bytes;
        }
    } else if (codec == Codec::Rice) {
        const std::uint32_t k = choose_rice_parameter(gaps, count);
        if ((rice_bits(gaps, count, k) + 7) / 8 < packed) {
            *parameter = static_cast<std::uint8_t>(k);
            return encode_rice(gaps, count, k, out);
        }
    }
    *parameter = static_cast<std::uint8_t>(bits | (codec == Codec::Bitpack ? 0 : kPackedFlag));
    pack(gaps, count, bits, out);
    return packed;
}

// Returns false when `bytes` bytes are no encoding of `count` gaps (1 to 128). It reads kPadding bytes behind
// them.
inline bool decode_gaps(Codec codec, const std::uint8_t *in, std::uint32_t bytes, std::uint32_t count,
                        std::uint8_t parameter, std::uint32_t *gaps) {
    const std::uint32_t bits = parameter & ~kPackedFlag;
    if (count < 1 || count > kBlockPostings || bits > 32)
        return false;
    const bool packed = (parameter & kPackedFlag) != 0;
    if (packed && codec == Codec::Bitpack)
        return false;
    if (packed || codec == Codec::Bitpack) {
        if (packed_bytes(count, bits) != bytes)
            return false;
        unpack(in, count, bits, gaps);
        return true;
    }
    if (codec == Codec::Rice)
        return decode_rice(in, bytes, count, bits, gaps);
    std::uint32_t used;
    return decode_frame(in, bytes, count, bits, 0, gaps, &used) && used == bytes;
}

// Turns eight gaps into ordinals, and returns the last one's successor.
template <std::size_t... Place>
inline std::uint64_t add_eight_gaps(std::uint32_t *gaps, std::uint64_t end, std::index_sequence<Place...>) {
    ((end += gaps[Place], gaps[Place] = static_cast<std::uint32_t>(end + Place)), ...);
    return end + sizeof...(Place);
}

// Turns gaps into ordinals; `first` is the least that the first one can be, the successor of the previous
// block's last. Returns false when they leave 32 bits.
inline bool add_gaps(std::uint32_t *gaps, std::uint32_t count, std::uint64_t first) {
    std::uint64_t end = first;
    std::uint32_t i = 0;
    for (; i + 8 <= count; i += 8)
        end = add_eight_gaps(gaps + i, end, std::make_index_sequence<8>());
    for (; i < count; i++, end++) {
        end += gaps[i];
        gaps[i] = static_cast<std::uint32_t>(end);
    }
    return end <= std::uint64_t{UINT32_MAX} + 1;
}

// ---- scores ----------------------------------------------------------------------------------------------

// Contributions are integers in units of 2^-32, so that sums are the same in any order.
inline constexpr double kScoreUnit = 1.0 / 4294967296.0;

// The part of a score that does not depend on the document: BM25's k1 (1 - b), and k1 b / avgdl.
struct Norms {
    double base;
    double slope;

    double of(std::uint32_t length) const {
        const double part = slope * static_cast<double>(length);
        return base + part;
    }
};

// Returns what a posting adds to a score; `weight` is idf (k1 + 1) / kScoreUnit. It is at least one unit, so
// that every match counts.
inline std::int64_t contribution(double weight, double norm, std::uint32_t frequency) {
    const double tf = static_cast<double>(frequency);
    const auto units = static_cast<std::int64_t>(weight * tf / (tf + norm) + 0.5);
    return std::max<std::int64_t>(units, 1);
}

inline std::uint16_t encode_bound(double least_norm_per_frequency) {
    const float value = static_cast<float>(least_norm_per_frequency);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    // Rounding to float may have gone up by half a unit; what is cut off is 2^16 of them or nothing.
    return static_cast<std::uint16_t>((bits > 0 ? bits - 1 : 0) >> 16);
}

// Returns the most a posting of the block contributes when lengths weigh `shrink` (at most 1) times what they
// did when the bound was written.
inline std::int64_t bound_contribution(double weight, std::uint16_t bound, double shrink) {
    const double ratio = std::bit_cast<float>(std::uint32_t{bound} << 16);
    if (!(ratio >= 0))
        return static_cast<std::int64_t>(weight) + 2;
    return static_cast<std::int64_t>(weight / (1.0 + ratio * shrink)) + 2;
}

inline float score_of(std::int64_t units) {
    return static_cast<float>(static_cast<double>(units) * kScoreUnit);
}

}  // namespace gpu_engine::postings
