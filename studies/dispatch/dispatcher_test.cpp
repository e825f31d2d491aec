// The dispatcher: estimates, queues, stealing, deadlines.
#include "studies/dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using gpu_engine::bench::CostModel;
using gpu_engine::bench::Dispatcher;
using gpu_engine::bench::Job;
using gpu_engine::bench::QueryFeatures;
using gpu_engine::bench::Side;

namespace {

constexpr double kNever = 1e9;

std::vector<QueryFeatures> random_queries(std::size_t count) {
    std::mt19937_64 random(1);
    std::vector<QueryFeatures> queries;
    for (std::size_t i = 0; i < count; ++i) {
        const auto shortest = static_cast<double>(random() % 1000);
        const auto second = shortest + static_cast<double>(random() % 100000);
        const auto terms = static_cast<double>(2 + random() % 5);
        queries.push_back({shortest, second, shortest + second * (terms - 1), terms});
    }
    return queries;
}

std::uint64_t taken(Dispatcher &dispatcher, Side side, double now = 0) {
    const auto job = dispatcher.take(side, now);
    return job ? job->id : 0;
}

}  // namespace

TEST(CostModel, FindsALinearFunctionAgain) {
    const auto queries = random_queries(200);
    std::vector<double> milliseconds;
    for (const QueryFeatures &query : queries) {
        milliseconds.push_back(0.1 + 2e-3 * query.shortest + 3e-6 * query.second_shortest + 1e-7 * query.sum +
                               0.05 * query.terms);
    }
    const CostModel model = CostModel::fit(queries, milliseconds);
    for (std::size_t i = 0; i < queries.size(); ++i) {
        EXPECT_NEAR(model.estimate(queries[i]), milliseconds[i], 1e-6 * milliseconds[i] + 1e-6);
    }
}

TEST(CostModel, FeaturesThatSayNothingNewDoNoHarm) {
    // Each query has one list, so three features are the same, and the fourth is constant.
    std::vector<QueryFeatures> queries;
    std::vector<double> milliseconds;
    for (int i = 1; i <= 20; ++i) {
        queries.push_back({100.0 * i, 100.0 * i, 100.0 * i, 1});
        milliseconds.push_back(1 + 0.5 * i);
    }
    const CostModel model = CostModel::fit(queries, milliseconds);
    for (std::size_t i = 0; i < queries.size(); ++i) {
        EXPECT_NEAR(model.estimate(queries[i]), milliseconds[i], 1e-6);
    }
}

TEST(CostModel, EstimatesAreNotBelowTheLeastMeasured) {
    const std::vector<QueryFeatures> queries = {{10, 10, 10, 1}, {20, 20, 20, 1}, {30, 30, 30, 1}};
    const CostModel model = CostModel::fit(queries, std::vector<double>{1, 2, 3});
    EXPECT_DOUBLE_EQ(model.estimate({0, 0, 0, 1}), 1);
    EXPECT_DOUBLE_EQ(CostModel::fit({}, {}).estimate({1, 1, 1, 1}), 0);
}

TEST(Dispatcher, NearlyEqualAdvantagesHaveAnOrder) {
    // The ratios of the costs on the two sides, rounded, are equal for the first two jobs and for the last
    // two, but not for the first and the last.
    const std::vector<Job> jobs = {{1, kNever, {0x1.0236db6db6db7p+9, 0x1.ep+2}},
                                   {2, kNever, {0x1.2133333333333p+9, 0x1.0cccccccccccdp+3}},
                                   {3, kNever, {0x1.0ffc57c57c57cp+9, 0x1.f99999999999ap+2}}};
    Dispatcher dispatcher({.advantage = 1000});
    for (const Job &job : jobs) {
        dispatcher.add(job);
    }
    dispatcher.remove(jobs[0]);
    dispatcher.remove(jobs[2]);
    EXPECT_EQ(dispatcher.waiting(), 1U);
    EXPECT_EQ(taken(dispatcher, Side::processor), 2U);
    EXPECT_EQ(taken(dispatcher, Side::processor), 0U);
}

TEST(Dispatcher, EachSideTakesItsOwnFirst) {
    Dispatcher dispatcher({});
    dispatcher.add({1, kNever, {10, 10}});
    dispatcher.add({2, kNever, {10, 1}});
    dispatcher.add({3, kNever, {1, 10}});
    EXPECT_EQ(dispatcher.waiting(), 3U);
    EXPECT_EQ(taken(dispatcher, Side::processor), 3U);
    EXPECT_EQ(taken(dispatcher, Side::device), 2U);
    EXPECT_EQ(taken(dispatcher, Side::processor), 1U);
    EXPECT_EQ(taken(dispatcher, Side::device), 0U);
    EXPECT_EQ(dispatcher.waiting(), 0U);
}

