// The dispatcher's simulation, compared with what queueing theory says.
#include "studies/dispatch/simulation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using gpu_engine::bench::best_threshold;
using gpu_engine::bench::capacity;
using gpu_engine::bench::MeasuredQuery;
using gpu_engine::bench::Outcome;
using gpu_engine::bench::Policy;
using gpu_engine::bench::Scenario;
using gpu_engine::bench::simulate;

namespace {

// The device takes long to begin and is fast then.
std::vector<MeasuredQuery> mixed_queries() {
    std::mt19937_64 random(3);
    std::vector<MeasuredQuery> queries;
    for (int i = 0; i < 500; ++i) {
        const double shortest = std::pow(10.0, 2 + static_cast<double>(random() % 1000) / 300);
        const double second = shortest * (1 + static_cast<double>(random() % 8));
        const double sum = shortest + second;
        queries.push_back({{shortest, second, sum, 2}, {0.05 + 6e-6 * sum, 0.8 + 2e-7 * sum}});
    }
    return queries;
}

}  // namespace

TEST(DispatchSimulation, DelaysOfOneProcessorAreThoseOfTheTheory) {
    // With constant times the mean wait is that of Pollaczek and Khinchine, also at an eighth of the load.
    const std::vector<MeasuredQuery> queries = {{{1, 1, 2, 2}, {1, 100}}};
    for (const double load : {0.125, 0.5, 0.8}) {
        const Outcome outcome = simulate(
            queries, {.policy = Policy::processor_only, .per_second = 1000 * load, .queries = 200000});
        EXPECT_NEAR(outcome.mean_ms, 1 + load / (2 * (1 - load)), 0.03 / (1 - load)) << load;
        EXPECT_EQ(outcome.on_device, 0);
        EXPECT_EQ(outcome.in_time, 1);
        EXPECT_NEAR(outcome.per_second, 1000 * load, 10);
    }
}

TEST(DispatchSimulation, TwoWorkersDoTwiceAsMuch) {
    const std::vector<MeasuredQuery> queries = {{{1, 1, 2, 2}, {10, 100}}};
    Scenario scenario = {.policy = Policy::processor_only, .queries = 50000};
    EXPECT_NEAR(capacity(queries, scenario), 100, 6);
    scenario.workers[0] = 2;
    EXPECT_NEAR(capacity(queries, scenario), 200, 12);
}

TEST(DispatchSimulation, TheSameSeedGivesTheSame) {
    const auto queries = mixed_queries();
    const Scenario scenario = {.per_second = 500, .queries = 5000, .seed = 9};
    EXPECT_EQ(simulate(queries, scenario).mean_ms, simulate(queries, scenario).mean_ms);
    Scenario other = scenario;
    other.seed = 10;
    EXPECT_NE(simulate(queries, scenario).mean_ms, simulate(queries, other).mean_ms);
}

TEST(DispatchSimulation, TheFixedRuleDividesWhereTheSidesAreEven) {
    // 0.05 + 6e-6 s = 0.8 + 2e-7 s
    EXPECT_NEAR(best_threshold(mixed_queries()), 0.75 / 5.8e-6, 0.05 * 0.75 / 5.8e-6);
    const std::vector<MeasuredQuery> slow_device = {{{1, 1, 2, 2}, {1, 2}}, {{1, 1, 3, 2}, {1, 2}}};
    EXPECT_EQ(best_threshold(slow_device), HUGE_VAL);
    const std::vector<MeasuredQuery> fast_device = {{{1, 1, 2, 2}, {2, 1}}, {{1, 1, 3, 2}, {2, 1}}};
    EXPECT_EQ(best_threshold(fast_device), 0);
}

TEST(DispatchSimulation, TheDispatcherAnswersMoreInTime) {
    const auto queries = mixed_queries();
    const auto most = [&](Policy policy) { return capacity(queries, {.policy = policy, .queries = 20000}); };
    const double dispatched = most(Policy::dispatcher);
    EXPECT_GT(dispatched, 1.1 * most(Policy::fixed_rule));
    EXPECT_GT(dispatched, most(Policy::processor_only) + 0.9 * most(Policy::device_only));
}

TEST(DispatchSimulation, BeyondCapacityQueriesInTimeAreNotGivenUpForLateOnes) {
    const auto queries = mixed_queries();
    constexpr std::uint64_t kQueries = 60000;
    const double most = capacity(queries, {.queries = kQueries});
    const Outcome outcome = simulate(queries, {.per_second = 1.5 * most, .queries = kQueries});
    // Two thirds of the queries can be answered in time.
    EXPECT_GT(outcome.in_time, 0.5);
    EXPECT_GT(outcome.per_second, 0.8 * most);
}
