// Searches in key arrays and the build's radix sort, against the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "keys/key.h"
#include "keys/radix_sort.h"
#include "keys/search.h"

using namespace pg_gpu::keys;

template <typename Key>
class KeysOfWidth : public testing::Test {};
using Widths = testing::Types<uint32_t, uint64_t, Key96, pg_gpu::keys::Key128>;
TYPED_TEST_SUITE(KeysOfWidth, Widths);

// The number in the key's lower bits, or spread over all of a wide key.
template <typename Key>
static Key key_of(uint64_t low, uint64_t high = 0) {
    if constexpr (WideKey<Key>)
        return Key::from(Uint128{high} << 64 | low);
    else
        return static_cast<Key>(low);
}

template <typename Key>
static Key neighbour(Key key, int step) {
    return key_from<Key>(static_cast<Bits<Key>>(bits_of(key) + static_cast<Bits<Key>>(step)));
}

// Numbers with many zeros and ones in a row, and close to one another.
static uint64_t random_word(std::mt19937_64 &random) {
    const uint64_t choice = random() % 4;
    return choice == 0 ? 0 : choice == 1 ? ~uint64_t{0} : choice == 2 ? random() % 3 : random();
}

template <typename Key>
static void expect_order(const Key &a, const Key &b, bool less, bool equal) {
    ASSERT_EQ(a < b, less);
    ASSERT_EQ(a <= b, less || equal);
    ASSERT_EQ(a > b, !less && !equal);
    ASSERT_EQ(a >= b, !less);
    ASSERT_EQ(a == b, equal);
    ASSERT_EQ(a != b, !equal);
    ASSERT_TRUE(Key::from(a.bits()) == a);
}

TEST(Key96, ComparesAsOneInteger) {
    std::mt19937_64 random(4);
    const auto key = [&] {
        return Key96{static_cast<uint32_t>(random_word(random)), static_cast<uint32_t>(random_word(random)),
                     static_cast<uint32_t>(random_word(random))};
    };
    for (int i = 0; i < 100000; i++) {
        const Key96 a = key();
        const Key96 b = key();
        const auto words_a = std::tie(a.high, a.middle, a.low);
        const auto words_b = std::tie(b.high, b.middle, b.low);
        expect_order(a, b, words_a < words_b, words_a == words_b);
        // Bits above the key are left out.
        ASSERT_TRUE(Key96::from(a.bits() | Uint128{random()} << 96) == a);
    }
}

TEST(Key128, ComparesAsOneInteger) {
    std::mt19937_64 random(4);
    for (int i = 0; i < 100000; i++) {
        const pg_gpu::keys::Key128 a = {random_word(random), random_word(random)};
        const pg_gpu::keys::Key128 b = {random_word(random), random_word(random)};
        const auto words_a = std::tie(a.high, a.low);
        const auto words_b = std::tie(b.high, b.low);
        expect_order(a, b, words_a < words_b, words_a == words_b);
    }
}

TYPED_TEST(KeysOfWidth, BoundsAgreeWithTheStandardLibrary) {
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

template <typename Key>
static void expect_sorted(std::vector<SortEntry<Key>> entries, int *passes) {
    auto expected = entries;
    std::sort(expected.begin(), expected.end(), entry_less<Key>);
    std::vector<SortEntry<Key>> scratch(entries.size());
    *passes = 0;
    auto *sorted = radix_sort(entries.data(), scratch.data(), entries.size(), [&] { (*passes)++; });
    order_tids_within_keys(sorted, entries.size());
    for (size_t i = 0; i < entries.size(); i++) {
        ASSERT_EQ(sorted[i].key, expected[i].key);
        ASSERT_EQ(sorted[i].block, expected[i].block);
        ASSERT_EQ(sorted[i].offset, expected[i].offset);
    }
}

TYPED_TEST(KeysOfWidth, RadixSortOrdersByKeyThenTid) {
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
            int passes;
            expect_sorted(entries, &passes);
        }
    }
}

// Few keys differ in their highest digits, so that those leave too much to the insertion sort.
TYPED_TEST(KeysOfWidth, RadixSortOfClustersTakesAllDigits) {
    std::mt19937_64 random(5);
    std::vector<TypeParam> clusters(4);
    for (auto &cluster : clusters)
        cluster = key_of<TypeParam>(random() << 16, random());
    std::vector<SortEntry<TypeParam>> entries(20000);
    for (size_t i = 0; i < entries.size(); i++)
        entries[i] = {join_keys(clusters[random() % 4], key_of<TypeParam>(random() & 0xffff)),
                      static_cast<uint32_t>(i / 50), static_cast<uint16_t>(i % 50 + 1), 0};
    int passes;
    expect_sorted(entries, &passes);
    // Keys of 32 bits have no more than three digits, which three passes sort.
    ASSERT_EQ(passes > 3, sizeof(TypeParam) > 4);
}
