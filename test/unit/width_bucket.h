// width_bucket as versions of PostgreSQL compute it, and the edges of its bins.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gpu_engine/column_histogram.h"

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double largest = std::numeric_limits<double>::max();
inline constexpr double smallest = std::numeric_limits<double>::denorm_min();

// ---- width_bucket(float8, float8, float8, int) with low below high ---------------------------------------

// As PostgreSQL 15 computes it in its later minor versions, and 16 and later.
inline std::uint32_t bucket_of_quotient(double value, double low, double high, std::uint32_t bins) {
    if (value < low) {
        return 0;
    }
    if (value >= high) {
        return bins + 1;
    }
    const double quotient =
        std::isinf(high - low) ? (value / 2 - low / 2) / (high / 2 - low / 2) : (value - low) / (high - low);
    const auto bin = static_cast<std::uint32_t>(bins * quotient);
    return std::min(bin, bins - 1) + 1;
}

// As earlier versions do, which overflow where the bounds are far apart.
inline std::uint32_t bucket_of_product(double value, double low, double high, std::uint32_t bins) {
    if (value < low) {
        return 0;
    }
    if (value >= high) {
        return bins + 1;
    }
    return static_cast<std::uint32_t>(static_cast<double>(bins) * (value - low) / (high - low) + 1);
}

using Bucket = std::uint32_t (*)(double, double, double, std::uint32_t);

// ---- The edges -----------------------------------------------------------------------------------

struct Bounds {
    double low;
    double high;
};
inline const Bounds ordinary_bounds[] = {{0, 1},           {0, 256},
                                         {-3.7, 12.9},     {0.1, 0.7},
                                         {-1000, 1000},    {1e9, 1e9 + 1},
                                         {-1e300, 1e-300}, {1e-300, 3e-300},
                                         {5, 5.0000001},   {-128, 127},
                                         {0, 1061},        {-0.0, 3},
                                         {1, 1e18},        {-2147483648.0, 2147483648.0}};
inline const Bounds extreme_bounds[] = {{-largest, largest},
                                        {-largest, 0},
                                        {0, smallest},
                                        {0, 10 * smallest},
                                        {-3 * smallest, 5 * smallest},
                                        {1, std::nextafter(1.0, 2.0)},
                                        {1, 1 + 7 * 0x1p-52},
                                        {0x1p53, 0x1p53 + 100},
                                        {-9223372036854775808.0, 9223372036854775808.0},
                                        {9223372036854774784.0, 9223372036854775808.0}};

inline std::vector<double> edges_of(const Bounds &bounds, std::uint32_t bins, Bucket bucket) {
    std::vector<double> edges(bins + 1);
    gpu_engine::find_bin_edges(
        bounds.low, bounds.high, bins,
        [&](double value) { return bucket(value, bounds.low, bounds.high, bins); }, edges.data());
    return edges;
}
