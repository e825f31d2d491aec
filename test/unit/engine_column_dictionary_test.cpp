// The merge of two dictionaries that the server uses: each engine against the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "engine_under_test.h"
#include "gpu_engine/column.h"

namespace {

using gpu_engine::MergedDictionary;
using gpu_engine::Status;
using gpu_engine::StatusCode;

using Entries = std::vector<std::uint64_t>;
using Codes = std::vector<std::uint32_t>;

constexpr std::uint64_t untouched_entry = 0x1234567890abcdef;
constexpr std::uint32_t untouched_code = 0xdeadbeef;

template <typename Type>
class EngineDictionary : public EngineTest {
  protected:
    void SetUp() override { this->template open<Type>(); }

    static Entries dictionary_of(Entries values) {
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        return values;
    }
    Entries random_dictionary(std::size_t count, std::uint64_t kinds = UINT64_MAX) {
        Entries values(count);
        for (std::uint64_t &value : values) {
            value = random_() % kinds;
        }
        return dictionary_of(std::move(values));
    }

    // Each output has one place more than it needs, which must stay as it was.
    struct Output {
        explicit Output(const Entries &main, const Entries &delta)
            : entries(main.size() + delta.size() + 1, untouched_entry),
              main_map(main.size() + 1, untouched_code),
              delta_map(delta.size() + 1, untouched_code),
              merged{entries.data(), main_map.data(), delta_map.data(), 0} {}

        Entries entries;
        Codes main_map;
        Codes delta_map;
        MergedDictionary<std::uint64_t> merged;
    };
    Status merge(const Entries &main, const Entries &delta, Output *output) {
        return engine_->column().merge_dictionaries(*stream_, {main.data(), main.size()},
                                                    {delta.data(), delta.size()}, &output->merged);
    }

    void expect_merge(const Entries &main, const Entries &delta) {
        SCOPED_TRACE(std::to_string(main.size()) + " and " + std::to_string(delta.size()) + " entries");
        Entries right;
        std::set_union(main.begin(), main.end(), delta.begin(), delta.end(), std::back_inserter(right));
        const auto codes_of = [&](const Entries &entries) {
            Codes codes;
            for (const std::uint64_t entry : entries) {
                codes.push_back(static_cast<std::uint32_t>(
                    std::lower_bound(right.begin(), right.end(), entry) - right.begin()));
            }
            codes.push_back(untouched_code);
            return codes;
        };
        Output output(main, delta);
        const Status status = merge(main, delta, &output);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(output.entries.back(), untouched_entry) << "written behind the end";
        ASSERT_EQ(output.merged.count, right.size());
        output.entries.resize(right.size());
        ASSERT_TRUE(output.entries == right);
        ASSERT_TRUE(output.main_map == codes_of(main));
        ASSERT_TRUE(output.delta_map == codes_of(delta));
    }
};
TYPED_TEST_SUITE(EngineDictionary, Engines, EngineName);

// Sizes around those of the parts that threads and blocks take.
constexpr std::size_t sizes[] = {0,   1,    2,    11,   15,   16,   31,   32,   64,   255,
                                 256, 1000, 2815, 2816, 2817, 3071, 3072, 3073, 8192, 40000};

TYPED_TEST(EngineDictionary, MergesRandomEntriesOfWhichSomeAreInBoth) {
    for (const std::size_t main_size : sizes) {
        for (const std::size_t delta_size : sizes) {
            const Entries main = this->random_dictionary(main_size);
            Entries delta = this->random_dictionary(delta_size);
            for (std::size_t i = 0; i < std::min(main.size(), delta.size()) / 2; ++i) {
                delta[2 * i] = main[this->random_() % main.size()];
            }
            this->expect_merge(main, this->dictionary_of(std::move(delta)));
            if (this->HasFatalFailure()) {
                return;
            }
        }
    }
}

TYPED_TEST(EngineDictionary, MergesPartsAndNeighbours) {
    for (const std::size_t size : sizes) {
        const Entries all = this->random_dictionary(size);
        this->expect_merge(all, all);
        const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
        const Entries low(all.begin(), middle);
        const Entries high(middle, all.end());
        this->expect_merge(low, high);
        this->expect_merge(high, low);
        this->expect_merge(all, low);
        this->expect_merge(high, all);
        if (this->HasFatalFailure()) {
            return;
        }
    }
}

TYPED_TEST(EngineDictionary, MergesTheLimitsAndManyEntries) {
    this->expect_merge({0, UINT64_MAX}, {0, UINT64_MAX});
    this->expect_merge({0}, {UINT64_MAX});
    this->expect_merge({UINT64_MAX}, {0});
    this->expect_merge(this->random_dictionary(700000, 1000000), this->random_dictionary(150000, 1000000));
}

// Entries that aren't sorted may give any result, but nothing is read or written beyond the arguments.
TYPED_TEST(EngineDictionary, StaysWithinItsArgumentsWhateverTheOrder) {
    for (const std::size_t main_size : {1000, 20000}) {
        for (const std::size_t delta_size : {0, 10, 5000, 40000}) {
            for (const std::uint64_t kinds : {1, 3, 1000000}) {
                Entries main(main_size);
                Entries delta(delta_size);
                for (Entries *entries : {&main, &delta}) {
                    std::generate(entries->begin(), entries->end(), [&] { return this->random_() % kinds; });
                }
                typename TestFixture::Output output(main, delta);
                const Status status = this->merge(main, delta, &output);
                ASSERT_TRUE(status.ok() || status.code == StatusCode::invalid_argument) << status.message;
                if (status.ok()) {
                    ASSERT_LE(output.merged.count, main.size() + delta.size());
                }
                ASSERT_EQ(output.entries.back(), untouched_entry);
                ASSERT_EQ(output.main_map.back(), untouched_code);
                ASSERT_EQ(output.delta_map.back(), untouched_code);
            }
        }
    }
}

TYPED_TEST(EngineDictionary, EndsWhenCancelledOrOutOfMemory) {
    const Entries main = this->random_dictionary(100000);
    const Entries delta = this->random_dictionary(1000);
    typename TestFixture::Output output(main, delta);
    this->stream_->cancel();
    EXPECT_EQ(this->merge(main, delta, &output).code, StatusCode::cancelled);
    this->stream_->resume();
    for (std::int64_t after = 0;; ++after) {
        ASSERT_LT(after, 1000);
        this->engine_->memory().refuse_after(after);
        const StatusCode code = this->merge(main, delta, &output).code;
        if (code == StatusCode::ok) {
            break;
        }
        ASSERT_EQ(code, StatusCode::out_of_memory);
        ASSERT_EQ(this->engine_->memory().used(), 0U);
    }
    this->engine_->memory().refuse_after(-1);
    EXPECT_EQ(this->engine_->column()
                  .merge_dictionaries(*this->stream_, {main.data(), gpu_engine::max_dictionary_entries},
                                      {delta.data(), 1}, &output.merged)
                  .code,
              StatusCode::invalid_argument);
}

}  // namespace
