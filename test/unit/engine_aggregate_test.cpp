// Groups of rows: programs of all kinds on each engine, against a plain reference.
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
class EngineAggregates : public AggregateResultsTest<UnderTest> {};

TYPED_TEST_SUITE(EngineAggregates, Engines, EngineName);

TYPED_TEST(EngineAggregates, AnswersEqualAPlainReference) {
    const std::vector<std::vector<std::size_t>> sizes = {{1},    {2},         {64},         {65, 1},
                                                         {1000}, {3000, 700}, {20011, 900}, {60000}};
    for (const std::vector<std::size_t> &rows : sizes) {
        std::vector<TestRun> runs;
        const auto stores = this->make_runs(rows, &runs, rows.size() % 2 == 1);
        for (int round = 0; round < (rows[0] > 10000 ? 12 : 40); ++round) {
            SCOPED_TRACE(std::to_string(rows[0]) + " rows, round " + std::to_string(round));
            const TestRequest request = make_request(runs, this->random_);
            heap_facts::HeapFacts facts =
                heap_facts::HeapFacts::random(1 + (runs[0].run.places.back() >> 16), this->random_);
            this->check(stores, runs, request, round % 3 == 0 ? &facts : nullptr);
            ASSERT_FALSE(this->HasFatalFailure());
        }
    }
    // Both kinds of outcome have been seen.
    EXPECT_GT(this->outcomes_[0], 100);
    EXPECT_GT(this->outcomes_[1], 5);
}

// From one group to as many as rows, in few bits and in many.
TYPED_TEST(EngineAggregates, FewGroupsAndMany) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({70000, 9000}, &runs, false);
    for (const std::uint64_t distinct : {1, 7, 495, 60000, 79000}) {
        for (const std::uint8_t more_bits : {0, 20, 50}) {
            TestRequest request;
            Builder builder(&request);
            for (const TestRun &run : runs) {
                TestInputs inputs;
                inputs.add_map(run, 7, AggregateInputKind::map32, [&](std::uint64_t code) {
                    return static_cast<std::int64_t>(code * 2654435761 % distinct);
                });
                inputs.add_code(run, 6, 0);
                request.inputs.push_back(std::move(inputs));
            }
            const std::uint16_t group = builder.add_input();
            const std::uint16_t number = builder.add_input();
            builder.add_key(group, static_cast<std::uint8_t>(column_test::bits_for(distinct - 1)), 0, false);
            if (more_bits > 0) {
                builder.add_key(builder.add_constant(-5), more_bits, -70, true);
            }
            builder.accumulate(AccumulatorKind::sum, number);
            builder.accumulate(AccumulatorKind::count, no_aggregate_step);
            builder.accumulate(AccumulatorKind::greatest, number);
            this->check(stores, runs, request, nullptr);
            ASSERT_FALSE(this->HasFatalFailure()) << distinct << " groups";
        }
    }
}

// Keys side by side whose codes are counted, or only their bits are: groups have the same keys.
TYPED_TEST(EngineAggregates, KeysWithSoManyCodes) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({70000, 9000}, &runs, false);
    for (const bool are_counted : {false, true}) {
        for (const std::uint64_t last_codes : {1, 5, 300, 70000}) {
            SCOPED_TRACE(std::to_string(last_codes) + (are_counted ? " codes, counted" : " codes"));
            const std::uint64_t codes[] = {11, 9, last_codes};
            TestRequest request;
            Builder builder(&request);
            for (const TestRun &run : runs) {
                TestInputs inputs;
                for (const std::uint64_t distinct : codes) {
                    inputs.add_map(run, 7, AggregateInputKind::map32, [=](std::uint64_t code) {
                        return static_cast<std::int64_t>(code * 2654435761 % 1000003 % distinct);
                    });
                }
                inputs.add_code(run, 6, 0);
                request.inputs.push_back(std::move(inputs));
            }
            for (int key = 0; key < 3; ++key) {
                // The second one's numbers begin at -20, and NULL is told from them.
                const bool is_second = key == 1;
                const std::uint16_t input = builder.add_input();
                const std::uint16_t step = is_second ? builder.add_step(AggregateOperation::subtract, input,
                                                                        builder.add_constant(20))
                                                     : input;
                const std::uint64_t count = codes[key] + (is_second ? 1 : 0);
                builder.add_key(step, static_cast<std::uint8_t>(column_test::bits_for(count - 1)),
                                is_second ? -20 : 0, is_second, are_counted ? count : 0);
            }
            builder.accumulate(AccumulatorKind::sum, builder.add_input());
            builder.accumulate(AccumulatorKind::count, no_aggregate_step);
            this->check(stores, runs, request, nullptr);
            ASSERT_FALSE(this->HasFatalFailure());
        }
    }
}

