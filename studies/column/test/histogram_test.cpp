// Histograms: each engine against width_bucket's arithmetic, value by value.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu_engine/engine.h"
#include "studies/column/test/studies_under_test.h"
#include "width_bucket.h"
#include "studies/column/test/packed_codes.h"

namespace {

using gpu_engine::HistogramBins;
using gpu_engine::PackedCodes;
using gpu_engine::Status;
using gpu_engine::StatusCode;

// ---- The engines -----------------------------------------------------------------------------------

template <typename Type>
class EngineHistogram : public StudiesTest {
  protected:
    void SetUp() override { open<Type>(); }

    // Makes values around every edge, beyond the bounds, and random ones.
    template <typename Value>
    std::vector<Value> values_for(const Bounds &bounds, const std::vector<double> &edges) {
        std::vector<Value> values;
        const auto add = [&](double value) {
            if constexpr (std::is_floating_point_v<Value>) {
                values.push_back(static_cast<Value>(value));
            } else {
                constexpr double lowest = static_cast<double>(std::numeric_limits<Value>::lowest());
                constexpr double highest = static_cast<double>(std::numeric_limits<Value>::max());
                values.push_back(!(value > lowest)    ? std::numeric_limits<Value>::lowest()
                                 : !(value < highest) ? std::numeric_limits<Value>::max()
                                                      : static_cast<Value>(value));
            }
        };
        const std::size_t step = 1 + edges.size() / 2000;
        for (std::size_t b = 0; b < edges.size(); b += step) {
            const double edge = edges[b];
            add(std::nextafter(edge, -infinity));
            add(edge);
            add(std::nextafter(edge, infinity));
            add(std::ceil(edge));
            add(std::ceil(edge) - 1);
            if constexpr (std::is_same_v<Value, float>) {
                const auto near = static_cast<float>(edge);
                values.push_back(std::nextafter(near, -std::numeric_limits<float>::infinity()));
                values.push_back(std::nextafter(near, std::numeric_limits<float>::infinity()));
            }
        }
        for (const double value :
             {0.0, -0.0, 1.0, -1.0, smallest, -smallest, largest, -largest, infinity, -infinity}) {
            add(value);
        }
        if constexpr (std::is_floating_point_v<Value>) {
            values.insert(values.end(), 3, std::numeric_limits<Value>::quiet_NaN());
            values.push_back(-std::numeric_limits<Value>::quiet_NaN());
        }
        std::uniform_real_distribution<double> within(-0.2, 1.2);
        for (int i = 0; i < 5000; ++i) {
            const double share = within(random_);
            add(bounds.low * (1 - share) + bounds.high * share);
        }
        return values;
    }

    template <typename Value>
    std::vector<std::uint64_t> expected(const std::vector<Value> &values, std::size_t first,
                                        const Bounds &bounds, std::uint32_t bins, Bucket bucket) {
        std::vector<std::uint64_t> counts(bins + 3);
        for (std::size_t i = first; i < values.size(); ++i) {
            const auto value = static_cast<double>(values[i]);
            ++counts[std::isnan(value) ? bins + 2 : bucket(value, bounds.low, bounds.high, bins)];
        }
        return counts;
    }

    template <typename Value>
    void expect_counts(const std::vector<Value> &values, const Bounds &bounds, std::uint32_t bins,
                       Bucket bucket = bucket_of_quotient, std::size_t first = 0) {
        const std::vector<double> edges = edges_of(bounds, bins, bucket);
        expect_counts_by(values, bounds, bins, bucket, edges, first);
    }
    template <typename Value>
    void expect_counts_by(const std::vector<Value> &values, const Bounds &bounds, std::uint32_t bins,
                          Bucket bucket, const std::vector<double> &edges, std::size_t first) {
        const HistogramBins wanted{bounds.low, bounds.high, bins, edges.data()};
        std::vector<std::uint64_t> counts(wanted.slots() + 1, 0xdeadbeef);
        const Status status = studies_->histograms().count(*stream_, values.data() + first,
                                                           values.size() - first, wanted, counts.data());
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(counts.back(), 0xdeadbeef) << "written behind the end";
        counts.pop_back();
        const std::vector<std::uint64_t> right = expected(values, first, bounds, bins, bucket);
        for (std::uint32_t slot = 0; slot < wanted.slots(); ++slot) {
            ASSERT_EQ(counts[slot], right[slot])
                << "slot " << slot << " of " << bins << " bins, edge "
                << (slot > 0 && slot <= bins + 1 ? edges[slot - 1] : quiet_nan);
        }
    }

