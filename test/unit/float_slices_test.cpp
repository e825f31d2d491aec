// Sums of a tile's floats by slices, compared with the sum of one value after the other.
#include "host/query/float_slices.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace float_slices {

using namespace gpu_engine::query;
using gpu_engine::host::FloatSlices;
using gpu_engine::host::query_tile_rows;

// Room for the sum of any floats.
constexpr SumScale any_scale = {least_exponent, max_sum_words};
using Sum = std::array<std::uint64_t, max_sum_words>;

Sum sum_one_by_one(const std::vector<double> &values, const std::vector<std::uint8_t> &counted) {
    Sum sum = {};
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (counted.empty() || counted[i] != 0) {
            add_float(sum.data(), any_scale, values[i]);
        }
    }
    return sum;
}

// *left is how many values are left out of the slices.
Sum sum_by_slices(const std::vector<double> &values, const std::vector<std::uint8_t> &counted, int *left) {
    Sum sum = {};
    FloatSlices slices;
    EXPECT_TRUE(slices.take(values.data(), static_cast<std::uint32_t>(values.size()),
                            counted.empty() ? nullptr : counted.data()));
    *left = 0;
    slices.add_up([&](const FloatParts &parts) { add_parts(sum.data(), any_scale, parts); },
                  [&](double value) {
                      add_float(sum.data(), any_scale, value);
                      ++*left;
                  });
    return sum;
}

TEST(FloatSlices, SumsAreExact) {
    std::mt19937_64 random(7);
    for (const int spread : {0, 3, 40, 90, 300, 2040}) {
        for (const int center : {0, -1000, 1000}) {
            for (const std::size_t count : {0, 1, 7, 8, 1000, 1024}) {
                SCOPED_TRACE(std::to_string(spread) + " around " + std::to_string(center) + ", " +
                             std::to_string(count));
                std::vector<double> values;
                std::vector<std::uint8_t> counted;
                for (std::size_t i = 0; i < count; ++i) {
                    const auto above = static_cast<int>(random() % (static_cast<unsigned>(spread) + 1));
                    const int exponent = std::clamp(center + above - spread / 2, -1074, 1022);
                    const double part = static_cast<double>(random() >> 11) * 0x1p-53;
                    values.push_back(std::ldexp(random() % 2 == 0 ? part : -part, exponent));
                    counted.push_back(static_cast<std::uint8_t>(random() % 2));
                }
                int left;
                EXPECT_EQ(sum_by_slices(values, {}, &left), sum_one_by_one(values, {}));
                EXPECT_EQ(left == 0 || center != 0 || spread > 90, true);
                EXPECT_EQ(sum_by_slices(values, counted, &left), sum_one_by_one(values, counted));
            }
        }
    }
}

// As many as there may be, of one sign and size, so that slices' sums are as large as they get.
TEST(FloatSlices, SumsOfEqualValuesAreExact) {
    for (const double value :
         {1.0, std::nextafter(2.0, 0), -std::nextafter(1.0, 0), 0x1.fffffffffffffp-900}) {
        int left;
        const std::vector<double> values(query_tile_rows, value);
        EXPECT_EQ(sum_by_slices(values, {}, &left), sum_one_by_one(values, {}));
        EXPECT_EQ(left, 0);
    }
}

TEST(FloatSlices, ValuesThatAreNotFiniteAreRefused) {
    FloatSlices slices;
    for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        std::vector<double> values(20, 1.5);
        values[13] = value;
        EXPECT_FALSE(slices.take(values.data(), 20, nullptr));
        std::vector<std::uint8_t> counted(20, 1);
        counted[13] = 0;
        EXPECT_TRUE(slices.take(values.data(), 20, counted.data()));
    }
}

}  // namespace float_slices
