// Groups of several engines, of which each leaves out what no other one needs: against all of them put
// together.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "gpu_engine/aggregate_merge.h"
#include "gpu_engine/engine.h"
#include "server/requests/aggregate_parts.h"

namespace {

using namespace gpu_engine;
using server::AggregateLimits;
using server::PartOfResult;

constexpr std::uint32_t many = 40000;

// Sums by two keys of one word each: the wider one in the upper bits, as a session lays them out.
AggregateProgram sum_by_keys() {
    AggregateProgram program = {};
    program.filter = no_aggregate_step;
    program.step[0] = {AggregateOperation::input, 8, 0, 0, 0, 0};
    program.step_count = 1;
    program.input_count = 1;
    program.key_count = 2;
    program.key_words = 1;
    program.key[0].bits = 8;
    program.key[1].bits = 40;
    program.key[1].shift = 8;
    program.accumulator[0] = {AccumulatorKind::sum, 0, 0, no_aggregate_step, 0};
    program.accumulator_count = 1;
    program.value_words = 2;
    return program;
}

class AggregateParts : public testing::Test {
  protected:
    AggregateParts() : program_(sum_by_keys()), random_(20261125) {
        EngineOptions options;
        options.threads = 2;
        EXPECT_TRUE(host::open_engine(options, &engine_).ok());
        EXPECT_TRUE(engine_->open_stream(&stream_).ok());
    }

    using Groups = std::map<std::uint64_t, std::int64_t>;

    // Groups whose second key is of these codes, each with a number of its own.
    Groups groups_of(std::uint64_t first, std::uint64_t last, std::uint64_t step = 1) {
        Groups groups;
        for (std::uint64_t code = first; code < last; code += step) {
            groups[code << 8 | random_() % 256] += static_cast<std::int64_t>(random_() % 100000) - 50000;
        }
        return groups;
    }

    // An engine's answer that has these groups.
    std::unique_ptr<AggregateOutput> output_with(const AggregateProgram &program, const Groups &groups) {
        std::vector<std::uint64_t> records;
        for (const auto &[key, sum] : groups) {
            records.push_back(key);
            if (program.value_words > 0) {
                records.push_back(static_cast<std::uint64_t>(sum));
                records.push_back(sum < 0 ? UINT64_MAX : 0);
            }
        }
        const AggregateRecords all = {AggregateOutcome::answered, groups.size(), records.data(), 0, nullptr};
        std::unique_ptr<AggregateOutput> result;
        EXPECT_TRUE(
            host::merge_outputs(*engine_, *stream_, {&program, UINT32_MAX, {}, &all, 1}, &result).ok());
        return result;
    }

    // Joins the outputs of the parts. *left becomes the number of groups that stay in them.
    std::unique_ptr<AggregateOutput> call(const std::vector<Groups> &found, const AggregateTop &top,
                                          std::uint64_t *left) {
        const AggregateLimits limits = {UINT32_MAX, top};
        const AggregateProgram program = server::program_of_parts(program_, limits, true);
        std::vector<PartOfResult> parts(found.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            parts[i].keep(engine_->memory(), *stream_, program, limits, output_with(program, found[i]));
        }
        server::leave_out_of_parts(engine_->memory(), program, limits, parts, [&](auto body) {
            for (std::size_t part = 0; part < parts.size(); ++part) {
                body(part, *stream_);
            }
        });
        *left = 0;
        for (PartOfResult &part : parts) {
            *left += part.result()->groups();
            if (!part.is_read()) {
                part.read(engine_->memory(), *stream_, program);
            }
        }
        std::unique_ptr<AggregateOutput> result;
        EXPECT_TRUE(server::merge_in_memory(*engine_, *stream_, program, limits, parts, &result).ok());
        return result;
    }

    // Checks the first ones and the number. Parts may leave `most` groups at most.
    void check(const std::vector<Groups> &found, std::uint64_t most) {
        Groups all;
        for (const Groups &groups : found) {
            for (const auto &[key, sum] : groups) {
                all[key] += sum;
            }
        }
        std::uint64_t left = 0;
        const auto counted = call(found, {0, 0, 0, 0, top_only_counts}, &left);
        EXPECT_EQ(counted->counted(), all.size());
        EXPECT_EQ(counted->groups(), 0U);
        EXPECT_LE(left, most);
        for (const std::uint8_t descending : {0, 1}) {
            const AggregateTop top = {10, 1, 1, descending, 0};
            const auto result = call(found, top, &left);
            EXPECT_LE(left, most + 10 * found.size() + 10);
            std::vector<std::uint64_t> records(result->groups() * 3);
            ASSERT_TRUE(result->read_groups(*stream_, 0, result->groups(), records.data()).ok());
            Groups first;
            for (std::size_t i = 0; i < records.size(); i += 3) {
                first[records[i]] = static_cast<std::int64_t>(records[i + 1]);
            }
            EXPECT_EQ(first.size(), result->groups());
            std::vector<std::int64_t> sums;
            for (const auto &[key, sum] : all) {
                sums.push_back(descending != 0 ? sum : -sum);
            }
            std::nth_element(sums.begin(), sums.begin() + 9, sums.end(), std::greater<>());
            Groups expected;
            for (const auto &[key, sum] : all) {
                if ((descending != 0 ? sum : -sum) >= sums[9]) {
                    expected[key] = sum;
                }
            }
            EXPECT_EQ(first, expected);
        }
    }

