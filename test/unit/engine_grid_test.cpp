// Grid files: each engine against a plain reference, on random and adversarial points.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu_engine/engine.h"
#include "gpu_engine/grid.h"
#include "engine_under_test.h"
#include "grid_reference.h"
#include "heap_facts.h"
#include "rounds.h"

namespace {

using gpu_engine::Engine;
using gpu_engine::EngineOptions;
using gpu_engine::GridFile;
using gpu_engine::GridOptions;
using gpu_engine::GridPoints;
using gpu_engine::GridShape;
using gpu_engine::GridSplits;
using gpu_engine::Status;
using gpu_engine::StatusCode;
using gpu_engine::Tid;
using heap_facts::HeapFacts;
using namespace grid_test;
using Random = std::mt19937_64;

// ---- Points -------------------------------------------------------------------------------------

enum Pattern {
    uniform,
    few,  // three distinct keys
    constant,
    lowest,
    highest,
    limits,        // 0, the highest, and their neighbours
    clusters,      // narrow ones far apart
    powers,        // all magnitudes
    mostly_equal,  // nine in ten
    correlated,    // grows with the entry's number
    pattern_count
};

std::uint64_t make_key(int pattern, std::size_t i, std::uint64_t most, Random &random) {
    switch (pattern) {
        case uniform:
            return random() & most;
        case few:
            return (random() % 3) << 20;
        case constant:
            return 77;
        case lowest:
            return 0;
        case highest:
            return most;
        case limits:
            return random() % 2 == 0 ? random() % 2 : most - random() % 2;
        case clusters:
            return ((random() % 11 * 0x1717171717171717ULL) & most) / 2 + random() % 300;
        case powers:
            return (random() & most) >> (random() % 64);
        case mostly_equal:
            return random() % 10 != 0 ? most / 3 : random() & most;
        default:
            return (i * 5 + random() % 7) & most;
    }
}

// Column c takes pattern patterns[c], and 8 bytes a key where bit c of `wide` is set.
Points make_points(std::size_t count, const std::vector<int> &patterns, std::uint32_t wide, bool nulls,
                   Random &random) {
    Points points;
    for (std::size_t c = 0; c < patterns.size(); ++c) {
        points.keys.emplace_back((wide >> c & 1) != 0);
        for (std::size_t i = 0; i < count; ++i) {
            points.keys[c].push(make_key(patterns[c], i, points.keys[c].highest(), random));
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        points.tids.push_back(make_tid((i / 100) << 16 | (i % 100 + 1)));
        if (nulls) {
            points.nulls.push_back(static_cast<std::uint8_t>(random() & random() & random()));
        }
    }
    return points;
}

// ---- Requests ----------------------------------------------------------------------------------

Boxes make_boxes(const Points &points, std::size_t count, Random &random) {
    Boxes boxes(points);
    for (std::size_t box = 0; box < count; ++box) {
        const auto some_key = [&](std::uint32_t c) -> std::uint64_t {
            const std::uint64_t most = points.keys[c].highest();
            switch (random() % 8) {
                case 0:
                    return 0;
                case 1:
                    return most;
                case 2:
                    return random() & most;
                default:
                    return points.count() == 0
                               ? 5
                               : (points.keys[c][random() % points.count()] + random() % 3 - 1) & most;
            }
        };
        const bool point = random() % 8 == 0 && points.count() > 0;
        const std::size_t chosen = points.count() == 0 ? 0 : random() % points.count();
        for (std::uint32_t c = 0; c < points.columns(); ++c) {
            std::uint64_t low = point ? points.keys[c][chosen] : some_key(c);
            std::uint64_t high = point ? low : some_key(c);
            if (low > high && random() % 16 != 0) {
                std::swap(low, high);
            }
            boxes.low[c].push(low);
            boxes.high[c].push(high);
        }
        boxes.open.push_back(static_cast<std::uint8_t>(random() % 2 == 0 ? 0 : random() & random()));
        boxes.null.push_back(
            static_cast<std::uint8_t>(random() % 8 != 0 ? 0 : random() & random() & random()));
    }
    return boxes;
}

// ---- The engines --------------------------------------------------------------------------------

template <typename UnderTest>
class EngineGrid : public EngineTest {
  protected:
    void SetUp() override { open<UnderTest>(); }

    std::unique_ptr<GridFile> build(const Points &points, const GridOptions &options = {}) {
        std::unique_ptr<GridFile> file;
        const Status status = engine_->grid().build(*stream_, points.entries(), options, &file);
        EXPECT_TRUE(status.ok()) << status.message;
        return file;
    }

    void set_dead(GridFile &file, Points &points, unsigned percent, std::uint64_t version) {
        std::vector<std::uint64_t> bitmap((points.count() + 63) / 64, 0);
        points.dead.assign(points.count(), false);
        std::uint64_t dead = 0;
        for (std::size_t i = 0; i < points.count(); ++i) {
            if (random_() % 100 < percent) {
                points.dead[i] = true;
                bitmap[i / 64] |= std::uint64_t(1) << (i % 64);
                ++dead;
            }
        }
        const Status status = file.set_dead(*stream_, bitmap.data(), version);
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_EQ(file.dead_entries(), dead);
        EXPECT_EQ(file.dead_version(), version);
    }

    // The TIDs of each request, ascending.
    static std::vector<std::vector<std::uint64_t>> sets_of(const std::vector<std::uint64_t> &offsets,
                                                           const std::vector<Tid> &tids) {
        std::vector<std::vector<std::uint64_t>> sets(offsets.size() - 1);
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
            for (std::uint64_t j = offsets[i]; j < offsets[i + 1]; ++j) {
                sets[i].push_back(tid_number(tids[j]));
            }
            std::sort(sets[i].begin(), sets[i].end());
        }
        return sets;
    }

    void check_boxes(const GridFile &file, const Points &points, const Boxes &boxes) {
        const std::size_t count = boxes.count();
        std::vector<std::vector<std::uint64_t>> expected(count);
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < count; ++i) {
            expected[i] = boxes.matches(points, i);
            total += expected[i].size();
        }
        std::vector<std::uint32_t> counts(count + 1, 0xabcdU);
        Status status = file.count(*stream_, boxes.boxes(), count, counts.data());
        ASSERT_TRUE(status.ok()) << status.message;
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(counts[i], expected[i].size()) << "box " << i;
        }
        EXPECT_EQ(counts[count], 0xabcdU) << "written beyond the end";

