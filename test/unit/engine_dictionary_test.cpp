// Dictionaries: each engine and each way against a plain reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu_engine/dictionary.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/string_hash.h"
#include "engine_under_test.h"
#include "packed_codes.h"

namespace {

using gpu_engine::bits_for;
using gpu_engine::Dictionary;
using gpu_engine::Engine;
using gpu_engine::Key128;
using gpu_engine::MappedCodes;
using gpu_engine::MergedDictionary;
using gpu_engine::MergedStrings;
using gpu_engine::MergeWay;
using gpu_engine::PackedCodes;
using gpu_engine::Status;
using gpu_engine::StatusCode;
using gpu_engine::Stream;
using gpu_engine::StringDictionary;
using gpu_engine::StringOrder;

const struct {
    MergeWay way;
    const char *name;
} ways[] = {{MergeWay::fused, "fused"},
            {MergeWay::merge_unique_map, "merge, unique, map"},
            {MergeWay::sort_unique_map, "sort, unique, map"},
            {MergeWay::slices, "slices"}};

template <typename Entry>
Entry make_entry(std::uint64_t high, std::uint64_t low) {
    if constexpr (sizeof(Entry) == 16) {
        return Entry{high, low};
    } else {
        return static_cast<Entry>(low);
    }
}

template <typename Entry>
std::vector<Entry> dictionary_of(std::vector<Entry> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

class EngineTest : public testing::Test {
  protected:
    template <typename UnderTest>
    void open() {
        const Status opened = UnderTest::open({}, &engine_);
        if (opened.code == StatusCode::unavailable) {
            GTEST_SKIP() << opened.message;
        }
        ASSERT_TRUE(opened.ok()) << opened.message;
        ASSERT_TRUE(engine_->open_stream(&stream_).ok());
    }
    void TearDown() override {
        if (engine_ != nullptr) {
            EXPECT_EQ(engine_->memory().used(), 0U) << "memory leaked";
        }
    }

    std::mt19937_64 random_{20261121};
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Stream> stream_;
};

// ---- Numbers ---------------------------------------------------------------------------------------------

template <typename EntryType, typename EngineType>
struct Case {
    using Entry = EntryType;
    using UnderTest = EngineType;
};
using Cases =
    testing::Types<Case<std::uint32_t, HostEngineUnderTest>, Case<std::uint64_t, HostEngineUnderTest>,
                   Case<Key128, HostEngineUnderTest>, Case<std::uint32_t, CudaEngineUnderTest>,
                   Case<std::uint64_t, CudaEngineUnderTest>, Case<Key128, CudaEngineUnderTest>>;
struct CaseName {
    template <typename Type>
    static std::string GetName(int) {
        return Type::UnderTest::name + std::to_string(sizeof(typename Type::Entry) * 8);
    }
};

template <typename Type>
class EngineDictionary : public EngineTest {
  protected:
    using Entry = typename Type::Entry;

    void SetUp() override { this->template open<typename Type::UnderTest>(); }

    std::vector<Entry> random_dictionary(std::size_t count) {
        std::vector<Entry> values(count);
        for (Entry &value : values) {
            value = make_entry<Entry>(random_() % 5, random_());
        }
        return dictionary_of(std::move(values));
    }

    Status merge(const std::vector<Entry> &main, const std::vector<Entry> &delta, MergeWay way,
                 MergedDictionary<Entry> *merged) {
        return engine_->dictionaries().merge(*stream_, Dictionary<Entry>{main.data(), main.size()},
                                             Dictionary<Entry>{delta.data(), delta.size()}, way, merged);
    }

    void expect_merge(const std::vector<Entry> &main, const std::vector<Entry> &delta) {
        std::vector<Entry> right;
        std::set_union(main.begin(), main.end(), delta.begin(), delta.end(), std::back_inserter(right));
        const auto codes_of = [&](const std::vector<Entry> &entries) {
            std::vector<std::uint32_t> codes;
            for (const Entry &entry : entries) {
                codes.push_back(static_cast<std::uint32_t>(
                    std::lower_bound(right.begin(), right.end(), entry) - right.begin()));
            }
            codes.push_back(0xdeadbeef);
            return codes;
        };
        const std::vector<std::uint32_t> right_main = codes_of(main);
        const std::vector<std::uint32_t> right_delta = codes_of(delta);
        for (const auto &[way, name] : ways) {
            SCOPED_TRACE(std::string(name) + ", " + std::to_string(main.size()) + " and " +
                         std::to_string(delta.size()) + " entries");
            const Entry untouched = make_entry<Entry>(0x1234567890abcdef, 0x1234567890abcdef);
            std::vector<Entry> entries(main.size() + delta.size() + 1, untouched);
            std::vector<std::uint32_t> main_map(main.size() + 1, 0xdeadbeef);
            std::vector<std::uint32_t> delta_map(delta.size() + 1, 0xdeadbeef);
            MergedDictionary<Entry> merged{entries.data(), main_map.data(), delta_map.data(), 0};
            const Status status = merge(main, delta, way, &merged);
            ASSERT_TRUE(status.ok()) << status.message;
            ASSERT_EQ(entries.back(), untouched) << "written behind the end";
            ASSERT_EQ(merged.count, right.size());
            entries.resize(right.size());
            ASSERT_TRUE(entries == right);
            ASSERT_TRUE(main_map == right_main);
            ASSERT_TRUE(delta_map == right_delta);
        }
    }
};
TYPED_TEST_SUITE(EngineDictionary, Cases, CaseName);

// Around the sizes of threads' and blocks' parts.
const std::size_t sizes[] = {0,    1,    2,    3,    7,    11,   15,   16,   31,   32,   64,   65,    256,
                             1791, 1792, 1793, 2815, 2816, 2817, 3839, 3840, 3841, 7680, 8192, 10000, 30000};

TYPED_TEST(EngineDictionary, MergesRandomEntries) {
    using Entry = typename TypeParam::Entry;
    for (const std::size_t main_size : sizes) {
        for (const std::size_t delta_size : sizes) {
            const std::vector<Entry> main = this->random_dictionary(main_size);
            std::vector<Entry> delta = this->random_dictionary(delta_size);
            // About half of the smaller one in the larger one.
            const std::size_t shared = std::min(main.size(), delta.size()) / 2;
            for (std::size_t i = 0; i < shared; ++i) {
                delta[2 * i] = main[this->random_() % main.size()];
            }
            this->expect_merge(main, dictionary_of(std::move(delta)));
            if (this->HasFatalFailure()) {
                return;
            }
        }
    }
}

TYPED_TEST(EngineDictionary, MergesAllThatIsThereAlready) {
    for (const std::size_t size : sizes) {
        const auto main = this->random_dictionary(size);
        this->expect_merge(main, main);
        // Every tenth, and all but every tenth.
        for (const bool few : {true, false}) {
            std::remove_const_t<decltype(main)> part;
            for (std::size_t i = 0; i < main.size(); ++i) {
                if ((i % 10 == 0) == few) {
                    part.push_back(main[i]);
                }
            }
            this->expect_merge(main, part);
            this->expect_merge(part, main);
        }
        if (this->HasFatalFailure()) {
            return;
        }
    }
}

TYPED_TEST(EngineDictionary, MergesOneBehindTheOther) {
    for (const std::size_t size : sizes) {
        const auto all = this->random_dictionary(size);
        for (const std::size_t cut :
             {std::size_t(1), all.size() / 3, all.size() / 2, all.size() - all.size() / 10}) {
            if (cut == 0 || cut > all.size()) {
                continue;
            }
            const std::remove_const_t<decltype(all)> low(all.begin(),
                                                         all.begin() + static_cast<std::ptrdiff_t>(cut));
            const std::remove_const_t<decltype(all)> high(all.begin() + static_cast<std::ptrdiff_t>(cut),
                                                          all.end());
            this->expect_merge(low, high);
            this->expect_merge(high, low);
            // The last entry of the one is the first of the other.
            const std::remove_const_t<decltype(all)> overlapping(
                all.begin() + static_cast<std::ptrdiff_t>(cut) - 1, all.end());
            this->expect_merge(low, overlapping);
            this->expect_merge(overlapping, low);
            // One within a gap of the other.
            std::remove_const_t<decltype(all)> outer(low.begin(),
                                                     low.begin() + static_cast<std::ptrdiff_t>(cut / 2));
            outer.insert(outer.end(), high.begin(), high.end());
            const std::remove_const_t<decltype(all)> inner(low.begin() + static_cast<std::ptrdiff_t>(cut / 2),
                                                           low.end());
            this->expect_merge(outer, inner);
            this->expect_merge(inner, outer);
        }
        if (this->HasFatalFailure()) {
            return;
        }
    }
}

TYPED_TEST(EngineDictionary, MergesTheLimits) {
    using Entry = typename TypeParam::Entry;
    const Entry lowest{};
    const Entry highest = make_entry<Entry>(UINT64_MAX, UINT64_MAX);
    this->expect_merge({lowest, highest}, {lowest, highest});
    this->expect_merge({lowest}, {highest});
    this->expect_merge({highest}, {lowest});
    std::vector<Entry> dense(9000);
    for (std::size_t i = 0; i < dense.size(); ++i) {
        dense[i] = make_entry<Entry>(UINT64_MAX, UINT64_MAX - dense.size() + 1 + i);
    }
    this->expect_merge(dense, {lowest, highest});
    this->expect_merge({lowest, highest}, dense);
    std::vector<Entry> even;
    std::vector<Entry> odd;
    for (std::size_t i = 0; i < dense.size(); ++i) {
        (i % 2 == 0 ? even : odd).push_back(dense[i]);
    }
    this->expect_merge(even, odd);
    this->expect_merge(odd, even);
    if constexpr (sizeof(Entry) == 16) {
        // Entries that differ in one half only.
        std::vector<Entry> high;
        std::vector<Entry> low;
        for (std::uint64_t i = 0; i < 5000; ++i) {
            high.push_back(Entry{i, 7});
            low.push_back(Entry{7, i});
        }
        this->expect_merge(high, low);
        this->expect_merge(low, high);
    }
}

TYPED_TEST(EngineDictionary, MergesManyEntries) {
    auto main = this->random_dictionary(700000);
    auto delta = this->random_dictionary(150000);
    for (std::size_t i = 0; i < delta.size(); i += 2) {
        delta[i] = main[this->random_() % main.size()];
    }
    this->expect_merge(main, dictionary_of(std::move(delta)));
}

// Entries that aren't sorted: any result, but nothing beyond the arguments.
TYPED_TEST(EngineDictionary, StaysWithinItsArgumentsWhateverTheOrder) {
    using Entry = typename TypeParam::Entry;
    for (const std::size_t main_size : {1000, 20000}) {
        for (const std::size_t delta_size : {0, 10, 5000, 40000}) {
            for (const int kinds : {1, 3, 1000000}) {
                const auto disordered = [&](std::size_t size) {
                    std::vector<Entry> entries(size);
                    for (Entry &entry : entries) {
                        entry = make_entry<Entry>(0, this->random_() % static_cast<std::uint64_t>(kinds));
                    }
                    return entries;
                };
                const std::vector<Entry> main = disordered(main_size);
                const std::vector<Entry> delta = disordered(delta_size);
                for (const auto &[way, name] : ways) {
                    std::vector<Entry> entries(main.size() + delta.size());
                    std::vector<std::uint32_t> main_map(main.size());
                    std::vector<std::uint32_t> delta_map(delta.size());
                    MergedDictionary<Entry> merged{entries.data(), main_map.data(), delta_map.data(), 0};
                    const Status status = this->merge(main, delta, way, &merged);
                    ASSERT_TRUE(status.ok() || status.code == StatusCode::invalid_argument)
                        << name << ": " << status.message;
                    if (status.ok()) {
                        ASSERT_LE(merged.count, entries.size());
                    }
                }
            }
        }
    }
}

TYPED_TEST(EngineDictionary, BuildRemovesDuplicates) {
    using Entry = typename TypeParam::Entry;
    for (const std::size_t size : {0, 1, 2, 3, 1000, 65535, 65536, 65537, 300000}) {
        for (const std::uint64_t kinds : {1, 2, 100, 100000, 1000000000}) {
            std::vector<Entry> values(size);
            for (Entry &value : values) {
                const std::uint64_t kind = this->random_() % kinds * 0x9e3779b97f4a7c15;
                value = make_entry<Entry>(kind % 3, kind);
            }
            const std::vector<Entry> right = dictionary_of(values);
            for (const bool with_codes : {true, false}) {
                std::vector<Entry> entries(size);
                std::vector<std::uint32_t> codes(size, 0xdeadbeef);
                std::uint64_t distinct = 99;
                const Status status =
                    this->engine_->dictionaries().build(*this->stream_, values.data(), size, entries.data(),
                                                        with_codes ? codes.data() : nullptr, &distinct);
                ASSERT_TRUE(status.ok()) << status.message;
                ASSERT_EQ(distinct, right.size());
                entries.resize(distinct);
                ASSERT_TRUE(entries == right);
                for (std::size_t i = 0; with_codes && i < size; ++i) {
                    ASSERT_LT(codes[i], distinct);
                    ASSERT_EQ(entries[codes[i]], values[i]) << "row " << i;
                }
            }
        }
    }
}

TYPED_TEST(EngineDictionary, EndsWhenCancelledOrOutOfMemory) {
    using Entry = typename TypeParam::Entry;
    const std::vector<Entry> main = this->random_dictionary(100000);
    const std::vector<Entry> delta = this->random_dictionary(1000);
    std::vector<Entry> entries(main.size() + delta.size());
    std::vector<std::uint32_t> main_map(main.size());
    std::vector<std::uint32_t> delta_map(delta.size());
    for (const auto &[way, name] : ways) {
        SCOPED_TRACE(name);
        MergedDictionary<Entry> merged{entries.data(), main_map.data(), delta_map.data(), 0};
        this->stream_->cancel();
        EXPECT_EQ(this->merge(main, delta, way, &merged).code, StatusCode::cancelled);
        this->stream_->resume();
        for (std::int64_t after = 0;; ++after) {
            ASSERT_LT(after, 1000);
            this->engine_->memory().refuse_after(after);
            const StatusCode code = this->merge(main, delta, way, &merged).code;
            if (code == StatusCode::ok) {
                break;
            }
            ASSERT_EQ(code, StatusCode::out_of_memory);
            ASSERT_EQ(this->engine_->memory().used(), 0U);
        }
        this->engine_->memory().refuse_after(-1);
    }
    MergedDictionary<Entry> merged{entries.data(), main_map.data(), delta_map.data(), 0};
    EXPECT_EQ(
        this->engine_->dictionaries()
            .merge(*this->stream_, Dictionary<Entry>{main.data(), gpu_engine::Dictionaries::max_entries},
                   Dictionary<Entry>{delta.data(), 1}, MergeWay::fused, &merged)
            .code,
        StatusCode::invalid_argument);
}

// ---- Strings and codes ------------------------------------------------------------------------------------

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
class EngineStrings : public EngineTest {
  protected:
    void SetUp() override { this->template open<UnderTest>(); }

    // In the order of bytes they come, and in that of their hashes.
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
            engine_->dictionaries().merge(*stream_, packed_main.view(), packed_delta.view(), order, &merged);
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
using Engines = testing::Types<HostEngineUnderTest, CudaEngineUnderTest>;
struct EngineName {
    template <typename Type>
    static std::string GetName(int) {
        return Type::name;
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
    const PackedStrings sound({"a", "bb", "ccc"});
    PackedStrings broken = sound;
    std::vector<std::uint64_t> offsets(20);
    std::vector<std::uint8_t> bytes(100);
    std::vector<std::uint32_t> main_map(10);
    std::vector<std::uint32_t> delta_map(10);
    MergedStrings merged{offsets.data(), bytes.data(), main_map.data(), delta_map.data(), 0};
    const auto merge = [&] {
        return this->engine_->dictionaries()
            .merge(*this->stream_, sound.view(), broken.view(), StringOrder::bytes, &merged)
            .code;
    };
    EXPECT_EQ(merge(), StatusCode::ok);
    broken.offsets[1] = 5;
    EXPECT_EQ(merge(), StatusCode::invalid_argument);
    broken.offsets[1] = 1000000000;
    EXPECT_EQ(merge(), StatusCode::invalid_argument);
    broken = sound;
    broken.offsets[0] = 1;
    EXPECT_EQ(merge(), StatusCode::invalid_argument);
}

// Strings of 16 bytes, four of each hash: what the first 8 bytes make of the hash, the last 8 undo.
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
            const Status status = this->engine_->dictionaries().merge(*this->stream_, main.view(),
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
                    const Status status = this->engine_->dictionaries().recode(
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

// As a column's merge does it, with so many rows that the maps are looked up in another form.
TYPED_TEST(EngineStrings, RecodesManyRowsOfMergedDictionaries) {
    auto &dictionaries = this->engine_->dictionaries();
    for (const std::size_t entries : {1, 2, 63, 64, 65, 1000, 300000, 900000}) {
        // Delta's entries among main's: few, one in each gap, and many in one gap.
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
        return this->engine_->dictionaries().recode(*this->stream_, mapped, mapped, bits, words.data()).code;
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