// Returns the key for which mix_key(0, key) is this hash.
std::uint64_t key_of_hash(std::uint64_t hash) {
    const auto divide = [](std::uint64_t product, std::uint64_t factor) {
        std::uint64_t inverse = factor;
        for (int i = 0; i < 5; ++i) {
            inverse *= 2 - factor * inverse;
        }
        return product * inverse;
    };
    hash = divide(hash ^ hash >> 32, 0xd6e8feb86659fd93);
    return divide(hash ^ hash >> 32, 0x9e3779b97f4a7c15);
}

// Whoever chooses the keys can choose their hashes. An engine answers, or says that it can't; it doesn't take
// ever more memory.
TYPED_TEST(EngineAggregates, KeysWhoseHashesCollide) {
    ASSERT_EQ(mix_key(0, key_of_hash(std::uint64_t(7) << 32)), std::uint64_t(7) << 32);
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({70000}, &runs, false);
    TestRequest request;
    Builder builder(&request);
    TestInputs inputs;
    inputs.add_map(runs[0], 7, AggregateInputKind::map64, [](std::uint64_t code) {
        return static_cast<std::int64_t>(key_of_hash(code % 3000 << 32));
    });
    request.inputs.push_back(std::move(inputs));
    builder.add_key(builder.add_input(), 64, 0, false);
    builder.accumulate(AccumulatorKind::count, no_aggregate_step);
    std::unique_ptr<AggregateOutput> output;
    const Status status = this->call(stores, request, nullptr, UINT32_MAX, &output);
    ASSERT_TRUE(status.ok()) << status.message;
    if (output->outcome() == AggregateOutcome::answered) {
        EXPECT_EQ(this->read(*output, request.program), compute(request, runs, nullptr).groups);
    } else {
        EXPECT_EQ(output->outcome(), AggregateOutcome::too_many_groups);
    }
}

// A code that isn't one of the key's is damage. Its row belongs to some group, and to one only.
TYPED_TEST(EngineAggregates, CodesBeyondTheLast) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({9000}, &runs, false);
    for (const std::uint64_t codes : {5, 900, 100000}) {
        TestRequest request;
        Builder builder(&request);
        TestInputs inputs;
        inputs.add_map(runs[0], 7, AggregateInputKind::map64, [](std::uint64_t code) {
            return static_cast<std::int64_t>(code * 0x9e3779b97f4a7c15);
        });
        request.inputs.push_back(std::move(inputs));
        builder.accumulate(AccumulatorKind::count, no_aggregate_step);
        builder.add_key(builder.add_input(), static_cast<std::uint8_t>(column_test::bits_for(codes - 1)), 0,
                        false, codes);
        std::unique_ptr<AggregateOutput> output;
        ASSERT_TRUE(this->call(stores, request, nullptr, UINT32_MAX, &output).ok());
        ASSERT_EQ(output->outcome(), AggregateOutcome::answered);
        std::uint64_t rows = 0;
        for (const auto &[key, values] : this->read(*output, request.program)) {
            rows += values[0];
        }
        EXPECT_EQ(rows, stores[0]->entries() - stores[0]->dead_entries());
    }
}

