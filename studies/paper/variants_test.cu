// Every variant against the standard library, on arrays small enough that each level, node and pinned key has
// its edges tested.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "studies/paper/variants/search.h"
#include "studies/paper/zipf.cuh"
#include "device/kary/key.cuh"

namespace gpu_engine::bench::paper {
namespace {

std::vector<Variant> with_pinning(const Variant &variant) {
    std::vector<Variant> variants = {variant};
    Variant pinned = variant;
    // The more blocks there are, the less of arrays as small as these is pinned.
    for (const int blocks : {1, 16}) {
        pinned.static_blocks = blocks;
        pinned.pinning = Pinning::none;
        variants.push_back(pinned);
        pinned.pinning = Pinning::full;
        variants.push_back(pinned);
        pinned.pinning = Pinning::steps;
        for (const int steps : {0, 1, 7}) {
            pinned.steps = steps;
            variants.push_back(pinned);
        }
        pinned.steps = 0;
    }
    return variants;
}

// All variants that are compiled for keys of so many bytes.
std::vector<Variant> all_variants(std::size_t key_bytes) {
    std::vector<Variant> variants;
    std::vector<Variant> structures(1);
    for (std::uint32_t fanout = least_fanout; fanout <= max_fanout; ++fanout) {
        // Nodes for each number of lanes are tried, each with full and with partly filled nodes.
        if (fanout <= 6 || (fanout >= 9 && fanout <= 10) || (fanout >= 17 && fanout <= 18) || fanout == 33 ||
            fanout >= 64) {
            Variant kary;
            kary.structure = Structure::kary;
            kary.fanout = fanout;
            structures.push_back(kary);
        }
    }
    for (Variant variant : structures) {
        for (const int threads : {32, 1024}) {
            variant.threads = threads;
            const std::vector<Variant> pinned = with_pinning(variant);
            variants.insert(variants.end(), pinned.begin(), pinned.end());
        }
        if (variant.structure == Structure::kary) {
            Variant together = variant;
            together.together = 2;
            const std::vector<Variant> pinned = with_pinning(together);
            variants.insert(variants.end(), pinned.begin(), pinned.end());
        }
        variant.threads = usual_sort_threads;
        for (const Reordering reordering : {Reordering::lookups, Reordering::full}) {
            variant.reordering = reordering;
            for (const int bits : {128, 5}) {
                variant.sort_bits = bits;
                const std::vector<Variant> pinned = with_pinning(variant);
                variants.insert(variants.end(), pinned.begin(), pinned.end());
            }
        }
    }
    if (key_bytes == 4) {
        Variant tile;
        for (const Reordering reordering : {Reordering::lookups, Reordering::full}) {
            tile.reordering = reordering;
            for (const int items : {8, 16}) {
                tile.threads = usual_sort_threads;
                tile.items = items;
                const std::vector<Variant> pinned = with_pinning(tile);
                variants.insert(variants.end(), pinned.begin(), pinned.end());
            }
            for (const int threads : {128, 256, 512, 1024}) {
                for (const int items : {1, 2, 4, 8, 16}) {
                    tile.threads = threads;
                    tile.items = items;
                    variants.push_back(tile);
                }
            }
        }
    }
    return variants;
}

template <typename Key>
Key key_of(std::uint64_t high, std::uint64_t low) {
    if constexpr (sizeof(Key) == 16) {
        return Key{high, low};
    } else {
        return static_cast<Key>(low);
    }
}

template <typename Key>
class PaperVariants : public testing::Test {
  protected:
    void SetUp() override {
        const Status opened = device::open_engine({}, &opened_);
        if (opened.code == StatusCode::unavailable) {
            GTEST_SKIP() << opened.message;
        }
        ASSERT_TRUE(opened.ok()) << opened.message;
        engine_ = static_cast<device::DeviceEngine *>(opened_.get());
        stream_ = std::make_unique<device::DeviceStream>(*engine_);
    }