    template <typename Value>
    void expect_right_bins() {
        for (const Bucket bucket : {bucket_of_quotient, bucket_of_product}) {
            std::vector<Bounds> all(std::begin(ordinary_bounds), std::end(ordinary_bounds));
            if (bucket == bucket_of_quotient) {
                all.insert(all.end(), std::begin(extreme_bounds), std::end(extreme_bounds));
            }
            for (std::size_t i = 0; i < all.size(); ++i) {
                const Bounds &bounds = all[i];
                std::vector<std::uint32_t> all_bins = {1, 3, 256, 1061, 4096};
                if (i % 3 == 0) {
                    all_bins.insert(all_bins.end(), {20000, 65536, 200000});
                }
                for (const std::uint32_t bins : all_bins) {
                    SCOPED_TRACE(std::to_string(bounds.low) + " to " + std::to_string(bounds.high) +
                                 (bucket == bucket_of_quotient ? ", quotient" : ", product"));
                    const std::vector<double> edges = edges_of(bounds, bins, bucket);
                    expect_counts_by(values_for<Value>(bounds, edges), bounds, bins, bucket, edges, 0);
                    ASSERT_FALSE(this->HasFatalFailure());
                }
            }
        }
    }

    // Tries sizes around those of loads, blocks and tiles, from all places within 16 bytes.
    template <typename Value>
    void expect_right_sizes() {
        std::vector<Value> values(140000);
        for (Value &value : values) {
            value = static_cast<Value>(random_() % 1000);
        }
        for (const std::uint32_t bins : {256, 4096, 65536}) {
            for (const std::size_t size :
                 {0,  1,   2,    3,    4,    5,    7,     15,    16,    17,    31,     33,
                  63, 255, 1000, 8191, 8192, 8193, 16384, 16385, 32769, 65535, 131072, 139000}) {
                for (const std::size_t first : {0, 1, 2, 3, 5}) {
                    std::vector<Value> part(values.begin(),
                                            values.begin() + static_cast<std::ptrdiff_t>(size + first));
                    expect_counts(part, {-100, 900}, bins, bucket_of_quotient, first);
                    ASSERT_FALSE(this->HasFatalFailure()) << size << " values from " << first;
                }
            }
        }
    }

