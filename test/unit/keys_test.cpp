// Key encodings, searches in key arrays, and the build's radix sort, against the standard library.
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
using Widths = testing::Types<uint32_t, uint64_t>;
TYPED_TEST_SUITE(Keys, Widths);

template <typename Key>
static std::vector<typename SignedOf<Key>::type> interesting_integers() {
    using Integer = typename SignedOf<Key>::type;
    std::vector<Integer> values = {std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max(),
                                   0, 1, -1};
    std::mt19937_64 random(1);
    for (int i = 0; i < 500; i++)
        values.push_back(static_cast<Integer>(random()));
    return values;
}

TYPED_TEST(Keys, EncodingKeepsOrderAndComesBack) {
    for (const bool descending : {false, true}) {
        for (const auto a : interesting_integers<TypeParam>()) {
            const TypeParam key_a = encode_integer<TypeParam>(a, descending);
            EXPECT_EQ(decode_integer<TypeParam>(key_a, descending), a);
            for (const auto b : interesting_integers<TypeParam>()) {
                const TypeParam key_b = encode_integer<TypeParam>(b, descending);
                ASSERT_EQ(key_a < key_b, descending ? b < a : a < b);
            }
        }
    }
}

TYPED_TEST(Keys, BoundsAgreeWithTheStandardLibrary) {
    std::mt19937_64 random(2);
    for (uint32_t count = 0; count < 70; count++) {
        for (int round = 0; round < 20; round++) {
            std::vector<TypeParam> keys(count);
            for (auto &key : keys)
                key = static_cast<TypeParam>(random() % 20 +
                                             (round % 2 ? std::numeric_limits<TypeParam>::max() - 20 : 0));
            std::sort(keys.begin(), keys.end());
            std::vector<TypeParam> probes = {0, std::numeric_limits<TypeParam>::max()};
            for (const auto key : keys)
                probes.insert(probes.end(),
                              {static_cast<TypeParam>(key - 1), key, static_cast<TypeParam>(key + 1)});
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
    for (const size_t count : {0, 1, 2, 3, 1000, 50000}) {
        for (const uint64_t range :
             {uint64_t{1}, uint64_t{7}, uint64_t{100000}, std::numeric_limits<uint64_t>::max()}) {
            std::vector<SortEntry<TypeParam>> entries(count);
            for (size_t i = 0; i < count; i++) {
                // Blocks ascend; within one, offsets can arrive out of order, as HOT chains make them.
                entries[i].key = static_cast<TypeParam>(random() % range);
                entries[i].block = static_cast<uint32_t>(i / 50);
                entries[i].offset = static_cast<uint16_t>((i * 7) % 50 + 1);
                entries[i].reserved = 0;
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
