// Search trees of many shapes on the device, small ones too, so that each level, block and leaf has its edges
// tested on few entries. The benchmark measures the same shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "bench/kary/tried_shape.h"
#include "device/call.h"
#include "device/kary/launch.cuh"
#include "device/kary/shapes.h"
#include "device/kary/tree_build.cuh"

#include "device_test.h"

namespace gpu_engine::device {
namespace {

using K32 = std::uint32_t;
using K64 = std::uint64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
constexpr CacheHints none = CacheHints::none;
constexpr CacheHints l2 = CacheHints::leaves_leave_l2_first;

constexpr CacheHints pass = CacheHints::leaves_pass_l1;

using TestedShapes = testing::Types<
    // Low tops and narrow blocks make many levels.
    TriedShape<K32, u8, 1, 1, 4, 0, 64>, TriedShape<K32, u8, 1, 2, 4, 1, 64, 2>,
    TriedShape<K32, u8, 4, 4, 8, 2, 128>, TriedShape<K32, u16, 1, 4, 4, 1, 128, 2>,
    TriedShape<K32, u16, 4, 2, 16, 0, 64>, TriedShape<K32, u16, 2, 8, 8, 2, 64, 3>,
    TriedShape<K32, u16, 8, 8, 4, 0, 64>, TriedShape<K32, u8, 2, 8, 4, 0, 64, 1, l2>,
    TriedShape<K32, u16, 1, 4, 4, 3, 64, 2, pass, true>, TriedShape<K32, u8, 1, 2, 4, 0, 64, 1, pass, true>,
    TriedShape<K64, u8, 1, 1, 4, 0, 64>, TriedShape<K64, u16, 2, 4, 4, 1, 128, 2, none>,
    TriedShape<K64, u16, 1, 2, 4, 1, 64>, TriedShape<K64, u8, 4, 8, 8, 1, 64>,
    TriedShape<K64, u8, 1, 4, 4, 2, 64, 2, pass, true>, TriedShape<Key128, u8, 1, 1, 4, 0, 64>,
    TriedShape<Key128, u16, 4, 4, 4, 1, 128, 2>, TriedShape<Key128, u8, 2, 8, 4, 2, 64, 1, l2>,
    TriedShape<Key128, u8, 1, 8, 4, 2, 64, 1, pass, true>,
    // These are the library's shapes.
    Shapes<K32>::Small, Shapes<K32>::Medium, Shapes<K32>::Large, Shapes<K64>::Small, Shapes<K64>::Medium,
    Shapes<K64>::Large, Shapes<Key128>::Small, Shapes<Key128>::Medium, Shapes<Key128>::Large>;

template <typename Key>
Key key_of(std::uint64_t high, std::uint64_t low) {
    if constexpr (sizeof(Key) == 16) {
        return Key{high, low};
    } else {
        return static_cast<Key>(low);
    }
}

template <typename Shape>
class KaryTree : public DeviceTest {
  protected:
    using Key = typename Shape::Key;

    // Tries both operations, with and without copies in shared memory. Keys need not be sorted.
    void expect_all(std::vector<Key> keys) {
        std::sort(keys.begin(), keys.end());
        const Call call(*engine_, *stream_);
        const Buffer<Key> device_keys = call.buffer<Key>(padded_keys<Key>(keys.size()));
        call.copy(device_keys.data(), static_cast<const Key *>(keys.data()), keys.size());
        TreeMemory memory;
        const Tree<Key> tree = build_tree<Shape>(call, device_keys.data(), keys.size(), &memory);

        std::vector<Key> probes = {Key{}, highest_key<Key>(), key_of<Key>(0, 1),
                                   key_of<Key>(UINT64_MAX, UINT64_MAX - 1)};
        for (std::size_t i = 0; i < keys.size(); i += 1 + keys.size() / 3000) {
            const std::uint64_t high = high_of(keys[i]);
            const std::uint64_t low = low_of(keys[i]);
            probes.insert(probes.end(), {keys[i], key_of<Key>(high, low - 1), key_of<Key>(high, low + 1),
                                         key_of<Key>(random_(), random_())});
        }
        std::shuffle(probes.begin(), probes.end(), random_);
        expect_operations<false>(call, tree, keys, probes);
        expect_operations<true>(call, tree, keys, probes);
    }

  private:
    static std::uint64_t high_of(const Key &key) {
        if constexpr (sizeof(Key) == 16) {
            return key.high;
        } else {
            return 0;
        }
    }
    static std::uint64_t low_of(const Key &key) {
        if constexpr (sizeof(Key) == 16) {
            return key.low;
        } else {
            return key;
        }
    }