    // Tries values that are equal, or nearly all so, and more of them than counters of 16 bits can count.
    template <typename Value>
    void expect_right_skew() {
        for (const std::uint32_t bins : {256, 4096, 65536}) {
            for (const int kinds : {1, 2, 3, 64}) {
                std::vector<Value> values(3000000);
                for (std::size_t i = 0; i < values.size(); ++i) {
                    values[i] = static_cast<Value>(random_() % 50000 == 0 ? random_() % 120 : i % kinds + 17);
                }
                expect_counts(values, {0, 100}, bins);
                ASSERT_FALSE(this->HasFatalFailure()) << kinds << " kinds";
            }
        }
    }
};
TYPED_TEST_SUITE(EngineHistogram, Engines, EngineName);

TYPED_TEST(EngineHistogram, BinsOfInt32AreWidthBuckets) {
    this->template expect_right_bins<std::int32_t>();
}
TYPED_TEST(EngineHistogram, BinsOfInt64AreWidthBuckets) {
    this->template expect_right_bins<std::int64_t>();
}
TYPED_TEST(EngineHistogram, BinsOfFloat32AreWidthBuckets) {
    this->template expect_right_bins<float>();
}
TYPED_TEST(EngineHistogram, BinsOfFloat64AreWidthBuckets) {
    this->template expect_right_bins<double>();
}
TYPED_TEST(EngineHistogram, BinsOfBytesAreWidthBuckets) {
    this->template expect_right_bins<std::uint8_t>();
}

TYPED_TEST(EngineHistogram, CountsInt32OfAllSizes) {
    this->template expect_right_sizes<std::int32_t>();
}
TYPED_TEST(EngineHistogram, CountsInt64OfAllSizes) {
    this->template expect_right_sizes<std::int64_t>();
}
TYPED_TEST(EngineHistogram, CountsFloat32OfAllSizes) {
    this->template expect_right_sizes<float>();
}
TYPED_TEST(EngineHistogram, CountsFloat64OfAllSizes) {
    this->template expect_right_sizes<double>();
}
TYPED_TEST(EngineHistogram, CountsBytesOfAllSizes) {
    this->template expect_right_sizes<std::uint8_t>();
}

TYPED_TEST(EngineHistogram, CountsSkewedInt32) {
    this->template expect_right_skew<std::int32_t>();
}
TYPED_TEST(EngineHistogram, CountsSkewedInt64) {
    this->template expect_right_skew<std::int64_t>();
}
TYPED_TEST(EngineHistogram, CountsSkewedFloat32) {
    this->template expect_right_skew<float>();
}
TYPED_TEST(EngineHistogram, CountsSkewedFloat64) {
    this->template expect_right_skew<double>();
}
TYPED_TEST(EngineHistogram, CountsSkewedBytes) {
    this->template expect_right_skew<std::uint8_t>();
}

TYPED_TEST(EngineHistogram, RefusesBoundsAndEdgesThatCantBe) {
    const std::vector<double> edges = {0, 1, 2, 3};
    const std::vector<double> values = {0.5, 1.5};
    std::vector<std::uint64_t> counts(100);
    const auto count = [&](double low, double high, std::uint32_t bins, const std::vector<double> &own) {
        return this->studies_->histograms()
            .count(*this->stream_, values.data(), values.size(), HistogramBins{low, high, bins, own.data()},
                   counts.data())
            .code;
    };
    EXPECT_EQ(count(0, 3, 3, edges), StatusCode::ok);
    EXPECT_EQ(count(0, 3, 0, edges), StatusCode::invalid_argument);
    EXPECT_EQ(count(0, 3, HistogramBins::max_bins + 1, edges), StatusCode::invalid_argument);
    EXPECT_EQ(count(3, 0, 3, edges), StatusCode::invalid_argument);
    EXPECT_EQ(count(0, 0, 3, edges), StatusCode::invalid_argument);
    EXPECT_EQ(count(0, infinity, 3, edges), StatusCode::invalid_argument);
    EXPECT_EQ(count(quiet_nan, 3, 3, edges), StatusCode::invalid_argument);
    EXPECT_EQ(count(0, 3, 3, {0, 1, 2, 4}), StatusCode::invalid_argument);
    EXPECT_EQ(count(0, 3, 3, {0.1, 1, 2, 3}), StatusCode::invalid_argument);
    EXPECT_EQ(count(0, 3, 3, {0, 2, 1, 3}), StatusCode::invalid_argument);
    EXPECT_EQ(count(0, 3, 3, {0, 1, quiet_nan, 3}), StatusCode::invalid_argument);
    EXPECT_EQ(count(0, 3, 3, {0, 1.001, 2, 3}), StatusCode::invalid_argument);
}

TYPED_TEST(EngineHistogram, CountsBytes) {
    for (const std::size_t size : {0, 1, 3, 16, 17, 1000, 65536, 1000003}) {
        for (const int kinds : {1, 2, 200, 256}) {
            for (const std::size_t first : {0, 1, 5, 15}) {
                std::vector<std::uint8_t> bytes(size + first);
                std::vector<std::uint64_t> right(256);
                for (std::size_t i = 0; i < bytes.size(); ++i) {
                    bytes[i] = static_cast<std::uint8_t>(255 - this->random_() % kinds);
                    right[bytes[i]] += i >= first ? 1 : 0;
                }
                std::vector<std::uint64_t> counts(256, 7);
                const Status status = this->studies_->histograms().count_bytes(
                    *this->stream_, bytes.data() + first, size, counts.data());
                ASSERT_TRUE(status.ok()) << status.message;
                ASSERT_EQ(counts, right) << size << " bytes of " << kinds << " kinds";
            }
        }
    }
}

TYPED_TEST(EngineHistogram, CountsCodesBySlot) {
    for (const std::uint32_t bits :
         {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 31, 32}) {
        // A third of the codes of some widths aren't used.
        const std::uint64_t entries =
            bits >= 18 ? 200001 : (std::uint64_t(1) << bits) * (bits % 2 + 2) / 3 + (bits == 0 ? 1 : 0);
        for (const std::uint32_t slots : {1, 259, 5000}) {
            for (const std::size_t size : {0, 1, 31, 32, 33, 383, 385, 5000, 100001}) {
                std::vector<std::uint32_t> slot_of_code(entries);
                for (std::uint32_t &slot : slot_of_code) {
                    slot = static_cast<std::uint32_t>(this->random_() % slots);
                }
                std::vector<std::uint32_t> codes(size);
                std::vector<std::uint64_t> right(slots);
                for (std::uint32_t &code : codes) {
                    code = static_cast<std::uint32_t>(this->random_() % entries);
                    ++right[slot_of_code[code]];
                }
                const std::vector<std::uint32_t> words = packed(codes, bits);
                std::vector<std::uint64_t> counts(slots, 7);
                const Status status = this->studies_->histograms().count_codes(
                    *this->stream_, PackedCodes{words.data(), size, bits}, slot_of_code.data(), entries,
                    slots, counts.data());
                ASSERT_TRUE(status.ok()) << status.message;
                ASSERT_EQ(counts, right) << bits << " bits, " << slots << " slots, " << size << " codes";
            }
        }
    }
}

// Nearly all rows have one slot in the middle of a dictionary, or two codes in turn.
TYPED_TEST(EngineHistogram, CountsCodesThatAreMuchAlike) {
    for (const std::uint32_t bits : {1, 5, 8, 12, 15, 16}) {
        constexpr std::size_t size = 3000001;
        const std::uint32_t entries = 1U << bits;
        std::vector<std::uint32_t> slot_of_code(entries);
        for (std::uint32_t code = 0; code < entries; ++code) {
            slot_of_code[code] = code;
        }
        for (const std::uint32_t kinds : {1, 2}) {
            std::vector<std::uint32_t> codes(size);
            std::vector<std::uint64_t> right(entries);
            for (std::size_t i = 0; i < size; ++i) {
                codes[i] = i % 100000 == 99999 ? 0 : entries - 1 - static_cast<std::uint32_t>(i) % kinds;
                ++right[codes[i]];
            }
            const std::vector<std::uint32_t> words = packed(codes, bits);
            std::vector<std::uint64_t> counts(entries);
            const Status status = this->studies_->histograms().count_codes(
                *this->stream_, PackedCodes{words.data(), size, bits}, slot_of_code.data(), entries, entries,
                counts.data());
            ASSERT_TRUE(status.ok()) << status.message;
            ASSERT_EQ(counts, right) << bits << " bits, " << kinds << " kinds";
        }
    }
}

TYPED_TEST(EngineHistogram, RefusesCodesBeyondTheDictionary) {
    const struct {
        std::uint64_t entries;
        std::uint32_t bits;
    } cases[] = {{10, 17}, {50000, 17}, {10, 4}, {20, 5}, {10, 12}, {50000, 16}};
    for (const auto &[entries, bits] : cases) {
        const std::vector<std::uint32_t> slot_of_code(entries, 0);
        std::vector<std::uint32_t> codes(1000, 3);
        std::vector<std::uint64_t> counts(2);
        const auto count = [&](const std::vector<std::uint32_t> &slots_of) {
            const std::vector<std::uint32_t> words = packed(codes, bits);
            return this->studies_->histograms()
                .count_codes(*this->stream_, PackedCodes{words.data(), codes.size(), bits}, slots_of.data(),
                             entries, 2, counts.data())
                .code;
        };
        EXPECT_EQ(count(slot_of_code), StatusCode::ok);
        codes[777] = static_cast<std::uint32_t>(entries);
        EXPECT_EQ(count(slot_of_code), StatusCode::invalid_argument);
        codes[777] = (1U << bits) - 1;
        EXPECT_EQ(count(slot_of_code), StatusCode::invalid_argument);
        codes[777] = 3;
        std::vector<std::uint32_t> broken = slot_of_code;
        broken[3] = 2;
        EXPECT_EQ(count(broken), StatusCode::invalid_argument);
    }
}

TYPED_TEST(EngineHistogram, EndsWhenCancelledOrOutOfMemory) {
    const std::vector<double> edges = edges_of({0, 1}, 256, bucket_of_quotient);
    const HistogramBins bins{0, 1, 256, edges.data()};
    const std::vector<float> values(1000000, 0.5F);
    std::vector<std::uint64_t> counts(bins.slots());
    const auto count = [&] {
        return this->studies_->histograms()
            .count(*this->stream_, values.data(), values.size(), bins, counts.data())
            .code;
    };
    this->stream_->cancel();
    EXPECT_EQ(count(), StatusCode::cancelled);
    this->stream_->resume();
    int refused = 0;
    for (std::int64_t after = 0;; ++after) {
        this->engine_->memory().refuse_after(after);
        const StatusCode code = count();
        if (code == StatusCode::ok) {
            break;
        }
        ASSERT_EQ(code, StatusCode::out_of_memory);
        EXPECT_EQ(this->engine_->memory().used(), 0U);
        ++refused;
    }
    EXPECT_GE(refused, 1);
    this->engine_->memory().refuse_after(-1);
    EXPECT_EQ(counts[129], values.size());
}

}  // namespace
