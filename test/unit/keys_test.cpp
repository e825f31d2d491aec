// Searches in key arrays and the build's radix sort, against the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "kary/key.h"
#include "kary/radix_sort.h"
#include "kary/search.h"

using namespace pg_gpu::kary;

template <typename Key>
class Keys : public testing::Test {};
using Widths = testing::Types<uint32_t, uint64_t, Key128>;
TYPED_TEST_SUITE(Keys, Widths);

// The number in the key's lower half, or spread over all of a wide key.
template <typename Key>
static Key key_of(uint64_t low, uint64_t high = 0) {
    if constexpr (sizeof(Key) == 16)
        return Key128{high, low};
    else
        return static_cast<Key>(low);
}

template <typename Key>
static Key neighbour(Key key, int step) {
    return key_from<Key>(static_cast<Bits<Key>>(bits_of(key) + static_cast<Bits<Key>>(step)));
}

TEST(Key128, ComparesAsOneInteger) {
    std::mt19937_64 random(4);
    const auto word = [&] {
        const uint64_t choice = random() % 4;
        return choice == 0 ? 0 : choice == 1 ? ~uint64_t{0} : choice == 2 ? random() % 3 : random();
    };
    for (int i = 0; i < 100000; i++) {
        const Key128 a = {word(), word()};
        const Key128 b = {word(), word()};
        const auto pair_a = std::make_pair(a.high, a.low);
        const auto pair_b = std::make_pair(b.high, b.low);
        ASSERT_EQ(a < b, pair_a < pair_b);
        ASSERT_EQ(a <= b, pair_a <= pair_b);
        ASSERT_EQ(a > b, pair_a > pair_b);
        ASSERT_EQ(a >= b, pair_a >= pair_b);
        ASSERT_EQ(a == b, pair_a == pair_b);
        ASSERT_EQ(a != b, pair_a != pair_b);
        ASSERT_TRUE(Key128::from(a.bits()) == a);
    }
}

TYPED_TEST(Keys, BoundsAgreeWithTheStandardLibrary) {
    std::mt19937_64 random(2);
    for (uint32_t count = 0; count < 70; count++) {
        for (int round = 0; round < 20; round++) {
            std::vector<TypeParam> keys(count);
            for (auto &key : keys)
                key = key_of<TypeParam>(
                    random() % 20 + (round % 2 ? std::numeric_limits<uint64_t>::max() - 20 : 0),
                    round % 4 < 2 ? 0 : random() % 2);
            std::sort(keys.begin(), keys.end());
            std::vector<TypeParam> probes = {key_from<TypeParam>(0), kHighestKey<TypeParam>};
            for (const auto key : keys)
                probes.insert(probes.end(), {neighbour(key, -1), key, neighbour(key, 1)});
            for (const TypeParam probe : probes) {
                ASSERT_EQ(lower_bound(keys.data(), count, probe),
                          std::lower_bound(keys.begin(), keys.end(), probe) - keys.begin());
                ASSERT_EQ(upper_bound(keys.data(), count, probe),
                          std::upper_bound(keys.begin(), keys.end(), probe) - keys.begin());
            }
        }
    }
}

TYPED_TEST(Keys, RadixSortOrdersByKeyThenTid) {
    std::mt19937_64 random(3);
    // Wide keys with the high half constant, and with both varying.
    for (const auto &[count, wide] : std::vector<std::pair<size_t, bool>>{{0, false},
                                                                          {1, false},
                                                                          {2, true},
                                                                          {3, false},
                                                                          {1000, true},
                                                                          {1000, false},
                                                                          {50000, true},
                                                                          {50000, false}}) {
        for (const uint64_t range :
             {uint64_t{1}, uint64_t{7}, uint64_t{100000}, std::numeric_limits<uint64_t>::max()}) {
            std::vector<SortEntry<TypeParam>> entries(count);
            for (size_t i = 0; i < count; i++) {
                // Blocks ascend; within one, offsets can arrive out of order, as HOT chains make them.
                entries[i].key = key_of<TypeParam>(random() % range, wide ? random() % range : 0);
                entries[i].block = static_cast<uint32_t>(i / 50);
                entries[i].offset = static_cast<uint16_t>((i * 7) % 50 + 1);
                entries[i].nulls = 0;
            }
            auto expected = entries;
            std::sort(expected.begin(), expected.end(), entry_less<TypeParam>);
            std::vector<SortEntry<TypeParam>> scratch(count);
            int passes = 0;
            auto *sorted = radix_sort(entries.data(), scratch.data(), count, [&] { passes++; });
            order_tids_within_keys(sorted, count);
            for (size_t i = 0; i < count; i++) {
                ASSERT_EQ(sorted[i].key, expected[i].key);
                ASSERT_EQ(sorted[i].block, expected[i].block);
                ASSERT_EQ(sorted[i].offset, expected[i].offset);
            }
        }
    }
}