        std::vector<std::uint64_t> offsets(count + 1);
        std::vector<Tid> tids(total + 1, make_tid(12345));
        status = file.search(*stream_, boxes.boxes(), count, offsets.data(), tids.data(), total);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(offsets[count], total);
        EXPECT_EQ(tids[total], make_tid(12345)) << "written beyond the end";
        ASSERT_EQ(sets_of(offsets, tids), expected);

        // Blocks of every state, with unknown ones at the end.
        const std::uint64_t blocks = points.count() / 100 - points.count() / 1000;
        check_count_on(file, expected, boxes, HeapFacts::random(blocks, random_));
        check_count_on(file, expected, boxes,
                       HeapFacts(points.count() / 100 + 1, heap_facts::State::all_visible));
    }

    void check_count_on(const GridFile &file, const std::vector<std::vector<std::uint64_t>> &expected,
                        const Boxes &boxes, HeapFacts facts) {
        const auto blocks = keep(facts.known());
        ASSERT_NE(blocks, nullptr);
        const std::size_t count = boxes.count();
        std::vector<std::uint64_t> on(count, 0);
        std::vector<std::vector<std::uint64_t>> elsewhere(count);
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < count; ++i) {
            for (const std::uint64_t tid : expected[i]) {
                const heap_facts::Visibility matches = facts.of(tid);
                on[i] += matches == heap_facts::Visibility::visible ? 1 : 0;
                if (matches == heap_facts::Visibility::unknown) {
                    elsewhere[i].push_back(tid);
                }
            }
            total += elsewhere[i].size();
        }
        std::vector<std::uint64_t> counts(count);
        std::vector<std::uint64_t> offsets(count + 1);
        std::vector<Tid> tids(total);
        const Status status = file.count_on(*stream_, boxes.boxes(), count, *blocks, counts.data(),
                                            offsets.data(), tids.data(), total);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(counts, on);
        ASSERT_EQ(sets_of(offsets, tids), elsewhere);
        if (total > 0) {
            const Status tight = file.count_on(*stream_, boxes.boxes(), count, *blocks, counts.data(),
                                               offsets.data(), tids.data(), total - 1);
            EXPECT_EQ(tight.code, StatusCode::insufficient_space);
            EXPECT_EQ(counts, on);
            EXPECT_EQ(offsets[count], total);
        }
    }

    void check_points(const GridFile &file, const Points &points, std::size_t count) {
        std::vector<Keys> probes;
        for (const Keys &keys : points.keys) {
            probes.emplace_back(keys.wide());
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t chosen = points.count() == 0 ? 0 : random_() % points.count();
            const bool near = random_() % 4 == 0;
            for (std::uint32_t c = 0; c < points.columns(); ++c) {
                const std::uint64_t key = points.count() == 0 ? 0 : points.keys[c][chosen];
                probes[c].push(near ? (key + random_() % 3 - 1) & probes[c].highest() : key);
            }
        }
        GridPoints requested = {};
        for (std::uint32_t c = 0; c < points.columns(); ++c) {
            requested.keys[c] = probes[c].data();
        }
        std::vector<std::vector<std::uint64_t>> expected(count);
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < points.count(); ++j) {
                bool equal =
                    !points.is_dead(j) && (points.null_mask(j) & ((1U << points.columns()) - 1)) == 0;
                for (std::uint32_t c = 0; equal && c < points.columns(); ++c) {
                    equal = points.keys[c][j] == probes[c][i];
                }
                if (equal) {
                    expected[i].push_back(tid_number(points.tids[j]));
                }
            }
            std::sort(expected[i].begin(), expected[i].end());
            total += expected[i].size();
        }
        std::vector<std::uint64_t> offsets(count + 1);
        std::vector<Tid> tids(total + 1, make_tid(12345));
        Status status = file.match(*stream_, requested, count, offsets.data(), tids.data(), total);
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_EQ(tids[total], make_tid(12345)) << "written beyond the end";
        ASSERT_EQ(sets_of(offsets, tids), expected);
        if (total > 0) {
            status = file.match(*stream_, requested, count, offsets.data(), tids.data(), total - 1);
            EXPECT_EQ(status.code, StatusCode::insufficient_space);
            EXPECT_EQ(offsets[count], total);
        }
    }

    void check(const Points &given, const GridOptions &options, std::size_t boxes, std::size_t probes) {
        Points points = given;
        const std::unique_ptr<GridFile> file = build(points, options);
        ASSERT_NE(file, nullptr);
        EXPECT_EQ(file->entries(), points.count());
        const GridShape shape = file->shape();
        EXPECT_EQ(shape.columns, points.columns());
        if (!options.hierarchical) {
            EXPECT_EQ(shape.levels, 1U);
        }
        check_boxes(*file, points, make_boxes(points, boxes, random_));
        check_points(*file, points, probes);
        if (points.count() > 0) {
            set_dead(*file, points, 20, 1);
            check_boxes(*file, points, make_boxes(points, boxes / 2 + 1, random_));
            check_points(*file, points, probes / 2 + 1);
        }
    }
};