// Conditions that say of each code whether it passes, from none to all, and from few rows to many.
TYPED_TEST(EngineAggregates, ConditionsByCode) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({9011, 700}, &runs, true);
    Random &random = this->random_;
    for (int round = 0; round < 60; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        TestRequest request = simple_request(runs);
        Builder builder(&request);
        // Now and then more than a device asks at once.
        const std::size_t conditions = 1 + random() % (round % 6 == 0 ? 20 : 4);
        std::uint16_t filter = no_aggregate_step;
        for (std::size_t i = 0; i < conditions; ++i) {
            std::uint32_t column = 0;
            do {
                column = static_cast<std::uint32_t>(random() % runs[0].pages.layout.columns);
            } while (std::any_of(runs.begin(), runs.end(), [column](const TestRun &run) {
                return code_slots(run.pages.layout.column[column]) == 0;
            }));
            constexpr AggregateInputKind kinds[] = {AggregateInputKind::map8, AggregateInputKind::map32,
                                                    AggregateInputKind::map64, AggregateInputKind::bits};
            const AggregateInputKind kind = kinds[random() % std::size(kinds)];
            // This number of 64 codes pass, anywhere or one after the other.
            constexpr std::uint64_t passing[] = {0, 1, 8, 32, 60, 63, 64, 65};
            const std::uint64_t share = passing[random() % std::size(passing)];
            const std::uint64_t seed = random() | 1;
            const bool column_null_is_null = random() % 2 == 0;
            const std::int64_t of_column_null = static_cast<std::int64_t>(random() % 2);
            const bool has_nulls = random() % 4 == 0;
            const std::uint16_t step = builder.add_input();
            for (std::size_t part = 0; part < runs.size(); ++part) {
                TestInputs &inputs = request.inputs[part];
                AggregateInput *input = inputs.add_map(runs[part], column, kind, [&](std::uint64_t code) {
                    return share > 64 ? static_cast<std::int64_t>(code % 100 > 3)
                                      : static_cast<std::int64_t>((code * seed) >> 58 < share);
                });
                input->column_null_is_null = column_null_is_null;
                input->of_column_null = column_null_is_null ? 0 : of_column_null;
                if (has_nulls) {
                    inputs.set_nulls(input, random);
                }
            }
            filter = filter == no_aggregate_step
                         ? step
                         : builder.add_step(AggregateOperation::logical_and, filter, step);
        }
        request.program.filter = filter;
        heap_facts::HeapFacts facts =
            heap_facts::HeapFacts::random(1 + (runs[0].run.places.back() >> 16), random);
        this->check(stores, runs, request, round % 2 == 0 ? &facts : nullptr);
        ASSERT_FALSE(this->HasFatalFailure());
    }
}

