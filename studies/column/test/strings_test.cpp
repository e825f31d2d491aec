// Dictionaries of strings, and codes brought to a merged dictionary: each engine against a plain reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu_engine/engine.h"
#include "studies/column/string_hash.h"
#include "studies/column/test/studies_under_test.h"
#include "studies/column/test/packed_codes.h"

namespace {

using gpu_engine::bits_for;
using gpu_engine::Dictionary;
using gpu_engine::MappedCodes;
using gpu_engine::MergedDictionary;
using gpu_engine::MergedStrings;
using gpu_engine::MergeWay;
using gpu_engine::Status;
using gpu_engine::StatusCode;
using gpu_engine::StringDictionary;
using gpu_engine::StringOrder;

struct PackedStrings {
    std::vector<std::uint64_t> offsets = {0};
    std::vector<std::uint8_t> bytes;

    explicit PackedStrings(const std::vector<std::string> &strings) {
        for (const std::string &string : strings) {
            bytes.insert(bytes.end(), string.begin(), string.end());
            offsets.push_back(bytes.size());
        }
    }
    StringDictionary view() const { return {offsets.data(), bytes.data(), offsets.size() - 1}; }
};

std::uint64_t hash_of(const std::string &string) {
    return gpu_engine::string_hash(reinterpret_cast<const std::uint8_t *>(string.data()), string.size());
}

template <typename UnderTest>
class EngineStrings : public StudiesTest {
  protected:
    void SetUp() override { this->template open<UnderTest>(); }

