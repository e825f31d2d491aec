// Groups of rows: sums, and what becomes of those that are too large, on each engine.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "common/column/aggregate.h"
#include "engine_aggregate_outputs.h"
#include "rounds.h"

namespace {

using namespace gpu_engine;
using namespace aggregate_test;

template <typename UnderTest>
class EngineAggregateSums : public AggregateResultsTest<UnderTest> {};

TYPED_TEST_SUITE(EngineAggregateSums, Engines, EngineName);

TYPED_TEST(EngineAggregateSums, WithoutKeysThereIsOneGroup) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({500}, &runs, false);
    TestRequest request = simple_request(runs);
    Builder(&request).accumulate(AccumulatorKind::least, 0);
    Builder(&request).accumulate(AccumulatorKind::greatest, 0);
    this->check(stores, runs, request, nullptr);
    // No row passes the tests, or the filter.
    const ColumnTest none = {TestKind::is_null, 0, nullptr, nullptr, 0};
    request.tests = {none};
    std::unique_ptr<AggregateOutput> output;
    ASSERT_TRUE(this->call(stores, request, nullptr, 1, &output).ok());
    const Groups groups = this->read(*output, request.program);
    ASSERT_EQ(groups.size(), 1U);
    const std::vector<std::uint64_t> empty = {0, 0, 0, INT64_MAX, std::uint64_t(INT64_MIN)};
    EXPECT_EQ(groups.begin()->second, empty);
    request.tests = {};
    Builder builder(&request);
    request.program.filter = builder.add_step(AggregateOperation::null);
    ASSERT_TRUE(this->call(stores, request, nullptr, 1, &output).ok());
    EXPECT_EQ(this->read(*output, request.program).begin()->second, empty);
    // With keys there is none then.
    builder.add_key(0, 64, 0, false);
    ASSERT_TRUE(this->call(stores, request, nullptr, 1, &output).ok());
    EXPECT_EQ(output->outcome(), AggregateOutcome::answered);
    EXPECT_EQ(output->groups(), 0U);
}

// Sums of the greatest and least numbers carry, and numbers of 128 bits are added.
TYPED_TEST(EngineAggregateSums, SumsDontOverflow) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({30000}, &runs, false);
    for (const std::int64_t number : {INT64_MAX, INT64_MIN, std::int64_t(-1), std::int64_t(0)}) {
        for (const std::uint8_t bits : {0, 6, 30, 64}) {
            TestRequest request;
            Builder builder(&request);
            TestInputs inputs;
            inputs.add_map(runs[0], 2, AggregateInputKind::map64,
                           [&](std::uint64_t code) { return code % 5 == 4 ? -number / 2 : number; });
            inputs.add_wide(runs[0], 2, [&](std::uint64_t code) {
                return code % 7 == 0 ? -(Wide(1) << 110) + number : (Wide(1) << 110) - 1;
            });
            inputs.add_map(runs[0], 2, AggregateInputKind::map64,
                           [](std::uint64_t code) { return static_cast<std::int64_t>(code % 33); });
            request.inputs.push_back(std::move(inputs));
            const std::uint16_t narrow = builder.add_input();
            const std::uint16_t wide = builder.add_input();
            const std::uint16_t group = builder.add_input();
            if (bits > 0) {
                builder.add_key(group, bits, 0, false);
            }
            builder.accumulate(AccumulatorKind::sum, narrow);
            builder.accumulate(AccumulatorKind::sum, wide);
            builder.accumulate(AccumulatorKind::sum_squares, narrow);
            builder.accumulate(AccumulatorKind::bits_and, narrow);
            builder.accumulate(AccumulatorKind::bits_or, narrow);
            builder.accumulate(AccumulatorKind::bits_xor, narrow);
            this->check(stores, runs, request, nullptr);
            ASSERT_FALSE(this->HasFatalFailure()) << number << ", " << int(bits) << " bits";
        }
    }
}