// Only the first groups in an order are returned, and those that tie with the last one.
TYPED_TEST(EngineAggregates, FirstGroupsInAnOrder) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({70000, 9000}, &runs, false);
    // Groups are ordered by the first sum, the count, the second sum, or a part of the key.
    const struct {
        int value;  // a word behind those of the key; -1: the key's last one
        bool is_wide;
    } orders[] = {{0, true}, {2, false}, {3, true}, {3, false}, {-1, false}};
    for (const std::uint64_t distinct : {1, 7, 495, 60000, 79000}) {
        for (const std::uint8_t more_bits : {0, 50, 60}) {
            // Many groups take their time, so that short runs have one case of them. Fewer ones may be
            // numbered by their keys, if these have no more bits.
            if (distinct > 495 && more_bits != (distinct == 79000 ? 50 : 0) && !unit_test::is_long_run()) {
                continue;
            }
            TestRequest request;
            Builder builder(&request);
            for (const TestRun &run : runs) {
                TestInputs inputs;
                inputs.add_map(run, 7, AggregateInputKind::map32, [&](std::uint64_t code) {
                    return static_cast<std::int64_t>(code * 2654435761 % distinct);
                });
                // Sums of some groups lie beyond 64 bits, and many are alike.
                inputs.add_map(run, 2, AggregateInputKind::map64, [](std::uint64_t code) {
                    return code % 3 == 0   ? INT64_MIN
                           : code % 3 == 1 ? INT64_MAX
                                           : static_cast<std::int64_t>(code % 5);
                });
                inputs.add_map(run, 2, AggregateInputKind::map64,
                               [](std::uint64_t code) { return static_cast<std::int64_t>(code % 15) - 7; });
                request.inputs.push_back(std::move(inputs));
            }
            const std::uint16_t group = builder.add_input();
            const std::uint16_t number = builder.add_input();
            const std::uint16_t small = builder.add_input();
            builder.add_key(group, static_cast<std::uint8_t>(column_test::bits_for(distinct - 1)), 0, false);
            if (more_bits > 0) {
                builder.add_key(builder.add_constant(-5), more_bits, -70, true);
            }
            builder.accumulate(AccumulatorKind::sum, number);
            builder.accumulate(AccumulatorKind::count, no_aggregate_step);
            builder.accumulate(AccumulatorKind::sum, small, no_aggregate_step, 3);
            std::unique_ptr<AggregateOutput> output;
            ASSERT_TRUE(this->call(stores, request, nullptr, UINT32_MAX, &output).ok());
            const auto all = this->read(*output, request.program);
            for (const std::uint64_t count : {1, 10, 400, 100000}) {
                for (const auto &order : orders) {
                    for (const bool descending : {false, true}) {
                        if (distinct > 495 && descending != (order.value == 0) && !unit_test::is_long_run()) {
                            continue;
                        }
                        SCOPED_TRACE(std::to_string(distinct) + " groups, the first " +
                                     std::to_string(count) + " by word " + std::to_string(order.value));
                        const auto rank = [&](const auto &one) {
                            const auto &[key, values] = one;
                            const auto word = static_cast<std::int64_t>(
                                order.value < 0 ? key.back() : values[static_cast<std::size_t>(order.value)]);
                            Wide taken = word;
                            if (order.is_wide) {
                                const std::uint64_t high = values[static_cast<std::size_t>(order.value) + 1];
                                const Wide sum = Wide(static_cast<std::int64_t>(high)) * (Wide(1) << 64) +
                                                 static_cast<std::uint64_t>(word);
                                taken = std::clamp<Wide>(sum, INT64_MIN, INT64_MAX);
                            }
                            return descending ? -taken : taken;
                        };
                        std::vector<Wide> ranks;
                        for (const auto &one : all) {
                            ranks.push_back(rank(one));
                        }
                        std::sort(ranks.begin(), ranks.end());
                        const Wide last = ranks[std::min<std::size_t>(count, ranks.size()) - 1];
                        auto expected = all;
                        std::erase_if(expected, [&](const auto &one) { return rank(one) > last; });
                        const std::uint32_t keys = request.program.key_words;
                        const std::uint32_t word =
                            order.value < 0 ? keys - 1 : keys + static_cast<std::uint32_t>(order.value);
                        const AggregateTop top = {count, word,
                                                  static_cast<std::uint8_t>(order.is_wide ? 1 : 0),
                                                  static_cast<std::uint8_t>(descending ? 1 : 0), 0};
                        ASSERT_TRUE(this->call(stores, request, nullptr, expected.size(), &output, top).ok());
                        ASSERT_EQ(output->outcome(), AggregateOutcome::answered);
                        ASSERT_EQ(this->read(*output, request.program), expected);
                    }
                }
            }
        }
    }
    const TestRequest request = simple_request(runs);
    std::unique_ptr<AggregateOutput> output;
    const std::uint32_t words = request.program.key_words + request.program.value_words;
    for (const std::uint8_t is_wide : {0, 1}) {
        for (const std::uint32_t word : {words - is_wide, words, UINT32_MAX - is_wide, UINT32_MAX}) {
            EXPECT_EQ(
                this->call(stores, request, nullptr, UINT32_MAX, &output, {1, word, is_wide, 0, 0}).code,
                StatusCode::invalid_argument);
        }
        EXPECT_TRUE(this->call(stores, request, nullptr, UINT32_MAX, &output,
                               {1, words - 1U - is_wide, is_wide, 0, 0})
                        .ok());
    }
}

