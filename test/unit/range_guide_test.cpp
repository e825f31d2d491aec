// Guides find the ranges that a search through all starts finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "gpu_engine/range_guide.h"

namespace {

using gpu_engine::AggregateInput;
using gpu_engine::RangeGuide;

// An input with these starts, behind which each range has ten times its number.
struct Ranges {
    explicit Ranges(const std::vector<std::uint64_t> &starts) : words(starts) {
        for (std::size_t i = 0; i < starts.size(); ++i) {
            words.push_back(10 * i);
        }
        input.kind = gpu_engine::AggregateInputKind::ranges;
        input.places = starts.size();
        input.values = words.data();
        gpu_engine::make_range_guide(input, guide.get());
    }

    std::vector<std::uint64_t> words;
    AggregateInput input = {};
    std::unique_ptr<RangeGuide> guide = std::make_unique<RangeGuide>();
};

std::vector<std::vector<std::uint64_t>> lists_of_starts() {
    constexpr std::uint64_t top = UINT64_MAX;
    std::vector<std::vector<std::uint64_t>> lists = {{0, 1, 2},
                                                     {0, top},
                                                     {0, 1, top},
                                                     {5, 7, 1000, 1001, 1002, std::uint64_t(1) << 40},
                                                     {0, top - 3, top - 2, top - 1, top}};
    std::mt19937_64 random(5);
    for (const int count : {3, 100, 730, 5000, 30000}) {
        for (const int shift : {0, 20, 44}) {
            std::vector<std::uint64_t> starts;
            for (int i = 0; i < count; ++i) {
                starts.push_back(random() >> shift);
            }
            std::sort(starts.begin(), starts.end());
            starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
            lists.push_back(starts);
        }
    }
    return lists;
}

TEST(RangeGuide, FindsTheRangeOfEachCode) {
    std::mt19937_64 random(6);
    for (const std::vector<std::uint64_t> &starts : lists_of_starts()) {
        const Ranges ranges(starts);
        std::vector<std::uint64_t> codes = {0, 1, UINT64_MAX - 1, UINT64_MAX};
        for (const std::uint64_t start : starts) {
            codes.insert(codes.end(), {start - 1, start, start + 1});
        }
        for (int i = 0; i < 1000; ++i) {
            codes.push_back(random() >> (i % 64));
        }
        for (const std::uint64_t code : codes) {
            ASSERT_EQ(gpu_engine::find_range(*ranges.guide, code),
                      gpu_engine::place_in_ranges(ranges.input, code))
                << code << " among " << starts.size();
        }
    }
}

// A session may have sent starts in any order.
TEST(RangeGuide, OfStartsInAnyOrderFindsSomeRange) {
    std::mt19937_64 random(7);
    for (const int count : {2, 3, 1000}) {
        std::vector<std::uint64_t> starts(static_cast<std::size_t>(count));
        for (std::uint64_t &start : starts) {
            start = random();
        }
        const Ranges ranges(starts);
        for (int i = 0; i < 10000; ++i) {
            ASSERT_LT(gpu_engine::find_range(*ranges.guide, random()), starts.size());
        }
    }
}

TEST(RangeGuide, LoadsTheSameNumbersAsASearch) {
    constexpr std::uint32_t rows = 256;
    const Ranges ranges({10, 20, 30, 50, 80, 1000});
    std::uint64_t nulls[1] = {0b100};
    AggregateInput input = ranges.input;
    input.nulls = nulls;
    input.column_null_is_null = true;
    std::vector<std::uint32_t> codes(rows);
    std::vector<std::uint64_t> column_nulls(rows / 64);
    std::vector<std::uint16_t> positions;
    std::mt19937_64 random(8);
    for (std::uint32_t i = 0; i < rows; ++i) {
        codes[i] = static_cast<std::uint32_t>(random() % 1200);
        column_nulls[i / 64] |= std::uint64_t(random() % 5 == 0) << (i % 64);
        if (random() % 2 == 0) {
            positions.push_back(static_cast<std::uint16_t>(i));
        }
    }
    for (const std::uint16_t *chosen : {static_cast<const std::uint16_t *>(nullptr),
                                        static_cast<const std::uint16_t *>(positions.data())}) {
        const std::uint32_t count = chosen == nullptr ? rows : static_cast<std::uint32_t>(positions.size());
        std::vector<std::int64_t> values(rows);
        std::vector<std::int64_t> expected_values(rows);
        std::vector<std::uint8_t> is_null(rows);
        std::vector<std::uint8_t> expected_null(rows);
        std::vector<std::uint32_t> found(rows);
        const gpu_engine::StepValues loaded =
            gpu_engine::load_range_tile(input, *ranges.guide, codes.data(), column_nulls.data(), chosen,
                                        count, values.data(), is_null.data(), found.data());
        const gpu_engine::StepValues expected =
            gpu_engine::load_input_tile(input, codes.data(), column_nulls.data(), chosen, count,
                                        expected_values.data(), expected_null.data());
        ASSERT_NE(loaded.nulls, nullptr);
        ASSERT_NE(expected.nulls, nullptr);
        for (std::uint32_t i = 0; i < count; ++i) {
            ASSERT_EQ(loaded.nulls[i], expected.nulls[i]);
            if (loaded.nulls[i] == 0) {
                ASSERT_EQ(loaded.values[i], expected.values[i]);
            }
        }
    }
}

}  // namespace