// Sums whose numbers are known to be small need fewer bits, up to the last one.
TYPED_TEST(EngineAggregateSums, SumsOfNumbersThatAreKnownToBeSmall) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({30000}, &runs, false);
    for (const std::uint16_t bits : {1, 7, 15, 16, 17, 20, 30, 31, 40, 47, 48, 49, 62, 63, 64}) {
        for (const std::uint8_t key_bits : {0, 6, 17, 64}) {
            const std::int64_t greatest = bits >= 63 ? INT64_MAX : (std::int64_t(1) << bits) - 1;
            TestRequest request;
            Builder builder(&request);
            TestInputs inputs;
            // Sums of the first are as great as can be, and of the second as low.
            inputs.add_map(runs[0], 2, AggregateInputKind::map64, [=](std::uint64_t code) {
                return greatest - static_cast<std::int64_t>(code % 2);
            });
            inputs.add_map(runs[0], 2, AggregateInputKind::map64, [=](std::uint64_t code) {
                return -greatest + static_cast<std::int64_t>(code % 2);
            });
            inputs.add_map(runs[0], 2, AggregateInputKind::map64,
                           [](std::uint64_t code) { return static_cast<std::int64_t>(code % 3 + 7); });
            request.inputs.push_back(std::move(inputs));
            const std::uint16_t high = builder.add_input();
            const std::uint16_t low = builder.add_input();
            const std::uint16_t group = builder.add_input();
            if (key_bits > 0) {
                builder.add_key(group, key_bits, 0, false);
            }
            builder.accumulate(AccumulatorKind::sum, high, no_aggregate_step, bits);
            builder.accumulate(AccumulatorKind::sum, low, no_aggregate_step, bits);
            if (bits <= 31) {
                builder.accumulate(AccumulatorKind::sum_squares, low, no_aggregate_step, 2 * bits);
            }
            this->check(stores, runs, request, nullptr);
            ASSERT_FALSE(this->HasFatalFailure()) << bits << " bits, " << int(key_bits) << " of the key";
        }
    }
}

// Keys of one column with few codes, and columns' own numbers: processors add these up by code. Some of the
// keys are the same for several codes, and some numbers are at an end of their type.
TYPED_TEST(EngineAggregateSums, GroupsOfFewCodes) {
    int few = 0;
    for (const bool with_nulls : {false, true}) {
        for (const std::size_t rows : {70, 5000, 70001}) {
            std::vector<TestRun> runs;
            const auto stores = this->make_runs({rows, rows / 2}, &runs, with_nulls);
            const auto &layout = runs[0].pages.layout;
            for (std::uint32_t column = 0; column < layout.columns; ++column) {
                if (code_slots(layout.column[column]) == 0 || code_slots(layout.column[column]) > 4096 ||
                    code_slots(runs[1].pages.layout.column[column]) == 0) {
                    continue;
                }
                few++;
                TestRequest request;
                Builder builder(&request);
                for (const TestRun &run : runs) {
                    TestInputs inputs;
                    inputs.add_map(run, column, AggregateInputKind::map32,
                                   [](std::uint64_t code) { return static_cast<std::int64_t>(code % 100); });
                    inputs.add_map(run, column, AggregateInputKind::map8,
                                   [](std::uint64_t code) { return static_cast<std::int64_t>(code & 1); });
                    for (std::uint32_t other = 0; other < layout.columns; ++other) {
                        const std::uint32_t bits = run.pages.layout.column[other].bits;
                        inputs.add_code(run, other,
                                        bits > 32 || other % 3 == 0 ? 0
                                        : other % 3 == 1            ? static_cast<std::uint64_t>(INT64_MIN)
                                                         : INT64_MAX - ((std::uint64_t(1) << bits) - 1));
                    }
                    request.inputs.push_back(std::move(inputs));
                }
                builder.add_key(builder.add_input(), 7, 0, true);
                builder.add_key(builder.add_input(), 2, 0, true);
                builder.accumulate(AccumulatorKind::count, no_aggregate_step);
                for (std::uint32_t other = 0; other < layout.columns; ++other) {
                    const std::uint16_t number = builder.add_input();
                    builder.accumulate(AccumulatorKind::count, number);
                    // Numbers of more bits would have all computed by steps.
                    if (layout.column[other].bits <= 32 || with_nulls) {
                        builder.accumulate(AccumulatorKind::sum, number);
                        builder.accumulate(AccumulatorKind::least, number);
                        builder.accumulate(AccumulatorKind::greatest, number);
                    }
                }
                this->check(stores, runs, request, nullptr);
                request.tests = {{TestKind::is_value, 0, nullptr, nullptr, 0}};
                this->check(stores, runs, request, nullptr);
                ASSERT_FALSE(this->HasFatalFailure()) << rows << " rows, column " << column;
            }
        }
    }
    EXPECT_GT(few, 3);
}

