// Choosing a path by what requests took. The times are made up, and no clock is read.
#include "cost/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

using pg_gpu::client::FadedRatio;
using pg_gpu::client::kRecordedPaths;
using pg_gpu::client::LoadRecord;
using pg_gpu::client::PathEstimates;
using pg_gpu::client::PathRecord;
using pg_gpu::client::ShapesRecord;

namespace {

using Taken = std::function<double(int path, int request)>;

const ShapesRecord no_others;

// Sends requests one after the other and returns what all of them took.
struct Load {
    PathRecord record;
    ShapesRecord others;
    std::array<int, kRecordedPaths> requests{};

    double run(const PathEstimates &estimates, int count, const Taken &taken) {
        double total = 0;
        for (int i = 0; i < count; ++i) {
            const int path = record.choose(estimates, others);
            EXPECT_GE(estimates[static_cast<std::size_t>(path)], 0);
            const double one = taken(path, i);
            record.note(path, estimates, others, one);
            requests[static_cast<std::size_t>(path)]++;
            total += one;
        }
        return total;
    }
};

// The least that all requests on one path would have taken.
double best_fixed(const PathEstimates &estimates, int count, const Taken &taken) {
    double best = 0;
    for (int path = 0; path < kRecordedPaths; ++path) {
        if (estimates[static_cast<std::size_t>(path)] < 0) {
            continue;
        }
        double total = 0;
        for (int i = 0; i < count; ++i) {
            total += taken(path, i);
        }
        best = path == 0 ? total : std::min(best, total);
    }
    return best;
}

Taken always(double paged, double host, double cuda) {
    return [=](int path, int) {
        return std::array<double, kRecordedPaths>{paged, host, cuda}[static_cast<std::size_t>(path)];
    };
}

void expect_nearly_best(const PathEstimates &estimates, int count, const Taken &taken, double share) {
    Load load;
    EXPECT_LE(load.run(estimates, count, taken), share * best_fixed(estimates, count, taken));
}

}  // namespace

TEST(PathRecord, BeginsWithTheEstimates) {
    const PathRecord record;
    EXPECT_EQ(record.choose({300, 200, 100}, no_others), 2);
    EXPECT_EQ(record.choose({100, 200, 300}, no_others), 0);
    EXPECT_EQ(record.choose({300, 200, -1}, no_others), 1);
    EXPECT_EQ(record.choose({300, -1, -1}, no_others), 0);
    EXPECT_DOUBLE_EQ(record.expected(1, {300, 200, 100}, no_others), 200);
}

TEST(PathRecord, RatioFollowsWhatWasTaken) {
    FadedRatio ratio;
    EXPECT_FALSE(ratio.is_known());
    ratio.note(10, 30);
    EXPECT_DOUBLE_EQ(ratio.value(), 3);
    ratio.note(10, 10);
    EXPECT_GT(ratio.value(), 1);
    EXPECT_LT(ratio.value(), 2);
    // A large request tells more than a small one.
    ratio.note(1000, 1000);
    EXPECT_NEAR(ratio.value(), 1, 0.02);
}

TEST(PathRecord, LosesLittleWhereTheEstimatesAreRight) {
    for (const PathEstimates &estimates : {PathEstimates{100, 200, 400},
                                           {400, 200, 100},
                                           {100, 101, 102},
                                           {5, 90, 110},
                                           {90'000, 40'000, 900}}) {
        expect_nearly_best(estimates, 20'000, always(estimates[0], estimates[1], estimates[2]), 1.02);
    }
}

// Beside writers, each entry that the server process finds must be looked up in the table.
TEST(PathRecord, LeavesAPathThatTakesFarMoreThanItsEstimate) {
    const PathEstimates estimates = {9'400, 6'300, 430};
    expect_nearly_best(estimates, 2'000, always(81'000, 294'000, 152'000), 1.05);
    Load load;
    load.run(estimates, 2'000, always(81'000, 294'000, 152'000));
    EXPECT_GT(load.requests[0], 1'900);
    EXPECT_GT(load.requests[2], 0);
}

