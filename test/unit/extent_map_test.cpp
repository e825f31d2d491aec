// New pages are never put over used ones, and as far in front as they fit.
#include "storage/extent_map.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using pg_gpu::storage::choose_extents;
using pg_gpu::storage::clip_extent;
using pg_gpu::storage::Extent;
using pg_gpu::storage::room_behind;
using pg_gpu::storage::trim_extents;

TEST(ExtentMap, EmptyFileStartsAtFirstBlock) {
    Extent chosen[4];
    ASSERT_EQ(choose_extents(nullptr, 0, 2, 7, 4, chosen), 1);
    EXPECT_EQ(chosen[0].start, 2U);
    EXPECT_EQ(chosen[0].count, 7U);
}

TEST(ExtentMap, TakesTheLowestGapThatFits) {
    Extent used[] = {{0, 2}, {4, 1}, {12, 1}, {17, 1}, {40, 1}};
    Extent chosen[4];
    ASSERT_EQ(choose_extents(used, 5, 2, 4, 4, chosen), 1);
    EXPECT_EQ(chosen[0].start, 5U);
    EXPECT_EQ(chosen[0].count, 4U);
}

TEST(ExtentMap, GathersGapsInTheirOrder) {
    Extent used[] = {{0, 2}, {5, 1}, {9, 1}, {13, 1}};
    Extent chosen[4];
    ASSERT_EQ(choose_extents(used, 4, 2, 8, 4, chosen), 3);
    EXPECT_EQ(chosen[0].count + chosen[1].count + chosen[2].count, 8U);
    EXPECT_LT(chosen[0].start, chosen[1].start);
    EXPECT_LT(chosen[1].start, chosen[2].start);
    EXPECT_LT(chosen[2].start, 13U);
}

TEST(ExtentMap, GrowsTheFileByWhatTheGapsDoNotHold) {
    Extent used[] = {{0, 2}, {5, 1}, {9, 1}};
    Extent chosen[4];
    ASSERT_EQ(choose_extents(used, 3, 2, 20, 4, chosen), 3);
    EXPECT_EQ(chosen[0].start, 2U);
    EXPECT_EQ(chosen[1].start, 6U);
    EXPECT_EQ(chosen[2].start, 10U);
    EXPECT_EQ(chosen[2].count, 14U);
}

TEST(ExtentMap, LeavesSmallGapsToSmallRuns) {
    Extent used[] = {{0, 2}, {5, 1}, {10, 1}};
    Extent chosen[4];
    ASSERT_EQ(choose_extents(used, 3, 2, 60, 4, chosen), 3);
    ASSERT_EQ(choose_extents(used, 3, 2, 64, 4, chosen), 2);
    EXPECT_EQ(chosen[0].start, 6U);
    ASSERT_EQ(choose_extents(used, 3, 2, 1000, 4, chosen), 1);
    EXPECT_EQ(chosen[0].start, 11U);
}

TEST(ExtentMap, RoomBehindEndsAtTheNextExtent) {
    const Extent used[] = {{0, 2}, {5, 3}, {20, 1}};
    EXPECT_EQ(room_behind(used, 3, {5, 3}, 100), 12U);
    EXPECT_EQ(room_behind(used, 3, {5, 3}, 7), 7U);
    EXPECT_EQ(room_behind(used, 3, {20, 1}, 100), 100U);
    EXPECT_EQ(room_behind(used, 3, {3, 2}, 100), 0U);
}

TEST(ExtentMap, NothingIsTakenFromBehindTheEndOfTheFile) {
    EXPECT_EQ(clip_extent({5, 10}, 12).count, 7U);
    EXPECT_EQ(clip_extent({5, UINT32_MAX}, 12).count, 7U);
    EXPECT_EQ(clip_extent({12, 1}, 12).count, 0U);
    EXPECT_EQ(clip_extent({60000000, 5}, 12).count, 0U);
}

TEST(ExtentMap, SaysWhenTheFileCannotGrow) {
    Extent used[] = {{0, 2}, {5, pg_gpu::storage::kMaxBlocks - 15}};
    Extent chosen[4];
    ASSERT_EQ(choose_extents(used, 2, 2, 10, 1, chosen), 1);
    EXPECT_EQ(chosen[0].start, pg_gpu::storage::kMaxBlocks - 10);
    EXPECT_EQ(choose_extents(used, 2, 2, 11, 1, chosen), 0);
    EXPECT_EQ(choose_extents(used, 2, 2, 4000000000U, 4, chosen), 0);
    ASSERT_EQ(choose_extents(used, 2, 2, 3, 4, chosen), 1);
    EXPECT_EQ(chosen[0].start, 2U);
}

TEST(ExtentMap, RandomHistoriesNeverOverlap) {
    std::mt19937 random(20261121);
    std::vector<std::vector<Extent>> runs;
    for (int step = 0; step < 3000; step++) {
        if (!runs.empty() && random() % 3 == 0) {
            runs.erase(runs.begin() + static_cast<long>(random() % runs.size()));
            continue;
        }
        std::vector<Extent> used = {{0, 2}};
        for (const auto &run : runs)
            used.insert(used.end(), run.begin(), run.end());
        const uint32_t needed = 1 + random() % 40;
        Extent chosen[4];
        const int count = choose_extents(used.data(), static_cast<int>(used.size()), 2, needed, 4, chosen);
        ASSERT_GE(count, 1);
        ASSERT_LE(count, 4);
        uint32_t total = 0;
        std::vector<Extent> run;
        for (int i = 0; i < count; i++) {
            total += chosen[i].count;
            for (const Extent &other : used)
                ASSERT_TRUE(chosen[i].start >= other.start + other.count ||
                            other.start >= chosen[i].start + chosen[i].count);
            used.push_back(chosen[i]);
            run.push_back(chosen[i]);
        }
        ASSERT_EQ(total, needed);
        runs.push_back(run);
    }
}

TEST(ExtentMap, TrimKeepsTheFront) {
    Extent extents[4] = {{5, 3}, {20, 4}, {40, 2}, {0, 0}};
    ASSERT_EQ(trim_extents(extents, 3, 5), 2);
    EXPECT_EQ(extents[0].count, 3U);
    EXPECT_EQ(extents[1].count, 2U);
    EXPECT_EQ(extents[2].count, 0U);
}
