// Which engine gets what is loaded, and which devices a list names.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gpu_engine/device_list.h"
#include "server/placement.h"

namespace {

using gpu_engine::DeviceIdentity;
using gpu_engine::NamedDevice;
using gpu_engine::read_device_list;
using namespace gpu_engine::server;

constexpr std::uint64_t together = 100;

EngineId placed(const std::vector<PlacementCandidate> &candidates, std::uint64_t bytes,
                const std::vector<EngineId> &may_make_room = {}) {
    std::vector<PlacementCandidate> ordered =
        order_candidates(candidates, bytes, is_kept_together(candidates, bytes, together));
    for (PlacementCandidate &candidate : ordered) {
        const bool may =
            std::find(may_make_room.begin(), may_make_room.end(), candidate.id) != may_make_room.end();
        candidate.room = may ? candidate.limit : 0;
    }
    return choose_place(ordered, bytes).id;
}

TEST(Placement, SmallIndexesStayTogether) {
    EXPECT_EQ(placed({{1, 1000, 0, 0}, {2, 1000, 500, 40}, {3, 1000, 0, 0}}, 60), 2U);
    // Beyond that the engine comes first that has least.
    EXPECT_EQ(placed({{1, 1000, 0, 10}, {2, 1000, 500, 40}, {3, 1000, 0, 5}}, 60), 3U);
}

TEST(Placement, LargeIndexesAreSpread) {
    std::vector<PlacementCandidate> engines = {{0, 10000, 0, 0}, {1, 10000, 0, 0}, {2, 10000, 0, 0}};
    for (int round = 0; round < 30; ++round) {
        const EngineId id = placed(engines, 200);
        engines[id].used += 200;
        engines[id].of_index += 200;
    }
    for (const PlacementCandidate &engine : engines) {
        EXPECT_EQ(engine.used, 2000U);
    }
}

TEST(Placement, OnlyALargeRunGainsByShares) {
    EXPECT_FALSE(gains_by_shares(799, together));
    EXPECT_TRUE(gains_by_shares(800, together));
    EXPECT_TRUE(gains_by_shares(1, 0));
    EXPECT_FALSE(gains_by_shares(UINT64_MAX, UINT64_MAX));
}

TEST(Placement, FreeMemoryDecidesBetweenEquals) {
    EXPECT_EQ(placed({{1, 1000, 700, 0}, {2, 1000, 300, 0}, {3, 1000, 500, 0}}, 10), 2U);
    EXPECT_EQ(placed({{5, 1000, 300, 0}, {4, 1000, 300, 0}}, 10), 4U);
    // A limit may have been set below what is in use.
    EXPECT_EQ(placed({{1, 100, 700, 0}, {2, 1000, 995, 0}}, 5), 2U);
}

TEST(Placement, RoomIsMadeOnlyWhereThereIsNone) {
    EXPECT_EQ(placed({{1, 1000, 950, 0}, {2, 1000, 900, 90}}, 100, {1}), 2U);
    EXPECT_EQ(placed({{1, 1000, 950, 0}, {2, 1000, 960, 90}, {3, 1000, 990, 0}}, 100, {2, 3}), 3U);
    // Nowhere: somebody has to refuse.
    EXPECT_EQ(placed({{1, 1000, 950, 0}, {2, 1000, 960, 0}}, 100), 1U);
}

// ---- shares of a run --------------------------------------------------------------------------------------

// Ten bytes an entry, and as many for each share as a dictionary that all of them need would take.
DivisibleRun of_entries(std::uint64_t entries, std::uint64_t dictionary = 0) {
    return {entries, [dictionary](std::uint64_t share) { return share * 10 + dictionary; }};
}

std::string told(const std::vector<RunShare> &shares) {
    std::string text;
    for (const RunShare &share : shares) {
        text += std::to_string(share.held_by) + ": " + std::to_string(share.first) + " + " +
                std::to_string(share.entries) + "; ";
    }
    return text;
}

TEST(Placement, RunsAreDividedEvenly) {
    const std::vector<PlacementCandidate> engines = {{4, 9000, 0, 0}, {5, 9000, 0, 0}, {6, 9000, 0, 0}};
    EXPECT_EQ(told(divide_run(engines, of_entries(1920), false)),
              "4: 0 + 640; 5: 640 + 640; 6: 1280 + 640; ");
    // Shares begin with whole words of bitmaps.
    EXPECT_EQ(told(divide_run(engines, of_entries(1000), false)), "4: 0 + 384; 5: 384 + 320; 6: 704 + 296; ");
    // Too little for three, or for two.
    EXPECT_EQ(told(divide_run(engines, of_entries(70), false)), "4: 0 + 64; 5: 64 + 6; ");
    EXPECT_EQ(told(divide_run(engines, of_entries(64), false)), "");
}

TEST(Placement, WhoLacksRoomGetsASmallerShare) {
    const std::vector<PlacementCandidate> engines = {
        {4, 9000, 0, 0, 9000}, {5, 9000, 8000, 0, 6000}, {6, 9000, 8999, 0, 1}};
    EXPECT_EQ(told(divide_run(engines, of_entries(960), false)), "5: 0 + 64; 4: 64 + 896; ");
    EXPECT_EQ(told(divide_run(engines, of_entries(960), true)), "5: 0 + 512; 4: 512 + 448; ");
    EXPECT_EQ(told(divide_run(engines, of_entries(1200), false)), "") << "they haven't the room together";
    EXPECT_EQ(told(divide_run(engines, of_entries(960, 2000), false)), "") << "what all need counts for each";
    EXPECT_EQ(told(divide_run(engines, of_entries(960, 2000), true)), "5: 0 + 384; 4: 384 + 576; ");
}

// Whatever the engines have, shares cover the run without a gap, each within its engine's room.
TEST(Placement, SharesCoverTheRun) {
    std::mt19937_64 random(20261124);
    std::size_t divided = 0;
    for (int round = 0; round < 2000; ++round) {
        std::vector<PlacementCandidate> engines;
        for (EngineId id = 0; id < 1 + random() % 6; ++id) {
            engines.push_back({id, 100000, random() % 100001, 0, 0});
        }
        const DivisibleRun run = of_entries(1 + random() % 20000, random() % 3000);
        std::uint64_t next = 0;
        for (const RunShare &share : divide_run(engines, run, false)) {
            EXPECT_EQ(share.first, next);
            EXPECT_EQ(share.first % share_granule, 0U);
            EXPECT_GT(share.entries, 0U);
            EXPECT_LE(run.bytes_of(share.entries), 100000 - engines[share.held_by].used);
            next += share.entries;
        }
        divided += next > 0 ? 1 : 0;
        EXPECT_TRUE(next == 0 || next == run.entries);
    }
    EXPECT_GT(divided, 200U);
}

// The list, as numbers and UUIDs; or where it is wrong.
std::string read(const char *text) {
    NamedDevice devices[4];
    const char *wrong = nullptr;
    const int count = read_device_list(text, devices, 4, &wrong);
    if (count < 0) {
        return std::string("wrong: ") + wrong;
    }
    std::string list;
    for (int i = 0; i < count; ++i) {
        list += "[" +
                (devices[i].device >= 0 ? std::to_string(devices[i].device)
                                        : std::string(devices[i].uuid_digits)) +
                "]";
    }
    return list;
}

TEST(DeviceList, NamesNumbersAndUuids) {
    constexpr char uuid[] = "GPU-0A1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
    constexpr char digits[] = "[0a1b2c3d4e5f60718293a4b5c6d7e8f9]";
    EXPECT_EQ(read(""), "");
    EXPECT_EQ(read("  \t"), "");
    EXPECT_EQ(read("0"), "[0]");
    EXPECT_EQ(read(" 3 ,0, 1023"), "[3][0][1023]");
    EXPECT_EQ(read(uuid), digits);
    EXPECT_EQ(read((std::string("1, ") + uuid).c_str()), std::string("[1]") + digits);
    EXPECT_EQ(read("MIG-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"), digits);
    EXPECT_EQ(read("0a1b2c3d4e5f60718293a4b5c6d7e8f9"), digits);
    const DeviceIdentity device{2, "GPU-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", ""};
    NamedDevice named[4];
    const char *wrong = nullptr;
    ASSERT_EQ(read_device_list((std::string("2,1,") + uuid).c_str(), named, 4, &wrong), 3);
    EXPECT_TRUE(gpu_engine::device_list::names(named[0], device));
    EXPECT_FALSE(gpu_engine::device_list::names(named[1], device));
    EXPECT_TRUE(gpu_engine::device_list::names(named[2], device));
    EXPECT_FALSE(gpu_engine::device_list::names(named[2], {2, "", ""}));
}

TEST(DeviceList, TellsWhatIsWrong) {
    EXPECT_EQ(read(","), "wrong: ,");
    EXPECT_EQ(read("0,"), "wrong: ");
    EXPECT_EQ(read("0,,1"), "wrong: ,1");
    EXPECT_EQ(read("0, first"), "wrong: first");
    EXPECT_EQ(read("-1"), "wrong: -1");
    EXPECT_EQ(read("1024"), "wrong: 1024");
    EXPECT_EQ(read("99999999999999999999"), "wrong: 99999999999999999999");
    EXPECT_EQ(read("1,2,1"), "wrong: 1");
    EXPECT_EQ(read("0,1,2,3,4"), "wrong: 4") << "more than there is room for";
    EXPECT_EQ(read("GPU-0a1b2c3d"), "wrong: GPU-0a1b2c3d");
    EXPECT_EQ(read("GPU-0a1b2c3d4e5f60718293a4b5c6d7e8f9a"), "wrong: GPU-0a1b2c3d4e5f60718293a4b5c6d7e8f9a");
    EXPECT_EQ(read("GPU-0a1b2c3d--4e5f-6071-8293-a4b5c6d7e8f9"),
              "wrong: GPU-0a1b2c3d--4e5f-6071-8293-a4b5c6d7e8f9");
}

}  // namespace
