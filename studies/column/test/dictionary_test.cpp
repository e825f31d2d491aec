// Dictionaries: each engine and each way against a plain reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu_engine/engine.h"
#include "studies/column/test/studies_under_test.h"
#include "studies/column/test/packed_codes.h"

namespace {

using gpu_engine::Dictionary;
using gpu_engine::Key128;
using gpu_engine::MergedDictionary;
using gpu_engine::MergeWay;
using gpu_engine::Status;
using gpu_engine::StatusCode;

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

template <typename Type>
class EngineDictionary : public StudiesTest {
  protected:
    using Entry = typename Type::Key;

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
        return studies_->dictionaries().merge(*stream_, Dictionary<Entry>{main.data(), main.size()},
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
TYPED_TEST_SUITE(EngineDictionary, KeyCases, KeyCaseName);

// Sizes around those of the parts that threads and blocks take.
const std::size_t sizes[] = {0,    1,    2,    3,    7,    11,   15,   16,   31,   32,   64,   65,    256,
                             1791, 1792, 1793, 2815, 2816, 2817, 3839, 3840, 3841, 7680, 8192, 10000, 30000};

TYPED_TEST(EngineDictionary, MergesRandomEntries) {
    using Entry = typename TypeParam::Key;
    for (const std::size_t main_size : sizes) {
        for (const std::size_t delta_size : sizes) {
            const std::vector<Entry> main = this->random_dictionary(main_size);
            std::vector<Entry> delta = this->random_dictionary(delta_size);
            // About half of the smaller one's entries are in the larger one.
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
        // One has every tenth entry, the other all but every tenth.
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
            // All entries of one lie within a gap of the other.
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
    using Entry = typename TypeParam::Key;
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
        // Here entries differ in one half only.
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

// Entries that aren't sorted may give any result, but nothing is read or written beyond the arguments.
TYPED_TEST(EngineDictionary, StaysWithinItsArgumentsWhateverTheOrder) {
    using Entry = typename TypeParam::Key;
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
    using Entry = typename TypeParam::Key;
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
                    this->studies_->dictionaries().build(*this->stream_, values.data(), size, entries.data(),
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
    using Entry = typename TypeParam::Key;
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
    EXPECT_EQ(this->studies_->dictionaries()
                  .merge(*this->stream_, Dictionary<Entry>{main.data(), gpu_engine::max_dictionary_entries},
                         Dictionary<Entry>{delta.data(), 1}, MergeWay::fused, &merged)
                  .code,
              StatusCode::invalid_argument);
}

}  // namespace