TYPED_TEST_SUITE(EngineGrid, Engines, EngineName);

// ---- Tests --------------------------------------------------------------------------------------

TYPED_TEST(EngineGrid, AnswersForEveryNumberOfColumns) {
    for (std::uint32_t columns = 1; columns <= 8; ++columns) {
        for (const std::uint32_t wide : {0U, 0xffU, 0x5aU}) {
            for (const bool nulls : {false, true}) {
                SCOPED_TRACE(testing::Message()
                             << columns << " columns, wide " << wide << ", nulls " << nulls);
                const std::vector<int> patterns(columns, uniform);
                this->check(make_points(3000, patterns, wide, nulls, this->random_), {}, 40, 60);
                if (this->HasFatalFailure()) {
                    return;
                }
            }
        }
    }
}

TYPED_TEST(EngineGrid, AnswersForEverySize) {
    for (const std::size_t count :
         {0, 1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1025}) {
        for (std::uint32_t columns = 1; columns <= 3; ++columns) {
            SCOPED_TRACE(testing::Message() << count << " entries, " << columns << " columns");
            const std::vector<int> patterns(columns, count % 2 == 0 ? uniform : mostly_equal);
            this->check(make_points(count, patterns, count % 4, count % 3 == 0, this->random_), {}, 30, 30);
            if (this->HasFatalFailure()) {
                return;
            }
        }
    }
}

