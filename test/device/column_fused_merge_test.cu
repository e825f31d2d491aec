// Tests the fused merge with small tiles, too, so that tiles' borders lie everywhere: between duplicates,
// within spans of main's entries alone and of delta's alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "device/column/merge/fused_merge.cuh"

#include "device_test.h"

namespace gpu_engine::device {
namespace {

template <int Threads, int Items>
struct SmallShape {
    static constexpr int threads = Threads;
    static constexpr int blocks = 1;
    static constexpr int items = Items;
};
using Shapes = testing::Types<SmallShape<32, 1>, SmallShape<32, 2>, SmallShape<64, 3>, SmallShape<64, 8>,
                              SmallShape<128, 31>, FusedShape<4>, FusedShape<8>, FusedShape<16>>;

template <typename Shape>
class FusedMerge : public DeviceTest {
  protected:
    void expect_merge(const std::vector<std::uint32_t> &main, const std::vector<std::uint32_t> &delta) {
        const std::uint64_t total = main.size() + delta.size();
        if (total == 0) {
            return;
        }
        std::vector<std::uint32_t> right;
        std::set_union(main.begin(), main.end(), delta.begin(), delta.end(), std::back_inserter(right));
        const Call call(*engine_, *stream_);
        const auto on_device = [&](const std::vector<std::uint32_t> &values) {
            Buffer<std::uint32_t> own = call.buffer<std::uint32_t>(values.size() + 1);
            call.copy(own.data(), values.data(), values.size());
            return own;
        };
        const Buffer<std::uint32_t> own_main = on_device(main);
        const Buffer<std::uint32_t> own_delta = on_device(delta);
        const Buffer<std::uint32_t> merged = call.buffer<std::uint32_t>(total);
        const Buffer<std::uint32_t> maps = call.buffer<std::uint32_t>(total);
        const Buffer<std::uint64_t> count = call.buffer<std::uint64_t>(1);
        call.fill(merged.data(), 0xee, merged.bytes());
        call.fill(maps.data(), 0xee, maps.bytes());
        launch_fused_merge<Shape>(
            call, NumberMerge<std::uint32_t>{own_main.data(), own_delta.data(), merged.data()}, main.size(),
            delta.size(), maps.data(), maps.data() + main.size(), count.data());
        std::uint64_t found_count = 0;
        std::vector<std::uint32_t> found(right.size());
        std::vector<std::uint32_t> found_maps(total);
        call.copy(&found_count, static_cast<const std::uint64_t *>(count.data()), 1);
        call.copy(found.data(), static_cast<const std::uint32_t *>(merged.data()), found.size());
        call.copy(found_maps.data(), static_cast<const std::uint32_t *>(maps.data()), total);
        call.wait();
        ASSERT_EQ(found_count, right.size());
        ASSERT_EQ(found, right);
        for (std::size_t i = 0; i < total; ++i) {
            ASSERT_LT(found_maps[i], right.size());
            ASSERT_EQ(right[found_maps[i]], i < main.size() ? main[i] : delta[i - main.size()])
                << "entry " << i;
        }
    }

    std::mt19937_64 random_{20261121};
};
TYPED_TEST_SUITE(FusedMerge, Shapes);

TYPED_TEST(FusedMerge, IsRightWhereverTheTilesEnd) {
    for (const std::size_t size : {1, 31, 32, 33, 64, 200, 1000, 5000, 40000}) {
        // Decides for each number whether main and delta have it, in spans of one kind.
        for (const std::size_t span : {1, 2, 7, 100, 4000}) {
            std::vector<std::uint32_t> main;
            std::vector<std::uint32_t> delta;
            std::uint64_t kind = 0;
            for (std::size_t i = 0; i < size; ++i) {
                if (i % span == 0) {
                    kind = this->random_() % 3;
                }
                if (kind != 1) {
                    main.push_back(static_cast<std::uint32_t>(i));
                }
                if (kind != 2) {
                    delta.push_back(static_cast<std::uint32_t>(i));
                }
            }
            this->expect_merge(main, delta);
            ASSERT_FALSE(this->HasFatalFailure()) << size << " numbers, stretches of " << span;
        }
    }
}

}  // namespace
}  // namespace gpu_engine::device