// Each integer operation at the ends of its width.
TYPED_TEST(EngineAggregateSums, OverflowFailsAndNullsDont) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({100}, &runs, false);
    struct Case {
        AggregateOperation operation;
        std::uint8_t width;
        std::int64_t left;
        std::int64_t right;
        std::optional<std::int64_t> result;
    };
    using enum AggregateOperation;
    const Case cases[] = {{add, 2, 32767, 0, 32767},
                          {add, 2, 32767, 1, {}},
                          {subtract, 2, -32768, 1, {}},
                          {multiply, 2, 256, 128, {}},
                          {multiply, 2, -256, 128, -32768},
                          {add, 4, INT32_MAX, 1, {}},
                          {multiply, 4, INT32_MIN, -1, {}},
                          {divide, 4, INT32_MIN, -1, {}},
                          {modulo, 4, INT32_MIN, -1, 0},
                          {add, 8, INT64_MAX, 1, {}},
                          {add, 8, INT64_MIN, -1, {}},
                          {subtract, 8, INT64_MIN, 1, {}},
                          {subtract, 8, 0, INT64_MIN, {}},
                          {multiply, 8, INT64_MIN, -1, {}},
                          {multiply, 8, INT64_MIN, 1, INT64_MIN},
                          {multiply, 8, 3037000500, 3037000500, {}},
                          {divide, 8, INT64_MIN, -1, {}},
                          {modulo, 8, INT64_MIN, -1, 0},
                          {divide, 8, -7, 2, -3},
                          {modulo, 8, -7, 2, -1},
                          {divide, 8, 7, 0, {}},
                          {modulo, 8, 7, 0, {}}};
    for (const Case &test : cases) {
        for (const bool is_null : {false, true}) {
            TestRequest request;
            Builder builder(&request);
            request.inputs.emplace_back();
            const std::uint16_t left = builder.add_constant(test.left);
            const std::uint16_t right = is_null ? builder.add_step(null) : builder.add_constant(test.right);
            const std::uint16_t step = builder.add_step(test.operation, left, right, test.width);
            builder.accumulate(AccumulatorKind::count, step);
            builder.accumulate(AccumulatorKind::least, step);
            std::unique_ptr<AggregateOutput> output;
            ASSERT_TRUE(this->call(stores, request, nullptr, 1, &output).ok());
            if (!is_null && !test.result) {
                EXPECT_EQ(output->outcome(), AggregateOutcome::failed);
                continue;
            }
            ASSERT_EQ(output->outcome(), AggregateOutcome::answered);
            const auto values = this->read(*output, request.program).begin()->second;
            EXPECT_EQ(values[0], is_null ? 0 : stores[0]->entries() - stores[0]->dead_entries());
            EXPECT_EQ(static_cast<std::int64_t>(values[1]), is_null ? INT64_MAX : *test.result);
        }
    }
}

}  // namespace