TYPED_TEST(EngineGrid, AnswersOnAdversarialPoints) {
    for (int round = 0; round < 120; ++round) {
        std::vector<int> patterns(1 + this->random_() % (round % 10 == 0 ? 8 : 4));
        std::string name;
        for (int &pattern : patterns) {
            pattern = static_cast<int>(this->random_() % pattern_count);
            name += std::to_string(pattern) + " ";
        }
        GridOptions options;
        options.bucket = round % 3 == 0 ? 8 : 1 + this->random_() % 20;
        options.splits = round % 2 == 0 ? GridSplits::equal : GridSplits::distinct;
        options.hierarchical = round % 4 != 3;
        SCOPED_TRACE(testing::Message()
                     << "round " << round << ", patterns " << name << ", bucket " << options.bucket);
        const std::size_t count = this->random_() % (round % 8 == 0 ? 30000 : 4000);
        this->check(
            make_points(count, patterns, this->random_() & 0xff, this->random_() % 3 == 0, this->random_),
            options, 40, 40);
        if (this->HasFatalFailure()) {
            return;
        }
    }
}

// Enough entries for scales that come from a sample.
TYPED_TEST(EngineGrid, AnswersWhereScalesAreSampled) {
    for (const int pattern : {mostly_equal, uniform, correlated}) {
        if (pattern != mostly_equal && !unit_test::is_long_run()) {
            break;
        }
        SCOPED_TRACE(testing::Message() << "pattern " << pattern);
        this->check(make_points(2300000, {pattern, uniform}, 2, false, this->random_), {}, 4, 4);
        if (this->HasFatalFailure()) {
            return;
        }
    }
}

// Scales that are too large to be searched in shared memory alone.
TYPED_TEST(EngineGrid, AnswersWithLargeScales) {
    for (const std::uint32_t wide : {0U, 1U}) {
        for (const int pattern : {uniform, limits, powers}) {
            if (pattern == uniform && !unit_test::is_long_run()) {
                continue;
            }
            SCOPED_TRACE(testing::Message() << "pattern " << pattern << ", wide " << wide);
            this->check(make_points(400000, {pattern}, wide, pattern == powers, this->random_), {}, 8, 8);
            if (this->HasFatalFailure()) {
                return;
            }
        }
    }
}

TYPED_TEST(EngineGrid, AnswersLargeBatches) {
    const Points points = make_points(2000, {uniform, clusters}, 0, false, this->random_);
    const std::unique_ptr<GridFile> file = this->build(points);
    this->check_boxes(*file, points, make_boxes(points, 5000, this->random_));
    this->check_points(*file, points, 5000);
    // More points than a device has threads.
    const Points few_points = make_points(300, {uniform, clusters}, 0, false, this->random_);
    this->check_points(*this->build(few_points), few_points, 300000);
}

TYPED_TEST(EngineGrid, IdenticalPointsEndTheRecursion) {
    Points points = make_points(1000000, {constant, few}, 0, false, this->random_);
    const std::unique_ptr<GridFile> file = this->build(points);
    ASSERT_NE(file, nullptr);
    EXPECT_LE(file->shape().levels, 4U);
    this->check_boxes(*file, points, make_boxes(points, 10, this->random_));
    this->check_points(*file, points, 3);
    this->set_dead(*file, points, 50, 4);
    this->check_boxes(*file, points, make_boxes(points, 10, this->random_));
    this->check_points(*file, points, 3);
}

TYPED_TEST(EngineGrid, SplitsFollowDistinctKeys) {
    const Points points = make_points(100000, {constant, few, uniform}, 0, false, this->random_);
    GridOptions options;
    options.splits = GridSplits::distinct;
    const GridShape distinct = this->build(points, options)->shape();
    EXPECT_EQ(distinct.slots[0], 1U);
    EXPECT_EQ(distinct.slots[1], 3U);
    EXPECT_GT(distinct.slots[2], 3000U);
    EXPECT_EQ(distinct.levels, 1U);
    const GridShape equal = this->build(points)->shape();
    EXPECT_LT(equal.slots[2], 30U);
    EXPECT_GT(equal.levels, 1U);
}