// Codes of strings are put in order by the first request that needs it, and kernels are loaded.
TEST(PathRecord, TakesAPathAgainWhoseFirstRequestWasSlow) {
    const PathEstimates estimates = {150'000, 20'000, 2'000};
    const auto taken = [](int path, int request) {
        return path == 2 && request == 0
                   ? 24'000.0
                   : std::array{700'000.0, 15'000.0, 1'700.0}[static_cast<std::size_t>(path)];
    };
    Load load;
    load.run(estimates, 10, taken);
    EXPECT_EQ(load.requests[2], 10);
}

TEST(PathRecord, FindsAPathThatTakesFarLessThanItsEstimate) {
    // Much later a path that seems far slower is tried once more, when enough time was spent on the other.
    expect_nearly_best({100, 2'000, -1}, 20'000, always(100, 20, 0), 2.0);
    Load load;
    load.run({100, 2'000, -1}, 20'000, always(100, 20, 0));
    EXPECT_GT(load.requests[1], 15'000);
}

TEST(PathRecord, FollowsChanges) {
    const PathEstimates estimates = {1'000, 400, 100};
    // Nobody writes at first; then writers come, and then they go.
    const auto taken = [](int path, int request) {
        const bool busy = request >= 5'000 && request < 10'000;
        return busy ? std::array{3'000.0, 9'000.0, 12'000.0}[static_cast<std::size_t>(path)]
                    : std::array{1'000.0, 400.0, 100.0}[static_cast<std::size_t>(path)];
    };
    double least = 0;
    for (int i = 0; i < 15'000; ++i) {
        least += std::min({taken(0, i), taken(1, i), taken(2, i)});
    }
    Load load;
    EXPECT_LE(load.run(estimates, 15'000, taken), 1.15 * least);
}

TEST(PathRecord, IsNotMisledByChance) {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> noise(1);
    std::vector<double> factors(30'000);
    for (double &factor : factors) {
        // One in a hundred is held up a hundredfold.
        factor = 0.5 + noise(random) / 2 + (random() % 100 == 0 ? 100 : 0);
    }
    const auto taken = [&](int path, int request) {
        return std::array{500.0, 150.0, 180.0}[static_cast<std::size_t>(path)] *
               factors[static_cast<std::size_t>(request)];
    };
    expect_nearly_best({500, 150, 180}, 30'000, taken, 1.15);
}

TEST(PathRecord, TriesAPathThatMayBeFarWorseSeldom) {
    Load load;
    load.run({100, 100'000, -1}, 100'000, always(100, 100'000, 0));
    EXPECT_LE(load.requests[1], 5);
}

// Path 1 looks best, fails after 4 microseconds, and path 0 answers then, which takes now less, now more.
TEST(PathRecord, LeavesAPathThatGivesNoAnswer) {
    const PathEstimates estimates = {1000, 50, -1};
    std::mt19937 random(7);
    std::uniform_real_distribution<double> taken(80, 120);
    PathRecord record;
    int in_vain = 0;
    constexpr int count = 1000;
    for (int i = 0; i < count; ++i) {
        const int path = record.choose(estimates, no_others);
        record.note(0, estimates, no_others, taken(random));
        if (path == 1) {
            record.note_vain(1, 0, estimates, no_others, 4);
            in_vain++;
            EXPECT_EQ(record.choose(estimates, no_others), 0) << i;
        }
    }
    EXPECT_GE(in_vain, 2);
    EXPECT_LE(in_vain, count / 2);
}

// One that was held up once is tried again soon.
TEST(PathRecord, DoesNotBelieveAVainTrialThatTookLong) {
    const PathEstimates estimates = {1000, 50, -1};
    PathRecord record;
    record.note(0, estimates, no_others, 1000);
    record.note(1, estimates, no_others, 50);
    record.note(0, estimates, no_others, 1000);
    record.note_vain(1, 0, estimates, no_others, 30e6);
    int until = 0;
    while (record.choose(estimates, no_others) == 0 && until < 1000) {
        record.note(0, estimates, no_others, 1000);
        until++;
    }
    EXPECT_GE(until, 1);
    EXPECT_LE(until, 100);
}

// A plan whose time is only estimated isn't tried because others' requests slow the path that is known.
TEST(PathRecord, DoesNotBlameAPathForWhatOthersCompute) {
    const PathEstimates estimates = {400, 50, -1};
    PathRecord record;
    for (int i = 0; i < 4; ++i) {
        record.note(1, estimates, no_others, 50);
    }
    for (int i = 0; i < 100; ++i) {
        record.note(1, estimates, no_others, 800, 760);
        ASSERT_EQ(record.choose(estimates, no_others), 1);
    }
    // They explain no more than their share.
    for (int i = 0; i < 100 && record.choose(estimates, no_others) == 1; ++i) {
        record.note(1, estimates, no_others, 800, 100);
    }
    EXPECT_EQ(record.choose(estimates, no_others), 0);
}

TEST(PathRecord, LeavesOutAPathThatIsNotThere) {
    Load load;
    load.run({1'000, 100, 10}, 100, always(1'000, 100, 10));
    load.requests = {};
    load.run({1'000, 100, -1}, 1'000, always(1'000, 100, 0));
    EXPECT_EQ(load.requests[2], 0);
    EXPECT_GT(load.requests[1], 950);
}

TEST(PathRecord, AsksOthersAboutPathsThatItHasNotTaken) {
    constexpr PathEstimates estimates = {300, 200, 100};
    ShapesRecord others;
    others.note({1, 1, 16});
    PathRecord record;
    // Halfway between the estimate and what others take, by their logarithms: four times the estimate.
    EXPECT_DOUBLE_EQ(record.expected(2, estimates, others), 400);
    EXPECT_EQ(record.choose(estimates, others), 1);
    // A ratio of its own counts more, and those of others on a path are compared with theirs on that one.
    record.note(1, estimates, others, 1'000);
    EXPECT_DOUBLE_EQ(record.expected(1, estimates, others), 1'000);
    EXPECT_DOUBLE_EQ(record.expected(0, estimates, others), 300 * std::sqrt(5));
    EXPECT_DOUBLE_EQ(record.expected(2, estimates, others), 100 * std::sqrt(5 * 16));
}

TEST(PathRecord, WhoTakesLessOnOnePathIsExpectedToTakeLessOnAnother) {
    constexpr PathEstimates estimates = {400, 100, -1};
    PathRecord record;
    record.note(1, estimates, no_others, 25);
    EXPECT_DOUBLE_EQ(record.expected(0, estimates, no_others), 100);
    PathRecord slow;
    slow.note(1, estimates, no_others, 400);
    EXPECT_DOUBLE_EQ(slow.expected(0, estimates, no_others), 400);
}

// One statement takes far more on a path than its estimate, for what is its own; the others don't leave that
// path.
TEST(PathRecord, OneShapeMisleadsNoOther) {
    constexpr PathEstimates estimates = {50'000, 30'000, -1};
    constexpr std::size_t shapes = 6;
    std::array<PathRecord, shapes> records;
    ShapesRecord all;
    double total = 0;
    double least = 0;
    std::array<int, shapes> on_pages{};
    for (int i = 0; i < 1'200; ++i) {
        const std::size_t shape = static_cast<std::size_t>(i) % shapes;
        const Taken taken = shape == 0 ? always(86'000, 220'000, 0) : always(20'000, 9'000, 0);
        const int path = records[shape].choose(estimates, all);
        const double one = taken(path, i);
        records[shape].note(path, estimates, all, one);
        all.note(records[shape].known_ratios());
        on_pages[shape] += path == 0 ? 1 : 0;
        total += one;
        least += shape == 0 ? 86'000 : 9'000;
    }
    EXPECT_LE(total, 1.05 * least);
    EXPECT_GT(on_pages[0], 190);
    for (std::size_t shape = 1; shape < shapes; ++shape) {
        EXPECT_LT(on_pages[shape], 15);
    }
}

TEST(LoadRecord, LoadsOfOneSizeTellOfOneAnother) {
    LoadRecord loads;
    EXPECT_DOUBLE_EQ(loads.expected(400'000), 400'000);
    loads.note(400'000, 100'000);
    loads.note(300'000, 75'000);
    EXPECT_DOUBLE_EQ(loads.expected(350'000), 87'500);
}

TEST(LoadRecord, WhatSmallLoadsWaitForIsNoRatioOfLargeOnes) {
    LoadRecord loads;
    for (int i = 0; i < 20; ++i) {
        loads.note(500, 10'500);
    }
    EXPECT_NEAR(loads.expected(600), 12'600, 1);
    EXPECT_NEAR(loads.expected(400'000), 410'000, 1);
    loads.note(400'000, 800'000);
    EXPECT_DOUBLE_EQ(loads.expected(400'000), 800'000);
    // The nearest of several known sizes decides, and the larger of two that are as near.
    EXPECT_DOUBLE_EQ(loads.expected(100'000), 200'000);
}

TEST(LoadRecord, LoadsFasterThanExpectedTakeNothingOffLargerOnes) {
    LoadRecord loads;
    loads.note(4'000, 1'000);
    EXPECT_DOUBLE_EQ(loads.expected(4'000'000), 4'000'000);
    EXPECT_DOUBLE_EQ(loads.expected(500), 125);
    EXPECT_DOUBLE_EQ(loads.expected(0), 0);
}
