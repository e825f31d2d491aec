// Histograms of equal-width bins.
//
// A number's bin is the one that width_bucket(value::float8, low, high, bins) gives. The engine doesn't
// repeat that function's arithmetic, whose roundings differ between PostgreSQL's versions: it gets the bins'
// edges, which whoever has the function finds by `find_bin_edges`.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace gpu_engine {

// Slots of a histogram: values below the bins in slot 0, bin b of 1 to `bins` in slot b, then values above,
// then NaN.
struct HistogramBins {
    static constexpr std::uint32_t max_bins = 1U << 20;

    double low;           // finite, below `high`
    double high;          // finite
    std::uint32_t bins;   // 1 to max_bins
    const double *edges;  // bins + 1: edges[b] is the least value of a bin above b; edges[0] is `low`, none
                          // above `high`

    std::uint32_t below() const noexcept { return 0; }
    std::uint32_t above() const noexcept { return bins + 1; }
    std::uint32_t nan() const noexcept { return bins + 2; }
    std::uint32_t slots() const noexcept { return bins + 3; }
};

// These convert a double to its place in the order of all doubles, with -0 beside 0, and a place to its
// double.
inline std::int64_t place_of_double(double value) noexcept {
    std::int64_t bits;
    static_assert(sizeof(bits) == sizeof(value));
    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
}
inline double double_at_place(std::int64_t place) noexcept {
    const std::int64_t bits = place < 0 ? std::numeric_limits<std::int64_t>::min() - place : place;
    double value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
}

// Fills `edges` (bins + 1) with the least doubles that `bucket` puts into a bin above b, b = 0 to bins.
// `bucket` is width_bucket with these bounds: it doesn't fall as its argument rises. It is called for some
// values around each edge only, since an edge lies within a few roundings of low + b * (high - low) / bins.
template <typename Bucket>
void find_bin_edges(double low, double high, std::uint32_t bins, Bucket bucket, double *edges) {
    edges[0] = low;
    for (std::uint32_t b = 1; b <= bins; ++b) {
        const double share = static_cast<double>(b) / bins;
        // The weighted mean doesn't overflow where high - low does.
        const double guess = std::fmin(std::fmax(low * (1 - share) + high * share, low), high);
        const auto is_above = [&](std::int64_t place) { return bucket(double_at_place(place)) > b; };
        const auto distance = [](std::int64_t from, std::int64_t to) {
            return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
        };
        std::int64_t first = place_of_double(low);  // the edge isn't before
        std::int64_t last = place_of_double(high);  // nor behind: `high` is above all bins
        std::int64_t probe = place_of_double(guess);
        // The steps double until the edge is between the two places; from then on the distance is halved.
        const bool falls = is_above(probe);
        for (std::uint64_t step = 1;; step *= 2) {
            (falls ? last : first) = falls ? probe : probe + 1;
            if (first >= last || distance(first, last) <= step) {
                break;
            }
            probe = static_cast<std::int64_t>(falls ? static_cast<std::uint64_t>(probe) - step
                                                    : static_cast<std::uint64_t>(probe) + step);
            if (is_above(probe) != falls) {
                (falls ? first : last) = falls ? probe + 1 : probe;
                break;
            }
        }
        while (first < last) {
            const std::int64_t middle = first + static_cast<std::int64_t>(distance(first, last) / 2);
            if (is_above(middle)) {
                last = middle;
            } else {
                first = middle + 1;
            }
        }
        edges[b] = double_at_place(first);
    }
}

}  // namespace gpu_engine