// Keys of 128 bits as two columns, beside one of 32.
TYPED_TEST(EngineGrid, TakesKeysOf128BitsAsTwoColumns) {
    using Key = unsigned __int128;
    constexpr std::uint32_t lower = 1;
    for (const int upper_pattern : {uniform, few, constant}) {
        for (const GridSplits splits : {GridSplits::equal, GridSplits::distinct}) {
            SCOPED_TRACE(testing::Message() << "pattern " << upper_pattern);
            const Points points =
                make_points(20000, {upper_pattern, uniform, uniform}, 3, false, this->random_);
            GridOptions options;
            options.splits = splits;
            options.unsplit = 1U << lower;
            this->check(points, options, 30, 30);
            const std::unique_ptr<GridFile> file = this->build(points, options);
            EXPECT_EQ(file->shape().slots[lower], 1U);

            const auto key = [&](std::size_t i) {
                return Key{points.keys[0][i]} << 64 | points.keys[lower][i];
            };
            for (int round = 0; round < 20; ++round) {
                const Key a = key(this->random_() % points.count());
                const Key b = key(this->random_() % points.count());
                const Key low = std::min(a, b);
                const Key high = std::max(a, b);
                const auto upper = [](Key of) { return static_cast<std::uint64_t>(of >> 64); };
                const auto half = [](Key of) { return static_cast<std::uint64_t>(of); };
                // The range, cut where its upper half ends to be that of a bound.
                struct Box {
                    std::uint64_t low[2];
                    std::uint64_t high[2];
                };
                std::vector<Box> cut;
                if (upper(low) == upper(high)) {
                    cut = {{{upper(low), half(low)}, {upper(low), half(high)}}};
                } else {
                    cut = {{{upper(low), half(low)}, {upper(low), UINT64_MAX}},
                           {{upper(low) + 1, 0}, {upper(high) - 1, UINT64_MAX}},
                           {{upper(high), 0}, {upper(high), half(high)}}};
                }
                Boxes boxes(points);
                for (const Box &box : cut) {
                    for (int c = 0; c < 2; ++c) {
                        boxes.low[c].push(box.low[c]);
                        boxes.high[c].push(box.high[c]);
                    }
                    boxes.low[2].push(0);
                    boxes.high[2].push(UINT32_MAX / 2);
                    boxes.open.push_back(0);
                    boxes.null.push_back(0);
                }
                std::vector<std::uint32_t> counts(boxes.count());
                ASSERT_TRUE(file->count(*this->stream_, boxes.boxes(), boxes.count(), counts.data()).ok());
                std::uint64_t expected = 0;
                for (std::size_t i = 0; i < points.count(); ++i) {
                    expected +=
                        key(i) >= low && key(i) <= high && points.keys[2][i] <= UINT32_MAX / 2 ? 1 : 0;
                }
                EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), expected);
            }
        }
    }
}

TYPED_TEST(EngineGrid, HasAsManyCellsAsTheBucketSays) {
    for (std::uint32_t columns = 1; columns <= 8; ++columns) {
        const std::vector<int> patterns(columns, uniform);
        const Points points = make_points(100000, patterns, 0, false, this->random_);
        GridOptions options;
        options.hierarchical = false;
        const GridShape shape = this->build(points, options)->shape();
        EXPECT_LE(shape.cells, 12500U);
        EXPECT_GT(shape.cells, 12500U / 2);
        EXPECT_EQ(shape.grids, 1U);
    }
}

TYPED_TEST(EngineGrid, OpenColumnsNeedNoBounds) {
    const Points points = make_points(5000, {uniform, uniform, few}, 0, true, this->random_);
    const std::unique_ptr<GridFile> file = this->build(points);
    Boxes boxes = make_boxes(points, 50, this->random_);
    for (std::uint8_t &open : boxes.open) {
        open |= 5;
    }
    std::vector<std::uint32_t> expected(boxes.count());
    ASSERT_TRUE(file->count(*this->stream_, boxes.boxes(), boxes.count(), expected.data()).ok());
    gpu_engine::GridBoxes requested = boxes.boxes();
    requested.low[0] = requested.high[0] = requested.low[2] = requested.high[2] = nullptr;
    std::vector<std::uint32_t> counts(boxes.count());
    ASSERT_TRUE(file->count(*this->stream_, requested, boxes.count(), counts.data()).ok());
    EXPECT_EQ(counts, expected);
}

TYPED_TEST(EngineGrid, DeadVersionsNeverFall) {
    Points points = make_points(1000, {uniform, uniform}, 0, false, this->random_);
    const std::unique_ptr<GridFile> file = this->build(points);
    this->set_dead(*file, points, 30, 7);
    const std::vector<std::uint64_t> bitmap(16, 0);
    EXPECT_EQ(file->set_dead(*this->stream_, bitmap.data(), 6).code, StatusCode::invalid_argument);
    EXPECT_GT(file->dead_entries(), 0U);
    EXPECT_TRUE(file->set_dead(*this->stream_, nullptr, 8).ok());
    EXPECT_EQ(file->dead_entries(), 0U);
    points.dead.clear();
    this->check_boxes(*file, points, make_boxes(points, 20, this->random_));
}