    // `keys` need not be sorted. There are about four lookups for each of `taken` of them.
    void expect_all(std::vector<Key> keys, const std::vector<Variant> &variants, std::size_t taken) {
        std::sort(keys.begin(), keys.end());
        std::vector<Key> lookups = {Key{}, device::highest_key<Key>(), key_of<Key>(0, 1),
                                    key_of<Key>(UINT64_MAX, UINT64_MAX - 1), keys.back()};
        for (std::size_t i = 0; i < keys.size(); i += 1 + keys.size() / taken) {
            const Key &key = keys[i];
            lookups.push_back(key);
            if (device::highest_key<Key>() > key) {
                lookups.push_back(moved(key, 1));
            }
            if (key > Key{}) {
                lookups.push_back(moved(key, -1));
            }
            lookups.push_back(key_of<Key>(random_(), random_()));
        }
        std::shuffle(lookups.begin(), lookups.end(), random_);
        std::vector<std::uint32_t> expected;
        for (const Key &key : lookups) {
            expected.push_back(
                static_cast<std::uint32_t>(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin()));
        }

        const device::Call call(*engine_, *stream_);
        const device::Buffer<Key> device_keys = call.buffer<Key>(keys.size());
        const device::Buffer<Key> device_lookups = call.buffer<Key>(lookups.size());
        const device::Buffer<std::uint32_t> ranks = call.buffer<std::uint32_t>(lookups.size());
        call.copy(device_keys.data(), static_cast<const Key *>(keys.data()), keys.size());
        call.copy(device_lookups.data(), static_cast<const Key *>(lookups.data()), lookups.size());
        Separators<Key> separators;
        std::vector<std::uint32_t> found(lookups.size());
        for (const Variant &variant : variants) {
            if (variant.structure == Structure::kary && separators.fanout != variant.fanout) {
                separators = build_separators(call, device_keys.data(), keys.size(), variant.fanout);
            }
            const Index<Key> index{device_keys.data(), keys.size(), keys.back(), &separators};
            // The number of lookups is no multiple of anything; and one array gets a single lookup.
            for (const std::size_t count : {lookups.size(), std::size_t(1)}) {
                if (count == 1 && keys.size() != 273) {
                    continue;
                }
                call.fill(ranks.data(), 0xee, ranks.bytes());
                ASSERT_TRUE(
                    look_up(call, index, variant, Batch<Key>{device_lookups.data(), count, ranks.data()}))
                    << describe(variant);
                call.copy(found.data(), static_cast<const std::uint32_t *>(ranks.data()), found.size());
                call.wait();
                const auto [wrong, right] = std::mismatch(
                    found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), expected.begin());
                ASSERT_TRUE(wrong == found.begin() + static_cast<std::ptrdiff_t>(count))
                    << describe(variant) << ", lookup " << wrong - found.begin() << " of " << count << ": "
                    << *wrong << " and not " << *right;
                ASSERT_TRUE(count == found.size() || found[count] == 0xeeeeeeeeU)
                    << describe(variant) << " wrote behind its last rank";
            }
        }
    }

    static Key moved(const Key &key, int by) {
        if constexpr (sizeof(Key) == 16) {
            const std::uint64_t low = key.low + static_cast<std::uint64_t>(by);
            const bool carries = by > 0 ? low == 0 : low == UINT64_MAX;
            return Key{key.high + (carries ? static_cast<std::uint64_t>(by) : 0), low};
        } else {
            return static_cast<Key>(key + static_cast<Key>(by));
        }
    }

