// Which engine gets what is loaded, and which devices a list names.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gpu_engine/device_list.h"
#include "server/residency/placement.h"

namespace {

using gpu_engine::DeviceIdentity;
using gpu_engine::NamedDevice;
using gpu_engine::read_device_list;
using namespace gpu_engine::server;

constexpr std::uint64_t together = 100;

EngineId placed(const std::vector<PlacementCandidate> &candidates, std::uint64_t bytes,
                const std::vector<EngineId> &may_make_room = {}) {
    std::vector<PlacementCandidate> ordered =
        order_candidates(candidates, bytes, is_colocated(candidates, bytes, together));
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

std::string reported(const std::vector<RunShare> &shares) {
    std::string text;
    for (const RunShare &share : shares) {
        text += std::to_string(share.held_by) + ": " + std::to_string(share.first) + " + " +
                std::to_string(share.entries) + "; ";
    }
    return text;
}

TEST(Placement, RunsAreDividedEvenly) {
    const std::vector<PlacementCandidate> engines = {{4, 9000, 0, 0}, {5, 9000, 0, 0}, {6, 9000, 0, 0}};
    EXPECT_EQ(reported(divide_run(engines, of_entries(1920), RoomBy::free_memory)),
              "4: 0 + 640; 5: 640 + 640; 6: 1280 + 640; ");
    // Shares begin with whole words of bitmaps.
    EXPECT_EQ(reported(divide_run(engines, of_entries(1000), RoomBy::free_memory)),
              "4: 0 + 384; 5: 384 + 320; 6: 704 + 296; ");
    // Too little for three, or for two.
    EXPECT_EQ(reported(divide_run(engines, of_entries(70), RoomBy::free_memory)), "4: 0 + 64; 5: 64 + 6; ");
    EXPECT_EQ(reported(divide_run(engines, of_entries(64), RoomBy::free_memory)), "");
}

TEST(Placement, WhoLacksRoomGetsASmallerShare) {
    const std::vector<PlacementCandidate> engines = {
        {4, 9000, 0, 0, 9000}, {5, 9000, 8000, 0, 6000}, {6, 9000, 8999, 0, 1}};
    EXPECT_EQ(reported(divide_run(engines, of_entries(960), RoomBy::free_memory)),
              "5: 0 + 64; 4: 64 + 896; ");
    EXPECT_EQ(reported(divide_run(engines, of_entries(960), RoomBy::any_leaving)),
              "5: 0 + 512; 4: 512 + 448; ");
    EXPECT_EQ(reported(divide_run(engines, of_entries(1200), RoomBy::free_memory)), "")
        << "they haven't the room together";
    EXPECT_EQ(reported(divide_run(engines, of_entries(960, 2000), RoomBy::free_memory)), "")
        << "what all need counts for each";
    EXPECT_EQ(reported(divide_run(engines, of_entries(960, 2000), RoomBy::any_leaving)),
              "5: 0 + 384; 4: 384 + 576; ");
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
        for (const RunShare &share : divide_run(engines, run, RoomBy::free_memory)) {
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

// ---- what the engines have no room for
// ---------------------------------------------------------------------

// The overflow's engine is number 0. Tells the engine, or the shares.
std::string reported_place(const std::vector<PlacementCandidate> &candidates, const PlacementCandidate &host,
                           std::uint64_t entries, bool gains = false, bool is_divisible = true) {
    const DivisibleRun run = is_divisible ? of_entries(entries) : DivisibleRun{};
    const OverflowPlace overflow = {host, entries * 10, run};
    // An index of less would be kept together, and a run of less than eight times as much gains nothing.
    const std::uint64_t colocated_bytes = gains ? 0 : entries * 10 - 1;
    const Placement placement =
        place_load(candidates, overflow, {entries * 10, run}, PlacementRules{colocated_bytes, false});
    return placement.shares.empty() ? std::to_string(placement.whole) : reported(placement.shares);
}

TEST(Placement, TheOverflowTakesWhatNobodyElseHasRoomFor) {
    const PlacementCandidate host = {0, 10000, 0, 0, 10000, 10000};
    // Room comes first, then what nobody used lately, then the engines together.
    EXPECT_EQ(reported_place({{1, 2000, 0, 0}, {2, 2000, 1900, 0}}, host, 192), "1");
    EXPECT_EQ(reported_place({{1, 2000, 1900, 0, 2000, 0}, {2, 2000, 1900, 0, 2000, 2000}}, host, 192), "2");
    EXPECT_EQ(reported_place({{1, 2000, 1000, 0, 2000, 0}, {2, 2000, 1000, 0, 2000, 0}}, host, 128),
              "1: 0 + 64; 2: 64 + 64; ");
    // Mirrors in use stay.
    EXPECT_EQ(reported_place({{1, 2000, 1900, 0, 2000, 0}, {2, 2000, 1900, 0, 2000, 0}}, host, 192), "0");
    EXPECT_EQ(reported_place({{1, 2000, 1000, 0, 2000, 0}}, host, 192, false, false), "0");
    // Unless the overflow has no room either.
    EXPECT_EQ(reported_place({{1, 2000, 1900, 0, 2000, 0}, {2, 2000, 1900, 0, 1000, 0}},
                             {0, 10000, 10000, 0, 10000, 0}, 192),
              "1");
    // Nothing suffices: somebody has to refuse.
    EXPECT_EQ(reported_place({{1, 2000, 1900, 0, 100, 0}}, {0, 10000, 9000, 0, 1500, 1000}, 192), "1");
    // There, too, what is in use leaves at last.
    EXPECT_EQ(reported_place({{1, 2000, 1900, 0, 100, 0}}, {0, 10000, 9000, 0, 2000, 1000}, 192), "0");
}

TEST(Placement, WhatIsLookedAtAsAWholeIsSharedWithTheOverflow) {
    const PlacementCandidate host = {0, 40000, 0, 0, 40000, 40000};
    const std::vector<PlacementCandidate> devices = {{1, 8000, 0, 0, 8000, 8000},
                                                     {2, 8000, 0, 0, 8000, 8000}};
    // An eighth of the engines' memory is left for requests.
    EXPECT_EQ(reported_place(devices, host, 3200, true), "1: 0 + 640; 2: 640 + 640; 0: 1280 + 1920; ");
    // A run in which keys are looked up isn't faster on more engines.
    EXPECT_EQ(reported_place(devices, host, 3200, false), "0");
    // But one that is too large for any of them must be shared.
    EXPECT_EQ(reported_place(devices, {0, 20000, 0, 0, 20000, 20000}, 3200, false),
              "1: 0 + 640; 2: 640 + 640; 0: 1280 + 1920; ");
    EXPECT_EQ(reported_place(devices, {0, 10000, 0, 0, 10000, 10000}, 3200, true), "1") << "not all together";
    // A part of a run that is hardly any isn't worth asking for.
    EXPECT_EQ(reported_place({{1, 8000, 0, 0, 8000, 8000}}, host, 3900, true), "1: 0 + 640; 0: 640 + 3260; ");
    EXPECT_EQ(reported_place({{1, 2000, 0, 0, 2000, 2000}}, host, 3900, true), "0");
}

// Whatever they have, nobody gets more than he has room for, and nothing is left out.
TEST(Placement, SharesWithTheOverflowCoverTheRun) {
    std::mt19937_64 random(20261127);
    std::size_t shared = 0;
    for (int round = 0; round < 2000; ++round) {
        std::vector<PlacementCandidate> engines;
        for (EngineId id = 0; id < 1 + random() % 4; ++id) {
            const std::uint64_t used = random() % 100001;
            engines.push_back({id, 100000, used, 0, 100000 - used + random() % (used + 1), 0});
        }
        const PlacementCandidate host = {9, 100000, random() % 100001, 0, 0, 0};
        const DivisibleRun run = of_entries(1 + random() % 40000, random() % 3000);
        const OverflowPlace overflow = {host, run.bytes_of(run.entries), run};
        std::uint64_t next = 0;
        for (const RunShare &share : divide_with_overflow(engines, run, overflow, RoomBy::any_leaving)) {
            EXPECT_EQ(share.first, next);
            EXPECT_EQ(share.first % share_granule, 0U);
            const std::uint64_t room = share.held_by == 9 ? 100000 - host.used : engines[share.held_by].room;
            EXPECT_LE(run.bytes_of(share.entries), room);
            next += share.entries;
        }
        shared += next > 0 ? 1 : 0;
        EXPECT_TRUE(next == 0 || next == run.entries);
    }
    EXPECT_GT(shared, 200U);
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
