#include "studies/column/common/bins.h"

#include <algorithm>
#include <cmath>

namespace gpu_engine {
namespace {

[[noreturn]] void refuse(const char *message) {
    throw Failure{make_status(StatusCode::invalid_argument, message)};
}

// Does every integer fall into its bin without a look at the edges? Positions don't fall as values rise, so
// it is enough to try the integers on both sides of each edge.
bool integers_are_exact(const BinMap &map, const double *edges) {
    constexpr double largest = 9007199254740992.0;  // up to 2^53 the integers are all doubles
    if (map.low < -largest || map.high > largest) {
        return false;
    }
    for (std::uint32_t b = 0; b <= map.bins; ++b) {
        const double first_above = std::ceil(edges[b]);
        for (const double value : {first_above - 1, first_above}) {
            if (map.slot<false>(value, edges) != map.slot<true>(value, edges)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace

BinMap make_bin_map(const HistogramBins &bins, const double *edges, bool for_integers) {
    if (!std::isfinite(bins.low) || !std::isfinite(bins.high) || !(bins.low < bins.high)) {
        refuse("a histogram's bounds must be finite, and the lower one below the upper one");
    }
    // high - low may overflow. Its half can't, but it loses the lowest bit of the smallest numbers.
    int exponent = 0;
    if (std::isfinite(bins.high - bins.low)) {
        static_cast<void>(std::frexp(bins.high - bins.low, &exponent));
    } else {
        static_cast<void>(std::frexp(bins.high / 2 - bins.low / 2, &exponent));
        ++exponent;
    }
    BinMap map{};
    map.low = bins.low;
    map.high = bins.high;
    map.bins = bins.bins;
    map.scale = std::ldexp(1.0, std::min(1 - exponent, 1023));
    map.minus_low = -bins.low * map.scale;
    const double width = bins.high * map.scale + map.minus_low;
    map.factor = std::ldexp(static_cast<double>(bins.bins), 32) / width;
    if (edges[0] != bins.low) {
        refuse("a histogram's first edge must be its lower bound");
    }
    for (std::uint32_t b = 1; b <= bins.bins; ++b) {
        if (!(edges[b] >= edges[b - 1] && edges[b] <= bins.high)) {
            refuse("a histogram's edges must ascend");
        }
        // An edge is the first double behind its exact place: it lies there, or one double's distance above
        // it.
        const double before = double_at_place(place_of_double(edges[b]) - 1);
        const std::uint64_t exact = (std::uint64_t(BinMap::upper_half_of_point) + b) << 32;
        if (map.position(edges[b]) + BinMap::tolerance < exact ||
            (before >= bins.low && map.position(before) > exact + BinMap::tolerance)) {
            refuse("a histogram's edges must be those of bins of equal width");
        }
    }
    // Between integer bounds an integer below an edge is at least 1 / bins away from it, which is 1 / (high -
    // low) of a bin; the bias is half of that.
    map.integer_point = BinMap::point + std::min(std::floor(0x1p31 / (bins.high - bins.low)), 0x1p30);
    map.exact_integers = for_integers && integers_are_exact(map, edges);
    return map;
}

BinMap make_bin_map(const HistogramBins &bins, std::vector<double> *edges, bool for_integers) {
    if (bins.bins < 1 || bins.bins > HistogramBins::max_bins) {
        refuse("a histogram of so many bins can't be made");
    }
    edges->assign(bins.edges, bins.edges + bins.bins + 1);
    return make_bin_map(bins, edges->data(), for_integers);
}

std::vector<std::uint64_t> slots_of_bytes(const HistogramBins &bins, const std::uint64_t *byte_counts) {
    std::vector<double> edges;
    const BinMap map = make_bin_map(bins, &edges);
    std::vector<std::uint64_t> counts(bins.slots());
    for (int byte = 0; byte < 256; ++byte) {
        counts[map.slot<true>(byte, edges.data())] += byte_counts[byte];
    }
    return counts;
}

}  // namespace gpu_engine