    std::mt19937_64 random_{20261121};
    std::unique_ptr<Engine> opened_;
    device::DeviceEngine *engine_ = nullptr;
    std::unique_ptr<device::DeviceStream> stream_;
};
using Keys = testing::Types<std::uint32_t, std::uint64_t, Key128>;
TYPED_TEST_SUITE(PaperVariants, Keys);

TYPED_TEST(PaperVariants, AnswerAsTheStandardLibrary) {
    using Key = TypeParam;
    const std::vector<Variant> variants = all_variants(sizeof(Key));
    auto &random = this->random_;
    // The sizes lie around whole nodes and levels of several fan-outs, and around powers of two.
    for (const std::size_t size : {1, 2, 3, 17, 64, 257, 272, 273, 4097, 4913, 70003}) {
        std::vector<Key> keys(size);
        const auto expect = [&](const char *pattern, auto key) {
            SCOPED_TRACE(std::string(pattern) + ", " + std::to_string(size) + " entries");
            for (std::size_t i = 0; i < size; ++i) {
                keys[i] = key(i);
            }
            this->expect_all(keys, variants, 300);
        };
        expect("uniform", [&](std::size_t) { return key_of<Key>(random(), random()); });
        expect("few distinct", [&](std::size_t) { return key_of<Key>(random() % 2, random() % 5); });
        expect("ascending", [&](std::size_t i) { return key_of<Key>(0, i * 2); });
        expect("all highest", [&](std::size_t) { return device::highest_key<Key>(); });
        expect("two ends", [&](std::size_t i) {
            return i % 2 == 0 ? key_of<Key>(0, i) : key_of<Key>(UINT64_MAX, UINT64_MAX - i);
        });
        ASSERT_FALSE(this->HasFatalFailure());
    }
}

// There are more lookups than the blocks of static scheduling take at once.
TYPED_TEST(PaperVariants, AnswerLargeBatches) {
    using Key = TypeParam;
    std::vector<Key> keys(1000003);
    for (Key &key : keys) {
        key = key_of<Key>(this->random_(), this->random_());
    }
    std::vector<Variant> variants;
    for (const Variant &variant : all_variants(sizeof(Key))) {
        if (variant.static_blocks <= 1 && (variant.structure == Structure::binary || variant.fanout == 17)) {
            variants.push_back(variant);
        }
    }
    this->expect_all(keys, variants, keys.size());
}

TYPED_TEST(PaperVariants, RefuseWhatIsNotCompiled) {
    using Key = TypeParam;
    const device::Call call(*this->engine_, *this->stream_);
    const device::Buffer<Key> key = call.template buffer<Key>(1);
    call.fill(key.data(), 0, key.bytes());
    const device::Buffer<std::uint32_t> rank = call.template buffer<std::uint32_t>(1);
    const Index<Key> index{key.data(), 1, Key{}, nullptr};
    Variant pinned_without_static;
    pinned_without_static.pinning = Pinning::full;
    Variant odd_tile;
    odd_tile.reordering = Reordering::full;
    odd_tile.threads = 96;
    for (const Variant &variant : {pinned_without_static, odd_tile}) {
        EXPECT_FALSE(look_up(call, index, variant, Batch<Key>{key.data(), 1, rank.data()}))
            << describe(variant);
    }
}

// Each of a few numbers is drawn as often as the distribution says.
TEST(PaperZipf, FollowsItsDistribution) {
    constexpr std::uint64_t most = 8;
    constexpr std::uint64_t draws = 100000;
    for (const double exponent : {0.25, 1.0, 1.5}) {
        const Zipf zipf(most, exponent);
        std::vector<double> shares(most + 1);
        for (std::uint64_t i = 0; i < draws; ++i) {
            const std::uint64_t k = zipf.draw(i);
            ASSERT_GE(k, 1U);
            ASSERT_LE(k, most);
            shares[k] += 1.0 / draws;
        }
        double sum = 0;
        for (std::uint64_t k = 1; k <= most; ++k) {
            sum += std::pow(static_cast<double>(k), -exponent);
        }
        for (std::uint64_t k = 1; k <= most; ++k) {
            // This is five standard deviations of a share of a half.
            EXPECT_NEAR(shares[k], std::pow(static_cast<double>(k), -exponent) / sum, 0.008)
                << k << " of exponent " << exponent;
        }
    }
}

}  // namespace
}  // namespace gpu_engine::bench::paper