TYPED_TEST(EngineAggregates, ImpossibleRequests) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({300}, &runs, true);
    const TestRequest fine = simple_request(runs);
    std::unique_ptr<AggregateOutput> output;
    ASSERT_TRUE(this->call(stores, fine, nullptr, 1, &output).ok());
    const auto refused = [&](auto change) {
        TestRequest request = simple_request(runs);
        change(request.program, request.inputs[0].views[0]);
        return this->call(stores, request, nullptr, 1, &output).code == StatusCode::invalid_argument;
    };
    using Program = AggregateProgram;
    using Input = AggregateInput;
    EXPECT_FALSE(refused([](Program &, Input &) {}));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.step_count = max_aggregate_steps + 1; }));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.input_count = max_aggregate_inputs + 1; }));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.input_count = 0; }));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.key_count = max_aggregate_keys + 1; }));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.key_words = 1; }));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.accumulator_count = UINT32_MAX; }));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.value_words = 2; }));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.filter = 1; }));
    EXPECT_TRUE(refused(
        [](Program &program, Input &) { program.step[0].operation = static_cast<AggregateOperation>(0); }));
    EXPECT_TRUE(refused(
        [](Program &program, Input &) { program.step[0].operation = static_cast<AggregateOperation>(200); }));
    EXPECT_TRUE(refused(
        [](Program &program, Input &) { program.step[0].operation = AggregateOperation::logical_not; }));
    EXPECT_TRUE(refused([](Program &program, Input &) {
        program.step[1] = {AggregateOperation::add, 3, 0, 0, 0, 0};
        program.step_count = 2;
    }));
    EXPECT_TRUE(refused([](Program &program, Input &) {
        program.step[1] = {AggregateOperation::add, 4, 0, 1, 0, 0};
        program.step_count = 2;
    }));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.accumulator[0].word = 1; }));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.accumulator[1].step = 7; }));
    EXPECT_TRUE(refused([](Program &program, Input &) { program.accumulator[1].step = no_aggregate_step; }));
    EXPECT_TRUE(refused(
        [](Program &program, Input &) { program.accumulator[1].kind = static_cast<AccumulatorKind>(11); }));
    EXPECT_TRUE(refused([](Program &program, Input &) {
        program.key_count = 1;
        program.key_words = 1;
        program.key[0] = {0, 60, 5, 0, false, 0, 0, 0};
    }));
    EXPECT_TRUE(refused([](Program &program, Input &) {
        program.key_count = 2;
        program.key_words = 1;
        program.key[0] = {0, 10, 5, 0, false, 0, 0, 0};
        program.key[1] = {0, 10, 14, 0, false, 0, 0, 0};
    }));
    EXPECT_TRUE(refused([](Program &program, Input &) {
        program.key_count = 1;
        program.key_words = 1;
        program.key[0] = {0, 10, 5, 0, false, 0, 0, 1025};
    }));
    EXPECT_TRUE(refused([](Program &, Input &input) { input.column = 99; }));
    EXPECT_TRUE(refused([](Program &, Input &input) { input.kind = static_cast<AggregateInputKind>(0); }));
    EXPECT_TRUE(refused([](Program &, Input &input) {
        input.kind = AggregateInputKind::map64;
        input.places = 3;
        input.values = nullptr;
    }));
    const std::uint64_t wide[2] = {};
    EXPECT_TRUE(refused([&](Program &program, Input &input) {
        input.kind = AggregateInputKind::map128;
        input.places = 1;
        input.values = wide;
        program.accumulator[1].kind = AccumulatorKind::sum_squares;
    }));
    // Exponents that no finite float has.
    for (const auto &[kind, exponent] :
         {std::pair(AccumulatorKind::sum_float32, 0), std::pair(AccumulatorKind::sum_float32, 255),
          std::pair(AccumulatorKind::sum_float64, 0), std::pair(AccumulatorKind::sum_float64, 2047)}) {
        const auto set = [&](Program &program, int by) {
            program.accumulator[1].kind = kind;
            program.accumulator[1].exponent = static_cast<std::uint16_t>(exponent + by);
        };
        EXPECT_TRUE(refused([&](Program &program, Input &) { set(program, 0); }));
        EXPECT_FALSE(refused([&](Program &program, Input &) { set(program, exponent == 0 ? 1 : -1); }));
    }
    // Maps that are too short: whatever is taken, nothing behind them is read.
    for (const AggregateInputKind kind :
         {AggregateInputKind::map8, AggregateInputKind::map32, AggregateInputKind::map64,
          AggregateInputKind::map128, AggregateInputKind::ranges, AggregateInputKind::bits}) {
        for (const std::uint64_t places : {0, 1}) {
            const auto values = std::make_unique<std::uint64_t[]>(2 * places);
            EXPECT_FALSE(refused([&](Program &, Input &input) {
                input.kind = kind;
                input.places = places;
                input.values = values.get();
            }));
        }
    }
    this->stream_->cancel();
    EXPECT_EQ(this->call(stores, fine, nullptr, 1, &output).code, StatusCode::cancelled);
    this->stream_->resume();
    EXPECT_TRUE(this->call(stores, fine, nullptr, 1, &output).ok());
}

