// Bins for benchmarks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu_engine/column_histogram.h"

namespace gpu_engine::bench {

// Returns the edges of bins of one width from 0 to `high`.
inline std::vector<double> equal_bins(double high, std::uint32_t bins) {
    std::vector<double> edges(bins + 1);
    find_bin_edges(
        0, high, bins,
        [&](double value) {
            return value >= high ? bins + 1
                                 : std::min(static_cast<std::uint32_t>(bins * (value / high)), bins - 1) + 1;
        },
        edges.data());
    return edges;
}

}  // namespace gpu_engine::bench
