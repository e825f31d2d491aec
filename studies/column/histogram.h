// Histograms of values that are the caller's: numbers by equal-width bins, bytes, and codes of dictionaries.
// No request of the server asks for these: it counts rows of its mirrors (gpu_engine/column.h).
#pragma once

#include <cstdint>

#include "gpu_engine/column_histogram.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/status.h"

namespace gpu_engine {

// Codes of `bits` bits, 0 to 32, packed without gaps: code i is the `bits` bits from bit i * bits on, the
// lowest bits of a word first.
struct PackedCodes {
    const std::uint32_t *words;
    std::uint64_t count;
    std::uint32_t bits;
};
constexpr std::uint64_t packed_words(std::uint64_t count, std::uint32_t bits) noexcept {
    return (count * bits + 31) / 32;
}
// How many bits the codes of so many dictionary entries need.
constexpr std::uint32_t bits_for(std::uint64_t entries) noexcept {
    std::uint32_t bits = 0;
    while (bits < 32 && entries > std::uint64_t(1) << bits) {
        ++bits;
    }
    return bits;
}

// All calls set `counts`, whose places are as many as there are slots; on a status that isn't ok they hold
// nothing of use. Edges that aren't those of equal-width bins, up to the roundings of width_bucket, are
// invalid_argument.
class Histograms {
  public:
    Histograms() = default;
    Histograms(const Histograms &) = delete;
    Histograms &operator=(const Histograms &) = delete;
    virtual ~Histograms() = default;

    // `counts` has bins.slots() places.
    virtual Status count(Stream &stream, const std::uint8_t *values, std::uint64_t count,
                         const HistogramBins &bins, std::uint64_t *counts) noexcept = 0;
    virtual Status count(Stream &stream, const std::int32_t *values, std::uint64_t count,
                         const HistogramBins &bins, std::uint64_t *counts) noexcept = 0;
    virtual Status count(Stream &stream, const std::int64_t *values, std::uint64_t count,
                         const HistogramBins &bins, std::uint64_t *counts) noexcept = 0;
    virtual Status count(Stream &stream, const float *values, std::uint64_t count, const HistogramBins &bins,
                         std::uint64_t *counts) noexcept = 0;
    virtual Status count(Stream &stream, const double *values, std::uint64_t count, const HistogramBins &bins,
                         std::uint64_t *counts) noexcept = 0;

    // `counts` has 256 places, and says how often each byte occurs.
    virtual Status count_bytes(Stream &stream, const std::uint8_t *bytes, std::uint64_t count,
                               std::uint64_t *counts) noexcept = 0;

    // `slots` counts: slot_of_code says which slot each of the dictionary's entries belongs to, all below
    // `slots`. A code beyond the dictionary, or a slot beyond the slots, is invalid_argument.
    virtual Status count_codes(Stream &stream, const PackedCodes &codes, const std::uint32_t *slot_of_code,
                               std::uint64_t entries, std::uint32_t slots,
                               std::uint64_t *counts) noexcept = 0;
};

}  // namespace gpu_engine
