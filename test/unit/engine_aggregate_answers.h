// Tests that ask an engine for groups and compare them with a plain reference's.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine_aggregates.h"

namespace aggregate_test {

using namespace gpu_engine;

template <typename UnderTest>
class AggregateAnswersTest : public AggregateEngineTest {
  protected:
    void SetUp() override { this->template open<UnderTest>(); }

    Groups read(const AggregateAnswer &answer, const AggregateProgram &program) {
        const std::uint32_t words = program.key_words + program.value_words;
        std::vector<std::uint64_t> records(answer.groups() * words);
        // In portions, and the whole.
        const std::uint64_t some = answer.groups() / 3;
        EXPECT_TRUE(answer.read_groups(*stream_, 0, some, records.data()).ok());
        EXPECT_TRUE(
            answer.read_groups(*stream_, some, answer.groups() - some, records.data() + some * words).ok());
        EXPECT_EQ(answer.read_groups(*stream_, answer.groups(), 1, records.data()).code,
                  StatusCode::invalid_argument);
        Groups groups;
        for (std::size_t i = 0; i < answer.groups(); ++i) {
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
               const TestQuestion &question, heap_facts::HeapFacts *facts) {
        const Expected expected = compute(question, runs, facts);
        const std::unique_ptr<HeapBlocks> blocks = facts == nullptr ? nullptr : keep(facts->known());
        std::unique_ptr<AggregateAnswer> answer;
        const Status status = ask(stores, question, blocks.get(), UINT32_MAX, &answer);
        ASSERT_TRUE(status.ok()) << status.message;
        outcomes_[expected.failed]++;
        if (expected.failed) {
            ASSERT_EQ(answer->outcome(), AggregateOutcome::failed);
            EXPECT_EQ(answer->groups(), 0U);
            return;
        }
        ASSERT_EQ(answer->outcome(), AggregateOutcome::answered);
        ASSERT_EQ(answer->groups(), expected.groups.size());
        ASSERT_EQ(read(*answer, question.program), expected.groups);
        ASSERT_EQ(read_doubtful(*answer, question.program), expected.doubtful);
        AggregateTop only_counts = {};
        only_counts.of_rows = top_only_counts;
        ASSERT_TRUE(ask(stores, question, blocks.get(), UINT32_MAX, &answer, only_counts).ok());
        const bool is_counted = expected.doubtful.empty();
        EXPECT_EQ(answer->counted(), is_counted ? expected.groups.size() : 0);
        EXPECT_EQ(answer->groups(), is_counted ? 0 : expected.groups.size());
        const std::uint64_t all = expected.groups.size() + expected.doubtful.size();
        ASSERT_TRUE(ask(stores, question, blocks.get(), all, &answer).ok());
        EXPECT_EQ(answer->outcome(), AggregateOutcome::answered);
        if (all == 0) {
            return;
        }
        ASSERT_TRUE(ask(stores, question, blocks.get(), all - 1, &answer).ok());
        EXPECT_EQ(answer->outcome(), AggregateOutcome::too_many_groups);
        EXPECT_EQ(answer->groups(), 0U);
    }

    int outcomes_[2] = {};
};

// A question of one input of each kind, which each test changes.
inline TestQuestion simple_question(const std::vector<TestRun> &runs) {
    TestQuestion question;
    Builder builder(&question);
    const std::uint16_t code = builder.add_input();
    for (const TestRun &run : runs) {
        TestInputs inputs;
        inputs.add_code(run, 0, 5);
        question.inputs.push_back(std::move(inputs));
    }
    builder.accumulate(AccumulatorKind::count, no_aggregate_step);
    builder.accumulate(AccumulatorKind::sum, code);
    return question;
}

}  // namespace aggregate_test
