// Encodings of key types: codes ascend as values do in btree's order, and constants of other types find their
// place among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "keys/key.h"

using namespace pg_gpu::keys;

static std::vector<int64_t> integers_of(int width, uint64_t seed) {
    const int64_t most = static_cast<int64_t>(low_bits<uint64_t>(width) >> 1);
    std::vector<int64_t> values = {-most - 1, -most, -1, 0, 1, most - 1, most};
    std::mt19937_64 random(seed);
    for (int i = 0; i < 300; i++)
        values.push_back(decode_signed(random() & low_bits<uint64_t>(width), width));
    return values;
}

TEST(Encodings, IntegersKeepOrderAndComeBack) {
    for (const int width : {8, 16, 32, 48, 64}) {
        for (const int64_t a : integers_of(width, 1)) {
            const uint64_t code = encode_signed(a, width);
            ASSERT_LE(code, low_bits<uint64_t>(width));
            ASSERT_EQ(decode_signed(code, width), a);
            for (const int64_t b : integers_of(width, 2))
                ASSERT_EQ(code < encode_signed(b, width), a < b);
        }
    }
}

// Numbers first, then NaN, whatever its bits.
template <typename Float>
static bool float_less(Float a, Float b) {
    return std::isnan(b) ? !std::isnan(a) : a < b;
}

template <typename Float>
static std::vector<Float> interesting_floats(uint64_t seed) {
    using Limits = std::numeric_limits<Float>;
    using Code = typename FloatCode<Float>::type;
    std::vector<Float> values = {0,
                                 1,
                                 Limits::max(),
                                 Limits::min(),
                                 Limits::denorm_min(),
                                 Limits::infinity(),
                                 Limits::quiet_NaN(),
                                 Limits::epsilon()};
    const size_t positive = values.size();
    for (size_t i = 0; i < positive; i++)
        values.push_back(-values[i]);
    // NaNs with other bits.
    values.push_back(std::bit_cast<Float>(static_cast<Code>(~Code{0})));
    values.push_back(std::bit_cast<Float>(static_cast<Code>(~Code{0} >> 1)));
    std::mt19937_64 random(seed);
    for (int i = 0; i < 500; i++)
        values.push_back(std::bit_cast<Float>(static_cast<Code>(random())));
    return values;
}

template <typename Float>
class FloatEncodings : public testing::Test {};
using FloatTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(FloatEncodings, FloatTypes);

TYPED_TEST(FloatEncodings, OrderIsBtrees) {
    for (const TypeParam a : interesting_floats<TypeParam>(1)) {
        const auto code = encode_float(a);
        const auto back = decode_float<TypeParam>(code);
        ASSERT_TRUE(std::isnan(a) ? std::isnan(back) : back == a);
        for (const TypeParam b : interesting_floats<TypeParam>(2)) {
            ASSERT_EQ(code < encode_float(b), float_less(a, b)) << a << " " << b;
            ASSERT_EQ(code == encode_float(b), !float_less(a, b) && !float_less(b, a)) << a << " " << b;
        }
    }
}

TEST(Encodings, BytesCompareAsStringsOfThem) {
    std::mt19937_64 random(5);
    for (const int count : {6, 8}) {
        for (int i = 0; i < 20000; i++) {
            std::vector<unsigned char> a(static_cast<size_t>(count));
            std::vector<unsigned char> b = a;
            std::vector<unsigned char> back = a;
            for (size_t j = 0; j < a.size(); j++) {
                a[j] = static_cast<unsigned char>(random());
                b[j] = random() % 3 ? a[j] : static_cast<unsigned char>(random());
            }
            const uint64_t code = encode_bytes(a.data(), count);
            ASSERT_EQ(code < encode_bytes(b.data(), count), a < b);
            decode_bytes(code, count, back.data());
            ASSERT_EQ(a, back);
        }
    }
}

// A place is right when every code compares with it as the code's value does with the constant.
template <typename Code>
static void expect_place(const Place<Code> &place, Code code, int order, const std::string &what) {
    ASSERT_EQ(place.any_below && code <= place.below, order < 0) << what;
    ASSERT_EQ(place.any_above && code >= place.above, order > 0) << what;
}

TEST(Encodings, IntegersOfOtherTypesFindTheirPlace) {
    for (const int width : {16, 32, 64}) {
        for (const int constant_width : {16, 32, 64}) {
            for (const int64_t constant : integers_of(constant_width, 6)) {
                const auto place = place_of_integer<uint64_t>(constant, width);
                const auto wide_place = place_of_integer<Uint128>(constant, width);
                for (const int64_t value : integers_of(width, 7)) {
                    const uint64_t code = encode_signed(value, width);
                    const int order = value < constant ? -1 : value > constant;
                    const std::string what = std::to_string(value) + " " + std::to_string(constant);
                    expect_place(place, code, order, what);
                    expect_place(wide_place, Uint128{code}, order, what);
                }
            }
        }
    }
}

TEST(Encodings, DoublesFindTheirPlaceAmongFloats) {
    std::vector<double> constants = interesting_floats<double>(8);
    std::mt19937_64 random(9);
    // Close to floats, on either side.
    for (const float value : interesting_floats<float>(10)) {
        constants.push_back(value);
        constants.push_back(std::nextafter(double{value}, std::numeric_limits<double>::infinity()));
        constants.push_back(std::nextafter(double{value}, -std::numeric_limits<double>::infinity()));
    }
    for (const double constant : constants) {
        const auto place = place_of_double_in_floats<uint32_t>(constant);
        std::vector<float> values = interesting_floats<float>(random());
        const auto nearest = static_cast<float>(constant);
        values.push_back(nearest);
        values.push_back(std::nextafter(nearest, std::numeric_limits<float>::infinity()));
        values.push_back(std::nextafter(nearest, -std::numeric_limits<float>::infinity()));
        for (const float value : values) {
            const int order = float_less(double{value}, constant) ? -1 : float_less(constant, double{value});
            expect_place(place, encode_float(value), order,
                         std::to_string(value) + " " + std::to_string(constant));
        }
    }
}