TEST(Dispatcher, OfThoseForEitherEachSideTakesWhatItIsBestAt) {
    Dispatcher dispatcher({});
    dispatcher.add({1, kNever, {10, 10}});
    dispatcher.add({2, kNever, {15, 10}});
    dispatcher.add({3, kNever, {10, 15}});
    EXPECT_EQ(taken(dispatcher, Side::device), 2U);
    EXPECT_EQ(taken(dispatcher, Side::processor), 3U);
    EXPECT_EQ(taken(dispatcher, Side::device), 1U);
}

TEST(Dispatcher, OwnQueriesKeepTheirOrder) {
    Dispatcher dispatcher({});
    for (std::uint64_t id = 1; id <= 5; ++id) {
        dispatcher.add({id, 1000.0 + static_cast<double>(id), {1, 10.0 * static_cast<double>(id)}});
    }
    for (std::uint64_t id = 1; id <= 5; ++id) {
        EXPECT_EQ(taken(dispatcher, Side::processor), id);
    }
}

TEST(Dispatcher, StealsWhatIsDoneSoonerThanByTheOwner) {
    Dispatcher dispatcher({});
    dispatcher.add({1, kNever, {30, 10}});
    // The device would finish the job in 10 ms, the processor in 30.
    EXPECT_EQ(taken(dispatcher, Side::processor), 0U);
    dispatcher.add({2, kNever, {60, 10}});
    EXPECT_EQ(taken(dispatcher, Side::processor), 0U);
    dispatcher.add({3, kNever, {90, 20}});
    // The job that takes the processor 40 ms is the one that it computes at the least disadvantage.
    EXPECT_EQ(taken(dispatcher, Side::processor), 1U);
    EXPECT_EQ(taken(dispatcher, Side::processor), 0U);
}

TEST(Dispatcher, MoreWorkersOfTheOwnerLeaveLessToSteal) {
    Dispatcher dispatcher({.workers = {1, 4}});
    for (std::uint64_t id = 1; id <= 4; ++id) {
        dispatcher.add({id, kNever, {30, 10}});
    }
    EXPECT_EQ(taken(dispatcher, Side::processor), 0U);
}

TEST(Dispatcher, DoesNotStealWhatWouldBeLate) {
    Dispatcher dispatcher({});
    dispatcher.add({1, 25, {30, 10}});
    for (std::uint64_t id = 2; id <= 10; ++id) {
        dispatcher.add({id, kNever, {100, 10}});
    }
    EXPECT_EQ(taken(dispatcher, Side::processor), 0U);
}

TEST(Dispatcher, UrgentQueriesComeFirst) {
    Dispatcher dispatcher({.urgent_ms = 50});
    dispatcher.add({1, 1000, {1, 10}});
    dispatcher.add({2, 500, {10, 10}});
    EXPECT_EQ(taken(dispatcher, Side::processor, 445), 2U);
    EXPECT_EQ(taken(dispatcher, Side::processor, 445), 1U);
}

TEST(Dispatcher, LateQueriesComeLast) {
    Dispatcher dispatcher({});
    dispatcher.add({1, 500, {1, 10}});
    dispatcher.add({2, 900, {1, 10}});
    EXPECT_EQ(taken(dispatcher, Side::processor, 600), 2U);
    EXPECT_EQ(taken(dispatcher, Side::processor, 600), 1U);
    EXPECT_EQ(dispatcher.waiting(), 0U);
}

TEST(Dispatcher, EveryQueryIsTakenOnce) {
    std::mt19937_64 random(7);
    const auto cost = [&] { return 0.1 + static_cast<double>(random() % 10000) / 100; };
    Dispatcher dispatcher({.workers = {2, 1}});
    constexpr std::uint64_t kJobs = 2000;
    std::vector<int> seen(kJobs + 1);
    double now = 0;
    std::uint64_t added = 0;
    for (std::uint64_t step = 0; step < 20 * kJobs; ++step, now += 5) {
        if (added < kJobs && random() % 2 == 0) {
            ++added;
            dispatcher.add({added, now + 500, {cost(), cost()}});
        }
        const auto job = dispatcher.take(random() % 2 == 0 ? Side::processor : Side::device, now);
        if (job) {
            ++seen[job->id];
        }
    }
    EXPECT_EQ(dispatcher.waiting(), 0U);
    for (std::uint64_t id = 1; id <= kJobs; ++id) {
        EXPECT_EQ(seen[id], 1) << id;
    }
}
