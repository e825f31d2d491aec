// Tries all layouts of the histogram kernels, whichever the library takes: their counts must be the same.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "studies/column/device/byte_histogram.cuh"
#include "studies/column/device/histogram.cuh"

#include "test/device/device_test.h"

namespace gpu_engine::device {
namespace {

class HistogramLayouts : public DeviceTest {
  protected:
    void TearDown() override {
        if (engine_ != nullptr) {
            EXPECT_EQ(engine_->memory().used(), 0U) << "memory leaked";
        }
    }

    template <typename Value>
    void expect_all_plans(std::uint32_t bins, int kinds, std::size_t size) {
        std::vector<double> edges(bins + 1);
        for (std::uint32_t b = 0; b <= bins; ++b) {
            edges[b] = b;
        }
        const HistogramBins wanted{0, static_cast<double>(bins), bins, edges.data()};
        std::vector<Value> values(size);
        std::vector<std::uint64_t> right(wanted.slots());
        for (std::size_t i = 0; i < size; ++i) {
            const auto place = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(kinds)) *
                                   (bins + 20) / kinds -
                               10;
            values[i] = static_cast<Value>(place);
            ++right[place < 0 ? 0 : place >= bins ? bins + 1 : place + 1];
        }
        std::vector<HistogramPlan> plans = {histogram_plan(*engine_, wanted.slots())};
        for (const std::uint64_t blocks : {0, 1, 3, 1000}) {
            for (std::uint32_t shift = 0; shift <= 5; ++shift) {
                const HistogramLayout layout{wanted.slots(), shift};
                if (layout.bytes() <= engine_->shared_bytes()) {
                    plans.push_back({HistogramPlace::block, layout, blocks});
                }
            }
            plans.push_back({HistogramPlace::packed, {wanted.slots(), 0}, blocks});
            plans.push_back({HistogramPlace::global, {wanted.slots(), 0}, blocks});
        }
        for (const HistogramPlan &plan : plans) {
            std::vector<std::uint64_t> counts(wanted.slots(), 7);
            const Status status =
                count_values(*engine_, *stream_, values.data(), values.size(), wanted, counts.data(), &plan);
            ASSERT_TRUE(status.ok()) << status.message;
            ASSERT_EQ(counts, right) << bins << " bins, " << kinds << " kinds, " << size << " values, place "
                                     << static_cast<int>(plan.place) << ", shift " << plan.layout.shift
                                     << ", blocks " << plan.blocks;
        }
    }

    template <BytePlace Place, int LoadBytes>
    void expect_bytes(const std::vector<std::uint8_t> &bytes, std::size_t first) {
        const Call call(*engine_, *stream_);
        std::vector<std::uint64_t> right(byte_slots);
        for (std::size_t i = first; i < bytes.size(); ++i) {
            ++right[bytes[i]];
        }
        const Buffer<std::uint8_t> own = call.buffer<std::uint8_t>(bytes.size() + 1);
        call.copy(own.data(), bytes.data(), bytes.size());
        const Buffer<std::uint64_t> counts = call.buffer<std::uint64_t>(byte_slots);
        for (const std::uint64_t blocks : {0, 1, 7}) {
            call.fill(counts.data(), 0, byte_slots * sizeof(std::uint64_t));
            launch_byte_histogram<Place, LoadBytes>(call, own.data() + first, bytes.size() - first,
                                                    counts.data(), blocks);
            std::vector<std::uint64_t> found(byte_slots);
            call.copy(found.data(), static_cast<const std::uint64_t *>(counts.data()), byte_slots);
            call.wait();
            ASSERT_EQ(found, right) << "place " << static_cast<int>(Place) << ", loads of " << LoadBytes
                                    << ", " << bytes.size() << " bytes from " << first << ", blocks "
                                    << blocks;
        }
    }

    std::mt19937_64 random_{20261121};
};

TEST_F(HistogramLayouts, AllCountTheSame) {
    for (const std::uint32_t bins : {1, 2, 31, 256, 1000, 4096, 20000, 65536}) {
        for (const int kinds : {1, 2, 40, 1000000}) {
            for (const std::size_t size : {1, 1000, 16384, 200001}) {
                expect_all_plans<std::int32_t>(bins, kinds, size);
                expect_all_plans<double>(bins, kinds, size);
                ASSERT_FALSE(HasFatalFailure());
            }
        }
    }
}

// There are more equal values than a block's counters of 16 bits can hold between two barriers.
TEST_F(HistogramLayouts, CountersOfSixteenBitsHandOver) {
    for (const std::size_t size : {32768, 65536, 1000000, 30000001}) {
        for (const int kinds : {1, 2, 3}) {
            std::vector<float> values(size);
            std::vector<double> edges(65537);
            for (std::size_t b = 0; b < edges.size(); ++b) {
                edges[b] = static_cast<double>(b);
            }
            const HistogramBins wanted{0, 65536, 65536, edges.data()};
            std::vector<std::uint64_t> right(wanted.slots());
            for (std::size_t i = 0; i < size; ++i) {
                const auto place = i % static_cast<std::size_t>(kinds) + 4;
                values[i] = static_cast<float>(place);
                ++right[place + 1];
            }
            for (const std::uint64_t blocks : {0, 1}) {
                const HistogramPlan plan{HistogramPlace::packed, {wanted.slots(), 0}, blocks};
                std::vector<std::uint64_t> counts(wanted.slots());
                const Status status = count_values(*engine_, *stream_, values.data(), values.size(), wanted,
                                                   counts.data(), &plan);
                ASSERT_TRUE(status.ok()) << status.message;
                ASSERT_EQ(counts, right) << size << " values of " << kinds << " kinds";
            }
        }
    }
}

TEST_F(HistogramLayouts, AllCountTheSameBytes) {
    for (const std::size_t size : {0, 1, 3, 4, 15, 16, 17, 1000, 65536, 300001}) {
        for (const int kinds : {1, 2, 256}) {
            for (const std::size_t first : {0, 1, 3, 13}) {
                std::vector<std::uint8_t> bytes(size + first);
                for (std::uint8_t &byte : bytes) {
                    byte = static_cast<std::uint8_t>(255 - random_() % static_cast<std::uint64_t>(kinds));
                }
                expect_bytes<BytePlace::global, 1>(bytes, first);
                expect_bytes<BytePlace::block, 1>(bytes, first);
                expect_bytes<BytePlace::thread, 1>(bytes, first);
                expect_bytes<BytePlace::striped, 1>(bytes, first);
                expect_bytes<BytePlace::block, 4>(bytes, first);
                expect_bytes<BytePlace::thread, 4>(bytes, first);
                expect_bytes<BytePlace::striped, 4>(bytes, first);
                expect_bytes<BytePlace::block, 16>(bytes, first);
                expect_bytes<BytePlace::striped, 16>(bytes, first);
                ASSERT_FALSE(HasFatalFailure());
            }
        }
    }
}

}  // namespace
}  // namespace gpu_engine::device
