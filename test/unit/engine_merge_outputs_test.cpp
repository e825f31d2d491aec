// Answers about groups of several engines, put together.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "gpu_engine/aggregate_merge.h"
#include "gpu_engine/engine.h"

namespace {

using namespace gpu_engine;

// A count by a key of one word.
AggregateProgram count_by_key() {
    AggregateProgram program = {};
    program.filter = no_aggregate_step;
    program.step[0] = {AggregateOperation::input, 8, 0, 0, 0, 0};
    program.step_count = 1;
    program.input_count = 1;
    program.key[0].codes = std::uint64_t(1) << 40;
    program.key[0].bits = 40;
    program.key_count = 1;
    program.key_words = 1;
    program.accumulator[0] = {AccumulatorKind::count, 0, no_aggregate_step, no_aggregate_step, 0};
    program.accumulator_count = 1;
    program.value_words = 1;
    return program;
}

class MergeOutputs : public testing::Test {
  protected:
    static constexpr std::size_t parts = 3;

    MergeOutputs() : program_(count_by_key()), found_(parts) {
        EngineOptions options;
        options.threads = 4;
        EXPECT_TRUE(host::open_engine(options, &engine_).ok());
        EXPECT_TRUE(engine_->open_stream(&stream_).ok());
    }

    // Some keys are in one part only, some in two, some in all.
    void find(std::uint64_t keys) {
        for (std::uint64_t i = 0; i < keys; ++i) {
            for (std::uint64_t part = 0; part < parts; ++part) {
                if ((i >> part) % 2 == 0) {
                    const std::uint64_t key = i * 0x9e3779b9 % (std::uint64_t(1) << 40);
                    const std::uint64_t count = i % 1000 + part + 1;
                    found_[part].insert(found_[part].end(), {key, count});
                    expected_[key] += count;
                }
            }
        }
    }
    std::unique_ptr<AggregateOutput> merge(std::uint64_t max_groups, const AggregateTop &top) {
        std::vector<AggregateRecords> records;
        for (const std::vector<std::uint64_t> &of_part : found_) {
            records.push_back({AggregateOutcome::answered, of_part.size() / 2, of_part.data(), 0, nullptr});
        }
        const AggregateMerge merge = {&program_, max_groups, top, records.data(), records.size()};
        std::unique_ptr<AggregateOutput> output;
        EXPECT_TRUE(host::merge_outputs(*engine_, *stream_, merge, &output).ok());
        return output;
    }
    std::map<std::uint64_t, std::uint64_t> groups_of(const AggregateOutput &output) {
        std::vector<std::uint64_t> records(output.groups() * 2);
        EXPECT_TRUE(output.read_groups(*stream_, 0, output.groups(), records.data()).ok());
        std::map<std::uint64_t, std::uint64_t> groups;
        for (std::size_t i = 0; i < records.size(); i += 2) {
            groups[records[i]] = records[i + 1];
        }
        // No key comes twice.
        EXPECT_EQ(groups.size(), output.groups());
        return groups;
    }

    AggregateProgram program_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Stream> stream_;
    std::vector<std::vector<std::uint64_t>> found_;
    std::map<std::uint64_t, std::uint64_t> expected_;
};

TEST_F(MergeOutputs, GroupsOfTheSameKeyBecomeOne) {
    // Few groups are joined by one thread, many by all; more than a span of records has.
    for (const std::uint64_t keys : {0, 1, 1000, 200000}) {
        found_.assign(parts, {});
        expected_.clear();
        find(keys);
        const auto output = merge(UINT32_MAX, {});
        ASSERT_EQ(output->outcome(), AggregateOutcome::answered);
        EXPECT_EQ(groups_of(*output), expected_) << keys;
        if (keys > 0) {
            EXPECT_EQ(merge(expected_.size(), {})->outcome(), AggregateOutcome::answered);
            EXPECT_EQ(merge(expected_.size() - 1, {})->outcome(), AggregateOutcome::too_many_groups);
        }
    }
}

TEST_F(MergeOutputs, TheFirstOnesAreChosenBehindTheMerge) {
    find(100000);
    const auto output = merge(1000, {10, 1, 0, 1, 0});
    ASSERT_EQ(output->outcome(), AggregateOutcome::answered);
    const auto groups = groups_of(*output);
    std::vector<std::uint64_t> counts;
    for (const auto &[key, count] : expected_) {
        counts.push_back(count);
    }
    std::sort(counts.begin(), counts.end(), std::greater<>());
    std::map<std::uint64_t, std::uint64_t> first;
    for (const auto &[key, count] : expected_) {
        if (count >= counts[9]) {
            first[key] = count;
        }
    }
    EXPECT_EQ(groups, first);
}

TEST_F(MergeOutputs, OnlyTheirNumberIsWanted) {
    find(100000);
    const auto output = merge(1, {0, 0, 0, 0, top_only_counts});
    ASSERT_EQ(output->outcome(), AggregateOutcome::answered);
    EXPECT_EQ(output->groups(), 0U);
    EXPECT_EQ(output->counted(), expected_.size());
}

TEST_F(MergeOutputs, WhatFailedInOnePartHasFailed) {
    const std::vector<std::uint64_t> record = {1, 2};
    const AggregateRecords records[] = {{AggregateOutcome::answered, 1, record.data(), 0, nullptr},
                                        {AggregateOutcome::failed, 0, nullptr, 0, nullptr},
                                        {AggregateOutcome::too_many_groups, 0, nullptr, 0, nullptr}};
    const AggregateMerge merge = {&program_, 10, {}, records, 3};
    std::unique_ptr<AggregateOutput> output;
    ASSERT_TRUE(host::merge_outputs(*engine_, *stream_, merge, &output).ok());
    EXPECT_EQ(output->outcome(), AggregateOutcome::failed);
    EXPECT_EQ(output->groups(), 0U);
}

TEST_F(MergeOutputs, CanBeCancelledAndRunsOutOfMemory) {
    find(100000);
    std::vector<AggregateRecords> records;
    for (const std::vector<std::uint64_t> &of_part : found_) {
        records.push_back({AggregateOutcome::answered, of_part.size() / 2, of_part.data(), 0, nullptr});
    }
    const AggregateMerge merge = {&program_, UINT32_MAX, {}, records.data(), records.size()};
    std::unique_ptr<AggregateOutput> output;
    stream_->cancel();
    EXPECT_EQ(host::merge_outputs(*engine_, *stream_, merge, &output).code, StatusCode::cancelled);
    stream_->resume();
    engine_->memory().set_limit(1 << 20);
    EXPECT_EQ(host::merge_outputs(*engine_, *stream_, merge, &output).code, StatusCode::out_of_memory);
    EXPECT_EQ(engine_->memory().used(), 0U);
    engine_->memory().set_limit(UINT64_MAX);
    EXPECT_TRUE(host::merge_outputs(*engine_, *stream_, merge, &output).ok());
}

}  // namespace