    template <bool Shared>
    void expect_operations(const Call &call, const Tree<Key> &tree, const std::vector<Key> &keys,
                           const std::vector<Key> &probes) {
        const std::uint64_t count = probes.size();
        const Buffer<Key> low = call.buffer<Key>(count);
        const Buffer<Key> high = call.buffer<Key>(count);
        const Buffer<uint2> found = call.buffer<uint2>(count);
        const Buffer<uint2> bounds = call.buffer<uint2>(count);
        std::vector<Key> highs(probes.rbegin(), probes.rend());
        call.copy(low.data(), probes.data(), count);
        call.copy(high.data(), static_cast<const Key *>(highs.data()), count);
        call.fill(found.data(), 0xee, found.bytes());
        call.fill(bounds.data(), 0xee, bounds.bytes());
        // There are fewer blocks than tiles, so blocks take several tiles.
        std::size_t bytes = 0;
        if constexpr (Shared) {
            bytes = shared_bytes<Shape>(tree);
            if (bytes > engine_->shared_bytes()) {
                ASSERT_TRUE(Shape::shared_nodes);
                return;
            }
        }
        const auto launch = [&](const auto &operation) {
            const auto kernel = search_kernel<Shape, Shared, std::decay_t<decltype(operation)>>;
            if constexpr (Shared) {
                check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(engine_->shared_bytes())),
                      "cudaFuncSetAttribute");
            }
            kernel<<<3, Shape::threads, bytes, call.stream()>>>(tree, operation, count);
            check_launch("search_kernel");
        };
        launch(FindOperation<Shape>{low.data(), found.data()});
        launch(BoundsOperation<Shape>{low.data(), high.data(), bounds.data()});
        std::vector<uint2> host_found(count);
        std::vector<uint2> host_bounds(count);
        call.copy(host_found.data(), static_cast<const uint2 *>(found.data()), count);
        call.copy(host_bounds.data(), static_cast<const uint2 *>(bounds.data()), count);
        call.wait();
        for (std::size_t i = 0; i < count; ++i) {
            const auto first = static_cast<std::uint32_t>(
                std::lower_bound(keys.begin(), keys.end(), probes[i]) - keys.begin());
            const auto last = static_cast<std::uint32_t>(
                std::upper_bound(keys.begin(), keys.end(), probes[i]) - keys.begin());
            const auto end = static_cast<std::uint32_t>(std::upper_bound(keys.begin(), keys.end(), highs[i]) -
                                                        keys.begin());
            ASSERT_EQ(host_found[i].x, first) << "probe " << i;
            ASSERT_EQ(host_found[i].y, last) << "probe " << i;
            ASSERT_EQ(host_bounds[i].x, first) << "probe " << i;
            ASSERT_EQ(host_bounds[i].y, highs[i] < probes[i] ? first : end) << "probe " << i;
        }
    }

  protected:
    std::mt19937_64 random_{20261121};
};
TYPED_TEST_SUITE(KaryTree, TestedShapes);

TYPED_TEST(KaryTree, AnswersAsTheStandardLibrary) {
    using Key = typename TypeParam::Key;
    std::vector<std::size_t> sizes = {1, 2, 3};
    const std::size_t leaf = TypeParam::leaf_keys;
    const std::size_t node = leaf * TypeParam::node_codes;
    for (const std::size_t size : {leaf, 2 * leaf, node, 2 * node, node << TypeParam::top_depth,
                                   (node << TypeParam::top_depth) * TypeParam::block_prefixes}) {
        if (size <= 300000) {
            sizes.insert(sizes.end(), {size - 1, size, size + 1});
        }
    }
    sizes.push_back(100003);
    auto &random = this->random_;
    for (const std::size_t size : sizes) {
        if (size == 0) {
            continue;
        }
        std::vector<Key> keys(size);
        const auto expect = [&](const char *pattern, auto key) {
            SCOPED_TRACE(std::string(pattern) + ", " + std::to_string(size) + " entries");
            for (std::size_t i = 0; i < size; ++i) {
                keys[i] = key(i);
            }
            this->expect_all(keys);
        };
        expect("uniform", [&](std::size_t) { return key_of<Key>(random(), random()); });
        expect("few distinct", [&](std::size_t) { return key_of<Key>(random() % 2, random() % 5); });
        expect("ascending", [&](std::size_t i) { return key_of<Key>(0, i * 2); });
        expect("all highest", [&](std::size_t) { return highest_key<Key>(); });
        expect("all lowest", [&](std::size_t) { return Key{}; });
        expect("clusters", [&](std::size_t) {
            const std::uint64_t cluster = random() % 9 * 0x1717171717171717ULL;
            return key_of<Key>(cluster, cluster + random() % 500);
        });
        expect("powers", [&](std::size_t) {
            return key_of<Key>(random() >> random() % 64, random() >> random() % 64);
        });
        expect("two ends", [&](std::size_t i) {
            return i % 2 == 0 ? key_of<Key>(0, i) : key_of<Key>(UINT64_MAX, UINT64_MAX - i);
        });
        ASSERT_FALSE(this->HasFatalFailure());
    }
}

}  // namespace
}  // namespace gpu_engine::device
