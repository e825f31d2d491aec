// Exact sums of a tile's floats: integers of 64 bits, each of which has the values' bits from a multiple of
// 32 binary places on. A value is added to two of them, without carries: there is room for a tile's.
#pragma once

#include <algorithm>

#include "common/query/sum_float.h"
#include "host/query/tile.h"

namespace gpu_engine::host {

class FloatChunks {
  public:
    // Additions to the same chunk wait for each other, so each group has several sums.
    static constexpr std::uint32_t lanes = 4;
    static constexpr std::uint32_t groups = 16;

    // The chunks that some values have been added to.
    struct Span {
        std::uint32_t first = UINT32_MAX;
        std::uint32_t last = 0;
    };

    // A finite value, to a sum of groups * lanes.
    void add(std::uint32_t sum, double value, Span *span) noexcept {
        const query::FloatParts parts = query::split_float(value);
        const auto place = static_cast<std::uint32_t>(parts.exponent - query::least_exponent);
        const std::uint32_t chunk = place / chunk_bits;
        const std::uint32_t shift = place % chunk_bits;
        const std::uint64_t size = query::magnitude(parts.mantissa);
        const auto low = static_cast<std::int64_t>(size << shift & chunk_mask);
        const auto high = static_cast<std::int64_t>(size >> (chunk_bits - shift));
        const std::int64_t sign = parts.mantissa >> 63;
        std::int64_t *chunks = chunks_[sum];
        chunks[chunk] += (low ^ sign) - sign;
        chunks[chunk + 1] += (high ^ sign) - sign;
        span->first = std::min(span->first, chunk);
        span->last = std::max(span->last, chunk + 1);
    }

    // Calls give(group, parts) for what the sums of so many groups come to, and begins anew.
    template <typename Give>
    void take(std::uint32_t count, const Span &span, Give give) noexcept {
        for (std::uint32_t group = 0; group < count; ++group) {
            for (std::uint32_t chunk = span.first; chunk <= span.last; ++chunk) {
                std::int64_t sum = 0;
                for (std::uint32_t lane = 0; lane < lanes; ++lane) {
                    std::int64_t &own = chunks_[group * lanes + lane][chunk];
                    sum += own;
                    own = 0;
                }
                if (sum != 0) {
                    give(group, query::FloatParts{sum, query::least_exponent +
                                                           static_cast<std::int32_t>(chunk * chunk_bits)});
                }
            }
        }
    }

  private:
    static constexpr std::uint32_t chunk_bits = 32;
    static constexpr std::uint64_t chunk_mask = UINT32_MAX;
    // From the least float's place on to the highest bit of the greatest.
    static constexpr std::uint32_t chunks = (2046 + 53) / chunk_bits + 2;
    static_assert(std::uint64_t{query_tile_rows} << 52 <= std::uint64_t(1) << 62);

    std::int64_t chunks_[groups * lanes][chunks] = {};
};

}  // namespace gpu_engine::host