TYPED_TEST(EngineGrid, RefusesWhatItCannotHold) {
    const Points points = make_points(10, {uniform, uniform}, 0, false, this->random_);
    std::unique_ptr<GridFile> file;
    gpu_engine::GridEntries entries = points.entries();
    const auto refused = [&](const GridOptions &options) {
        return this->engine_->grid().build(*this->stream_, entries, options, &file).code ==
               StatusCode::invalid_argument;
    };
    entries.columns = 0;
    EXPECT_TRUE(refused({}));
    entries.columns = 9;
    EXPECT_TRUE(refused({}));
    entries = points.entries();
    entries.key_bytes[1] = 16;
    EXPECT_TRUE(refused({}));
    entries = points.entries();
    entries.count = gpu_engine::Grid::max_entries + 1;
    EXPECT_TRUE(refused({}));
    entries = points.entries();
    EXPECT_TRUE(refused({0, GridSplits::equal, true}));
    EXPECT_EQ(file, nullptr);

    file = this->build(points);
    Boxes boxes = make_boxes(points, 1, this->random_);
    gpu_engine::GridBoxes requested = boxes.boxes();
    requested.low[0] = nullptr;
    std::uint32_t count = 0;
    EXPECT_EQ(file->count(*this->stream_, requested, 1, &count).code, StatusCode::invalid_argument);
    std::uint64_t offsets[2];
    EXPECT_EQ(file->match(*this->stream_, GridPoints{}, 1, offsets, nullptr, 0).code,
              StatusCode::invalid_argument);
}

// Each request for memory is refused once: the call fails cleanly, and what was there stays as it was.
TYPED_TEST(EngineGrid, SurvivesShortMemory) {
    Points points = make_points(3000, {powers, few}, 1, true, this->random_);
    int refusals = 0;
    std::unique_ptr<GridFile> file;
    for (std::int64_t after = 0; file == nullptr; ++after) {
        ASSERT_LT(after, 2000);
        this->engine_->memory().refuse_after(after);
        const Status status = this->engine_->grid().build(*this->stream_, points.entries(), {}, &file);
        this->engine_->memory().refuse_after(-1);
        if (!status.ok()) {
            EXPECT_EQ(status.code, StatusCode::out_of_memory) << status.message;
            EXPECT_EQ(this->engine_->memory().used(), 0U);
            ++refusals;
        }
    }
    EXPECT_GT(refusals, 10);
    const std::uint64_t used = this->engine_->memory().used();
    EXPECT_EQ(used, file->bytes());
    const Boxes boxes = make_boxes(points, 20, this->random_);
    std::vector<std::uint64_t> offsets(boxes.count() + 1);
    std::vector<Tid> tids(boxes.count() * points.count());
    for (std::int64_t after = 0;; ++after) {
        ASSERT_LT(after, 2000);
        this->engine_->memory().refuse_after(after);
        const Status status = file->search(*this->stream_, boxes.boxes(), boxes.count(), offsets.data(),
                                           tids.data(), tids.size());
        this->engine_->memory().refuse_after(-1);
        if (status.ok()) {
            EXPECT_GT(after, 0);
            break;
        }
        EXPECT_EQ(status.code, StatusCode::out_of_memory) << status.message;
        EXPECT_EQ(this->engine_->memory().used(), used);
    }
    this->check_boxes(*file, points, boxes);
}

TYPED_TEST(EngineGrid, CancelsCalls) {
    const Points points = make_points(5000, {uniform, uniform}, 0, false, this->random_);
    std::unique_ptr<GridFile> file;
    this->stream_->cancel();
    EXPECT_EQ(this->engine_->grid().build(*this->stream_, points.entries(), {}, &file).code,
              StatusCode::cancelled);
    EXPECT_EQ(this->engine_->memory().used(), 0U);
    this->stream_->resume();
    file = this->build(points);
    const Boxes boxes = make_boxes(points, 10, this->random_);
    std::vector<std::uint32_t> counts(10);
    this->stream_->cancel();
    EXPECT_EQ(file->count(*this->stream_, boxes.boxes(), 10, counts.data()).code, StatusCode::cancelled);
    this->stream_->resume();
    EXPECT_TRUE(file->count(*this->stream_, boxes.boxes(), 10, counts.data()).ok());
}

}  // namespace