    const AggregateProgram program_;
    std::mt19937_64 random_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Stream> stream_;
};

// The codes take the upper half of what the key could have, so that spans have some thousands of them.
constexpr std::uint64_t base = std::uint64_t(1) << 39;
constexpr std::uint64_t spread = std::uint64_t(1) << 22;  // from a code to the next

TEST_F(AggregateParts, KeysOfTheirOwnAreLeftOut) {
    check({groups_of(base, base + many * spread, spread),
           groups_of(base + 2 * many * spread, base + 3 * many * spread, spread)},
          0);
}

TEST_F(AggregateParts, GroupsAtTheEdgeAreMerged) {
    // The last groups of one part go on in the next one, with sums that only come first together.
    std::vector<Groups> found = {groups_of(base, base + many * spread, spread),
                                 groups_of(base + (many - 100) * spread, base + 2 * many * spread, spread),
                                 groups_of(base + 2 * many * spread, base + 3 * many * spread, spread)};
    for (std::uint64_t i = 0; i < 8; ++i) {
        const std::uint64_t key = (base + (many - 50 + i) * spread) << 8;
        found[0][key] = 40000;
        found[1][key] = 45000;
    }
    check(found, 2000);
}

TEST_F(AggregateParts, WhereAllKeysAreSharedNoneIsLeftOut) {
    check({groups_of(base, base + many * spread, spread), groups_of(base, base + many * spread, spread)},
          2 * many);
}

TEST_F(AggregateParts, APartWithFewGroupsIsReadWholeAndTheOtherLeavesOut) {
    check({groups_of(base, base + many * spread, spread), groups_of(base, base + 5 * spread, spread)}, 200);
    check({groups_of(base, base + many * spread, spread), {}}, 0);
}

TEST_F(AggregateParts, FarKeysOfOnePartDontMakeItsOthersShared) {
    std::vector<Groups> found = {groups_of(base, base + many * spread, spread),
                                 groups_of(base + many * spread, base + 2 * many * spread, spread)};
    found[0][(base + base / 2) << 8] = 77;
    found[0][(base + 2 * many * spread - 1) << 8] = 49999;
    check(found, 2000);
}

TEST_F(AggregateParts, TheKeyThatDividesThemIsFound) {
    // All have the same codes of the wide key, but each its own of the narrow one.
    std::vector<Groups> found(3);
    for (std::size_t part = 0; part < found.size(); ++part) {
        for (std::uint64_t i = 0; i < many; ++i) {
            found[part][(base + i * spread) << 8 | (part * 20 + i % 20)] =
                static_cast<std::int64_t>(random_() % 1000000);
        }
    }
    check(found, 0);
}

TEST_F(AggregateParts, WithoutMemoryAllIsKept) {
    const Groups groups = groups_of(base, base + many * spread, spread);
    const AggregateLimits limits = {UINT32_MAX, {many, 1, 1, 1, 0}};
    PartOfResult part;
    part.keep(engine_->memory(), *stream_, program_, limits, output_with(program_, groups));
    ASSERT_NE(part.marks(), nullptr);
    const SharedKeys none = {1, {}, {}};
    engine_->memory().set_limit(engine_->memory().used());
    part.leave_out(engine_->memory(), *stream_, program_, limits, none);
    EXPECT_EQ(part.result()->groups(), groups.size());
    engine_->memory().set_limit(UINT64_MAX);
    part.leave_out(engine_->memory(), *stream_, program_, {UINT32_MAX, {5, 1, 1, 1, 0}}, none);
    EXPECT_LT(part.result()->groups(), 10U);
}

TEST_F(AggregateParts, AllGroupsAreWantedWhole) {
    const auto result = output_with(program_, groups_of(base, base + 100 * spread, spread));
    const SharedKeys none = {1, {}, {}};
    std::unique_ptr<AggregateOutput> rest;
    EXPECT_EQ(result->leave_out(*stream_, program_, none, {}, &rest).code, StatusCode::invalid_argument);
    stream_->cancel();
    EXPECT_EQ(result->leave_out(*stream_, program_, none, {3, 1, 1, 1, 0}, &rest).code,
              StatusCode::cancelled);
    KeyMarks marks;
    EXPECT_EQ(result->mark_keys(*stream_, program_, &marks).code, StatusCode::cancelled);
    stream_->resume();
}

}  // namespace
