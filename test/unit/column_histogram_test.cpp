// Edges of equal-width bins: those of width_bucket.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "gpu_engine/column_histogram.h"
#include "width_bucket.h"

namespace {

using gpu_engine::find_bin_edges;

TEST(HistogramEdges, AreTheLeastValuesAboveEachBin) {
    for (const Bucket bucket : {bucket_of_quotient, bucket_of_product}) {
        std::vector<Bounds> all(std::begin(ordinary_bounds), std::end(ordinary_bounds));
        if (bucket == bucket_of_quotient) {
            all.insert(all.end(), std::begin(extreme_bounds), std::end(extreme_bounds));
        }
        for (const Bounds &bounds : all) {
            for (const std::uint32_t bins : {1, 2, 3, 10, 256, 1000, 65536}) {
                SCOPED_TRACE(std::to_string(bounds.low) + " to " + std::to_string(bounds.high) + ", " +
                             std::to_string(bins) + " bins");
                const std::vector<double> edges = edges_of(bounds, bins, bucket);
                ASSERT_EQ(edges[0], bounds.low);
                for (std::uint32_t b = 1; b <= bins; ++b) {
                    ASSERT_LE(edges[b - 1], edges[b]);
                    ASSERT_LE(edges[b], bounds.high);
                    ASSERT_GT(bucket(edges[b], bounds.low, bounds.high, bins), b);
                    const double before = std::nextafter(edges[b], -infinity);
                    if (before >= bounds.low) {
                        ASSERT_LE(bucket(before, bounds.low, bounds.high, bins), b);
                    }
                }
            }
        }
    }
}

TEST(HistogramEdges, FewValuesAreLookedAtForAnEdge) {
    for (const Bounds &bounds : {Bounds{-3.7, 12.9}, Bounds{0, 1061}, Bounds{-largest, largest}}) {
        std::uint64_t calls = 0;
        std::vector<double> edges(4097);
        find_bin_edges(
            bounds.low, bounds.high, 4096,
            [&](double value) {
                ++calls;
                return bucket_of_quotient(value, bounds.low, bounds.high, 4096);
            },
            edges.data());
        EXPECT_LT(calls, 4096 * 12);
    }
}

}  // namespace