TYPED_TEST(EngineAggregates, MemoryRefusedAtEachPlace) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({20000, 3000}, &runs, true);
    heap_facts::HeapFacts facts = heap_facts::HeapFacts::random(100, this->random_);
    const std::unique_ptr<HeapBlocks> blocks = this->keep(facts.known());
    const std::uint64_t before = this->engine_->memory().used();
    // Groups that may be numbered by their keys, and others; all of them, and the first ones.
    for (const std::uint8_t bits : {13, 64}) {
        TestRequest request;
        Builder builder(&request);
        for (const TestRun &run : runs) {
            TestInputs inputs;
            inputs.add_map(run, 7, AggregateInputKind::map64,
                           [](std::uint64_t code) { return static_cast<std::int64_t>(code % 8000); });
            request.inputs.push_back(std::move(inputs));
        }
        const std::uint16_t group = builder.add_input();
        builder.add_key(group, bits, 0, true);
        builder.accumulate(AccumulatorKind::sum, group);
        for (const AggregateTop &top : {AggregateTop{}, AggregateTop{2000, 1, 1, 1, 0}}) {
            for (std::int64_t refusal = 0;; ++refusal) {
                ASSERT_LT(refusal, 1000);
                std::unique_ptr<AggregateOutput> output;
                this->engine_->memory().refuse_after(refusal);
                const Status status = this->call(stores, request, top.count > 0 ? nullptr : blocks.get(),
                                                 UINT32_MAX, &output, top);
                this->engine_->memory().refuse_after(-1);
                if (status.ok()) {
                    EXPECT_EQ(output->outcome(), AggregateOutcome::answered);
                    EXPECT_GT(refusal, 3);
                    break;
                }
                ASSERT_EQ(status.code, StatusCode::out_of_memory) << status.message;
                ASSERT_EQ(output, nullptr);
                ASSERT_EQ(this->engine_->memory().used(), before) << refusal;
            }
        }
    }
}

}  // namespace
