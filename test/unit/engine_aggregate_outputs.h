// Tests that ask an engine for groups and compare them with a plain reference's.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine_aggregates.h"

namespace aggregate_test {

using namespace gpu_engine;

template <typename UnderTest>
class AggregateResultsTest : public AggregateEngineTest {
  protected:
    void SetUp() override { this->template open<UnderTest>(); }

    Groups read(const AggregateOutput &output, const AggregateProgram &program) {
        const std::uint32_t words = program.key_words + program.value_words;
        std::vector<std::uint64_t> records(output.groups() * words);
        // In portions, and the whole.
        const std::uint64_t some = output.groups() / 3;
        EXPECT_TRUE(output.read_groups(*stream_, 0, some, records.data()).ok());
        EXPECT_TRUE(
            output.read_groups(*stream_, some, output.groups() - some, records.data() + some * words).ok());
        EXPECT_EQ(output.read_groups(*stream_, output.groups(), 1, records.data()).code,
                  StatusCode::invalid_argument);
        Groups groups;
        for (std::size_t i = 0; i < output.groups(); ++i) {
            const std::uint64_t *record = records.data() + i * words;
            const bool is_new =
                groups
                    .emplace(std::vector<std::uint64_t>(record, record + program.key_words),
                             std::vector<std::uint64_t>(record + program.key_words, record + words))
                    .second;
            EXPECT_TRUE(is_new) << "a group comes twice";
        }
        return groups;
    }

    void check(const std::vector<std::unique_ptr<ColumnStore>> &stores, const std::vector<TestRun> &runs,
               const TestRequest &request, heap_facts::HeapFacts *facts) {
        const Expected expected = compute(request, runs, facts);
        const std::unique_ptr<HeapBlocks> blocks = facts == nullptr ? nullptr : keep(facts->known());
        std::unique_ptr<AggregateOutput> output;
        const Status status = call(stores, request, blocks.get(), UINT32_MAX, &output);
        ASSERT_TRUE(status.ok()) << status.message;
        outcomes_[expected.failed]++;
        if (expected.failed) {
            ASSERT_EQ(output->outcome(), AggregateOutcome::failed);
            EXPECT_EQ(output->groups(), 0U);
            return;
        }
        ASSERT_EQ(output->outcome(), AggregateOutcome::answered);
        ASSERT_EQ(output->groups(), expected.groups.size());
        ASSERT_EQ(read(*output, request.program), expected.groups);
        ASSERT_EQ(read_unresolved(*output, request.program), expected.unresolved);
        AggregateTop only_counts = {};
        only_counts.of_rows = top_only_counts;
        ASSERT_TRUE(call(stores, request, blocks.get(), UINT32_MAX, &output, only_counts).ok());
        const bool is_counted = expected.unresolved.empty();
        EXPECT_EQ(output->counted(), is_counted ? expected.groups.size() : 0);
        EXPECT_EQ(output->groups(), is_counted ? 0 : expected.groups.size());
        const std::uint64_t all = expected.groups.size() + expected.unresolved.size();
        ASSERT_TRUE(call(stores, request, blocks.get(), all, &output).ok());
        EXPECT_EQ(output->outcome(), AggregateOutcome::answered);
        if (all == 0) {
            return;
        }
        ASSERT_TRUE(call(stores, request, blocks.get(), all - 1, &output).ok());
        EXPECT_EQ(output->outcome(), AggregateOutcome::too_many_groups);
        EXPECT_EQ(output->groups(), 0U);
    }

    int outcomes_[2] = {};
};

// A request of one input of each kind, which each test changes.
inline TestRequest simple_request(const std::vector<TestRun> &runs) {
    TestRequest request;
    Builder builder(&request);
    const std::uint16_t code = builder.add_input();
    for (const TestRun &run : runs) {
        TestInputs inputs;
        inputs.add_code(run, 0, 5);
        request.inputs.push_back(std::move(inputs));
    }
    builder.accumulate(AccumulatorKind::count, no_aggregate_step);
    builder.accumulate(AccumulatorKind::sum, code);
    return request;
}

}  // namespace aggregate_test