    // Merges them in the order of their bytes, in which they come, and in that of their hashes.
    void expect_merges(const std::vector<std::string> &main, const std::vector<std::string> &delta) {
        expect_merge(main, delta, StringOrder::bytes, std::less<std::string>());
        const auto by_hash = [](const std::string &a, const std::string &b) {
            return std::pair(hash_of(a), std::string_view(a)) < std::pair(hash_of(b), std::string_view(b));
        };
        std::vector<std::string> hashed_main = main;
        std::vector<std::string> hashed_delta = delta;
        std::sort(hashed_main.begin(), hashed_main.end(), by_hash);
        std::sort(hashed_delta.begin(), hashed_delta.end(), by_hash);
        expect_merge(hashed_main, hashed_delta, StringOrder::hash, by_hash);
    }
    template <typename Before>
    void expect_merge(const std::vector<std::string> &main, const std::vector<std::string> &delta,
                      StringOrder order, Before before) {
        const PackedStrings packed_main(main);
        const PackedStrings packed_delta(delta);
        std::vector<std::string> right;
        std::set_union(main.begin(), main.end(), delta.begin(), delta.end(), std::back_inserter(right),
                       before);
        const PackedStrings packed_right(right);
        std::vector<std::uint64_t> offsets(main.size() + delta.size() + 2, 77);
        std::vector<std::uint8_t> bytes(packed_main.bytes.size() + packed_delta.bytes.size() + 1, 77);
        std::vector<std::uint32_t> main_map(main.size());
        std::vector<std::uint32_t> delta_map(delta.size());
        MergedStrings merged{offsets.data(), bytes.data(), main_map.data(), delta_map.data(), 0};
        const Status status =
            studies_->dictionaries().merge(*stream_, packed_main.view(), packed_delta.view(), order, &merged);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(merged.count, right.size());
        ASSERT_EQ(offsets.back(), 77U);
        ASSERT_EQ(bytes.back(), 77U);
        offsets.resize(right.size() + 1);
        bytes.resize(packed_right.bytes.size());
        ASSERT_TRUE(offsets == packed_right.offsets);
        ASSERT_TRUE(bytes == packed_right.bytes);
        for (std::size_t i = 0; i < main.size(); ++i) {
            ASSERT_LT(main_map[i], right.size());
            ASSERT_EQ(right[main_map[i]], main[i]);
        }
        for (std::size_t i = 0; i < delta.size(); ++i) {
            ASSERT_LT(delta_map[i], right.size());
            ASSERT_EQ(right[delta_map[i]], delta[i]);
        }
    }
};
TYPED_TEST_SUITE(EngineStrings, Engines, EngineName);

TYPED_TEST(EngineStrings, MergesStrings) {
    using Random = std::mt19937_64;
    const auto letters = [](Random &random, std::size_t longest, int kinds) {
        std::string string(random() % (longest + 1), ' ');
        for (char &letter : string) {
            letter = static_cast<char>(random() % static_cast<std::uint64_t>(kinds));
        }
        return string;
    };
    const struct {
        const char *name;
        std::function<std::string(Random &)> make;
    } patterns[] = {
        {"short", [&](Random &random) { return letters(random, 3, 256); }},
        {"zeros and ones", [&](Random &random) { return letters(random, 14, 2); }},
        {"long", [&](Random &random) { return letters(random, 300, 256); }},
        {"equal beginnings", [&](Random &random) { return "the same beginning " + letters(random, 12, 3); }},
        {"only zeros", [&](Random &random) { return std::string(random() % 2000, '\0'); }},
        {"limits", [&](Random &random) { return std::string(random() % 20, static_cast<char>(255)); }},
    };
    for (const auto &pattern : patterns) {
        for (const std::size_t main_size : {0, 1, 2, 255, 256, 257, 2816, 9000}) {
            for (const std::size_t delta_size : {0, 1, 3, 500, 3000}) {
                SCOPED_TRACE(std::string(pattern.name) + ", " + std::to_string(main_size) + " and " +
                             std::to_string(delta_size));
                std::vector<std::string> main(main_size);
                std::vector<std::string> delta(delta_size);
                for (std::string &string : main) {
                    string = pattern.make(this->random_);
                }
                for (std::string &string : delta) {
                    string = main.empty() || this->random_() % 2 == 0 ? pattern.make(this->random_)
                                                                      : main[this->random_() % main.size()];
                }
                this->expect_merges(dictionary_of(main), dictionary_of(delta));
                if (this->HasFatalFailure()) {
                    return;
                }
            }
        }
    }
    this->expect_merges({""}, {""});
    this->expect_merges({"a"}, {"a", std::string("a\0", 2)});
    this->expect_merges({std::string(100000, 'x')},
                        {std::string(99999, 'x'), std::string(100000, 'x') + "y"});
}

TYPED_TEST(EngineStrings, RefusesOffsetsThatFall) {
    const PackedStrings valid({"a", "bb", "ccc"});
    PackedStrings broken = valid;
    std::vector<std::uint64_t> offsets(20);
    std::vector<std::uint8_t> bytes(100);
    std::vector<std::uint32_t> main_map(10);
    std::vector<std::uint32_t> delta_map(10);
    MergedStrings merged{offsets.data(), bytes.data(), main_map.data(), delta_map.data(), 0};
    const auto merge = [&] {
        return this->studies_->dictionaries()
            .merge(*this->stream_, valid.view(), broken.view(), StringOrder::bytes, &merged)
            .code;
    };
    EXPECT_EQ(merge(), StatusCode::ok);
    broken.offsets[1] = 5;
    EXPECT_EQ(merge(), StatusCode::invalid_argument);
    broken.offsets[1] = 1000000000;
    EXPECT_EQ(merge(), StatusCode::invalid_argument);
    broken = valid;
    broken.offsets[0] = 1;
    EXPECT_EQ(merge(), StatusCode::invalid_argument);
}

// Makes strings of 16 bytes, four of each hash: the last 8 bytes undo what the first 8 make of the hash.
TYPED_TEST(EngineStrings, TellsStringsOfOneHashApart) {
    const auto string_of = [](std::uint64_t first, std::uint64_t last) {
        std::string string(16, ' ');
        std::memcpy(string.data(), &first, 8);
        std::memcpy(string.data() + 8, &last, 8);
        return string;
    };
    // string_hash's state behind the first 8 of 16 bytes.
    const auto state = [](std::uint64_t first) {
        const std::uint64_t hash = ((16 * 0x9e3779b97f4a7c15ULL) ^ first) * 0xff51afd7ed558ccdULL;
        return hash ^ hash >> 32;
    };
    ASSERT_EQ(hash_of(string_of(1, state(1))), hash_of(string_of(2, state(2))));
    for (const std::size_t size : {1, 100, 2000}) {
        std::vector<std::string> main;
        std::vector<std::string> delta;
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint64_t goal = this->random_();
            for (int k = 0; k < 4; ++k) {
                const std::uint64_t first = this->random_();
                const std::string string = string_of(first, goal ^ state(first));
                const std::uint64_t kind = this->random_() % 3;
                if (kind != 0) {
                    main.push_back(string);
                }
                if (kind != 1) {
                    delta.push_back(string);
                }
            }
        }
        this->expect_merges(dictionary_of(std::move(main)), dictionary_of(std::move(delta)));
    }
}

TYPED_TEST(EngineStrings, StaysWithinItsArgumentsWhateverTheOrder) {
    for (const StringOrder order : {StringOrder::bytes, StringOrder::hash}) {
        for (const std::size_t size : {2, 300, 6000}) {
            const auto disordered = [&](std::size_t count) {
                std::vector<std::string> strings(count);
                for (std::string &string : strings) {
                    string.assign(this->random_() % 30, static_cast<char>(this->random_()));
                }
                return PackedStrings(strings);
            };
            const PackedStrings main = disordered(size);
            const PackedStrings delta = disordered(size / 2);
            std::vector<std::uint64_t> offsets(size * 2 + 1);
            std::vector<std::uint8_t> bytes(main.bytes.size() + delta.bytes.size());
            std::vector<std::uint32_t> main_map(size);
            std::vector<std::uint32_t> delta_map(size);
            MergedStrings merged{offsets.data(), bytes.data(), main_map.data(), delta_map.data(), 0};
            const Status status = this->studies_->dictionaries().merge(*this->stream_, main.view(),
                                                                       delta.view(), order, &merged);
            ASSERT_TRUE(status.ok() || status.code == StatusCode::invalid_argument) << status.message;
        }
    }
}

TYPED_TEST(EngineStrings, RecodesMainAndDelta) {
    for (const std::uint32_t main_bits : {0, 1, 3, 8, 13, 17, 32}) {
        for (const std::uint32_t delta_bits : {0, 5, 8, 16}) {
            for (const std::uint32_t bits : {0, 1, 2, 3, 7, 8, 9, 16, 18, 31, 32}) {
                for (const auto &[main_count, delta_count] :
                     std::initializer_list<std::pair<std::size_t, std::size_t>>{{0, 0},
                                                                                {1, 0},
                                                                                {0, 1},
                                                                                {31, 1},
                                                                                {32, 32},
                                                                                {2047, 5},
                                                                                {2048, 2048},
                                                                                {5000, 777},
                                                                                {70000, 3}}) {
                    SCOPED_TRACE(std::to_string(main_bits) + ", " + std::to_string(delta_bits) + " to " +
                                 std::to_string(bits) + " bits");
                    const std::uint64_t limit = std::uint64_t(1) << bits;
                    const auto make_map = [&](std::uint32_t own_bits) {
                        std::vector<std::uint32_t> map(
                            std::min<std::uint64_t>(std::uint64_t(1) << own_bits, 100000));
                        for (std::uint32_t &code : map) {
                            code = static_cast<std::uint32_t>(this->random_() % limit);
                        }
                        return map;
                    };
                    const std::vector<std::uint32_t> main_map = make_map(main_bits);
                    const std::vector<std::uint32_t> delta_map = make_map(delta_bits);
                    std::vector<std::uint32_t> right;
                    const auto make_codes = [&](std::size_t count, const std::vector<std::uint32_t> &map) {
                        std::vector<std::uint32_t> codes(count);
                        for (std::uint32_t &code : codes) {
                            code = static_cast<std::uint32_t>(this->random_() % map.size());
                            right.push_back(map[code]);
                        }
                        return codes;
                    };
                    const std::vector<std::uint32_t> main =
                        packed(make_codes(main_count, main_map), main_bits);
                    const std::vector<std::uint32_t> delta =
                        packed(make_codes(delta_count, delta_map), delta_bits);
                    std::vector<std::uint32_t> right_words = packed(right, bits);
                    right_words.push_back(0xdeadbeef);
                    std::vector<std::uint32_t> words(right_words.size(), 0xdeadbeef);
                    const Status status = this->studies_->dictionaries().recode(
                        *this->stream_,
                        {{main.data(), main_count, main_bits}, main_map.data(), main_map.size()},
                        {{delta.data(), delta_count, delta_bits}, delta_map.data(), delta_map.size()}, bits,
                        words.data());
                    ASSERT_TRUE(status.ok()) << status.message;
                    ASSERT_TRUE(words == right_words) << main_count << " and " << delta_count << " codes";
                }
            }
        }
    }
}

// Recodes as a column's merge does, with so many rows that the maps are looked up in another form.
TYPED_TEST(EngineStrings, RecodesManyRowsOfMergedDictionaries) {
    auto &dictionaries = this->studies_->dictionaries();
    for (const std::size_t entries : {1, 2, 63, 64, 65, 1000, 300000, 900000}) {
        // Delta's entries lie among main's in three ways: few, one in each gap, and many in one gap.
        for (const std::size_t gap : {1, 3, 1000}) {
            const std::size_t main_rows = 2 * entries + 1100001;
            constexpr std::size_t delta_rows = 5003;
            std::vector<std::uint64_t> main(entries);
            for (std::size_t i = 0; i < entries; ++i) {
                main[i] = 1000 * i + 500;
            }
            std::vector<std::uint64_t> delta;
            for (std::size_t i = 0; i < entries; i += gap) {
                delta.push_back(1000 * i + 500 + this->random_() % 3);
            }
            for (std::uint64_t i = 0; i < 100; ++i) {
                delta.push_back(1000 * (entries / 2) + i);
            }
            delta = dictionary_of(std::move(delta));
            std::vector<std::uint64_t> union_entries(main.size() + delta.size());
            std::vector<std::uint32_t> main_map(main.size());
            std::vector<std::uint32_t> delta_map(delta.size());
            MergedDictionary<std::uint64_t> merged{union_entries.data(), main_map.data(), delta_map.data(),
                                                   0};
            Status status = dictionaries.merge(
                *this->stream_, Dictionary<std::uint64_t>{main.data(), main.size()},
                Dictionary<std::uint64_t>{delta.data(), delta.size()}, MergeWay::fused, &merged);
            ASSERT_TRUE(status.ok()) << status.message;
            const std::uint32_t main_bits = bits_for(main.size());
            const std::uint32_t delta_bits = bits_for(delta.size());
            const std::uint32_t bits = bits_for(merged.count);
            std::vector<std::uint32_t> right;
            const auto make_codes = [&](std::size_t rows, const std::vector<std::uint32_t> &map) {
                std::vector<std::uint32_t> codes(rows);
                for (std::uint32_t &code : codes) {
                    code = static_cast<std::uint32_t>(this->random_() % map.size());
                    right.push_back(map[code]);
                }
                return codes;
            };
            const std::vector<std::uint32_t> main_codes = packed(make_codes(main_rows, main_map), main_bits);
            const std::vector<std::uint32_t> delta_codes =
                packed(make_codes(delta_rows, delta_map), delta_bits);
            const std::vector<std::uint32_t> right_words = packed(right, bits);
            std::vector<std::uint32_t> words(right_words.size());
            status = dictionaries.recode(
                *this->stream_, {{main_codes.data(), main_rows, main_bits}, main_map.data(), main.size()},
                {{delta_codes.data(), delta_rows, delta_bits}, delta_map.data(), delta.size()}, bits,
                words.data());
            ASSERT_TRUE(status.ok()) << status.message;
            ASSERT_TRUE(words == right_words) << entries << " entries, one of delta for " << gap;
        }
    }
}

TYPED_TEST(EngineStrings, RefusesCodesThatCantBeRecoded) {
    std::vector<std::uint32_t> map = {0, 1, 2, 3, 4};
    std::vector<std::uint32_t> codes(100, 2);
    std::vector<std::uint32_t> words(100);
    const auto recode = [&](std::uint32_t bits) {
        const std::vector<std::uint32_t> own = packed(codes, 3);
        const MappedCodes mapped{{own.data(), codes.size(), 3}, map.data(), map.size()};
        return this->studies_->dictionaries().recode(*this->stream_, mapped, mapped, bits, words.data()).code;
    };
    EXPECT_EQ(recode(3), StatusCode::ok);
    EXPECT_EQ(recode(2), StatusCode::ok);
    EXPECT_EQ(recode(1), StatusCode::invalid_argument);
    EXPECT_EQ(recode(0), StatusCode::invalid_argument);
    EXPECT_EQ(recode(33), StatusCode::invalid_argument);
    codes[50] = 5;
    EXPECT_EQ(recode(3), StatusCode::invalid_argument);
}

TEST(Codes, HaveTheBitsTheirDictionaryNeeds) {
    EXPECT_EQ(bits_for(0), 0U);
    EXPECT_EQ(bits_for(1), 0U);
    EXPECT_EQ(bits_for(2), 1U);
    EXPECT_EQ(bits_for(3), 2U);
    EXPECT_EQ(bits_for(256), 8U);
    EXPECT_EQ(bits_for(257), 9U);
    EXPECT_EQ(bits_for(std::uint64_t(1) << 32), 32U);
}

}  // namespace
