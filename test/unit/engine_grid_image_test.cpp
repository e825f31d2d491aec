// Grid files on their way from an engine to another one of the same kind.
#include <gtest/gtest.h>

#include "engine_under_test.h"
#include "grid_reference.h"
#include "rounds.h"

namespace {

using gpu_engine::Engine;
using gpu_engine::GridFile;
using gpu_engine::GridShape;
using gpu_engine::Status;
using gpu_engine::StatusCode;
using gpu_engine::Stream;
using namespace grid_test;

// A file's bytes, where numbers may lie.
struct Image {
    std::vector<std::uint64_t> words;
    std::uint64_t bytes;

    explicit Image(const GridFile &file) : words(file.image_bytes() / 8 + 1), bytes(file.image_bytes()) {}
    char *data() { return reinterpret_cast<char *>(words.data()); }
};

template <typename UnderTest>
class EngineGridImage : public EngineTest {
  protected:
    void SetUp() override {
        open<UnderTest>();
        if (IsSkipped()) {
            return;
        }
        ASSERT_TRUE(UnderTest::open({}, &other_).ok());
        ASSERT_TRUE(other_->open_stream(&other_stream_).ok());
    }
    void TearDown() override {
        if (other_ != nullptr) {
            EXPECT_EQ(other_->memory().used(), 0U) << "memory leaked";
        }
        EngineTest::TearDown();
    }

    // Crowded places have grids of their own.
    Points make_points(std::size_t count, std::uint32_t columns, std::uint32_t wide, bool nulls) {
        Points points;
        for (std::uint32_t c = 0; c < columns; ++c) {
            points.keys.emplace_back((wide >> c & 1) != 0);
            for (std::size_t i = 0; i < count; ++i) {
                points.keys[c].push(this->random_() % 3 != 0 ? 1000 + this->random_() % 40
                                                             : this->random_() & points.keys[c].highest());
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            points.tids.push_back(make_tid((i / 100) << 16 | (i % 100 + 1)));
            if (nulls) {
                points.nulls.push_back(
                    static_cast<std::uint8_t>(this->random_() & this->random_() & this->random_()));
            }
        }
        return points;
    }
    std::unique_ptr<GridFile> build(const Points &points) {
        std::unique_ptr<GridFile> file;
        const Status status = engine_->grid().build(*stream_, points.entries(), {}, &file);
        EXPECT_TRUE(status.ok()) << status.message;
        return file;
    }
    void kill_some(GridFile &file, Stream &stream, Points *points, std::uint64_t version) {
        std::vector<std::uint64_t> bitmap(points->count() / 64 + 1);
        points->dead.assign(points->count(), false);
        for (std::size_t i = 0; i < points->count(); ++i) {
            if (random_() % 4 == 0) {
                points->dead[i] = true;
                bitmap[i / 64] |= std::uint64_t(1) << i % 64;
            }
        }
        ASSERT_TRUE(file.set_dead(stream, bitmap.data(), version).ok());
    }
    std::unique_ptr<GridFile> move(const GridFile &file) {
        Image image(file);
        Status status = file.write_image(*stream_, image.data());
        EXPECT_TRUE(status.ok()) << status.message;
        std::unique_ptr<GridFile> moved;
        status = other_->grid().load_image(*other_stream_, image.data(), image.bytes, &moved);
        EXPECT_TRUE(status.ok()) << status.message;
        return moved;
    }

    void check(const GridFile &file, const Points &points) {
        Boxes boxes(points);
        for (int box = 0; box < 40; ++box) {
            for (std::uint32_t c = 0; c < points.columns(); ++c) {
                const auto some_key = [&] {
                    return points.count() == 0 ? 7 : points.keys[c][random_() % points.count()];
                };
                std::uint64_t low = some_key();
                std::uint64_t high = some_key();
                boxes.low[c].push(std::min(low, high));
                boxes.high[c].push(std::max(low, high));
            }
            boxes.open.push_back(static_cast<std::uint8_t>(random_() & random_()));
            boxes.null.push_back(static_cast<std::uint8_t>(random_() & random_() & random_()));
        }
        std::vector<std::uint64_t> offsets(boxes.count() + 1);
        std::vector<Tid> tids(boxes.count() * points.count() + 1);
        Status status = file.search(*other_stream_, boxes.boxes(), boxes.count(), offsets.data(), tids.data(),
                                    tids.size());
        ASSERT_TRUE(status.ok()) << status.message;
        std::vector<std::uint32_t> counts(boxes.count());
        status = file.count(*other_stream_, boxes.boxes(), boxes.count(), counts.data());
        ASSERT_TRUE(status.ok()) << status.message;
        for (std::size_t box = 0; box < boxes.count(); ++box) {
            std::vector<std::uint64_t> found;
            for (std::uint64_t i = offsets[box]; i < offsets[box + 1]; ++i) {
                found.push_back(tid_number(tids[i]));
            }
            std::sort(found.begin(), found.end());
            ASSERT_EQ(found, boxes.answer(points, box)) << "box " << box;
            ASSERT_EQ(counts[box], found.size()) << "box " << box;
        }
        gpu_engine::GridPoints probes = {};
        for (std::uint32_t c = 0; c < points.columns(); ++c) {
            probes.keys[c] = points.keys[c].data();
        }
        std::vector<std::uint32_t> matches(points.count());
        status = file.match_count(*other_stream_, probes, points.count(), matches.data());
        ASSERT_TRUE(status.ok()) << status.message;
        for (std::size_t i = 0; i < points.count(); ++i) {
            // What is neither dead nor NULL anywhere is its own match.
            const bool is_point = (points.null_mask(i) & ((1U << points.columns()) - 1)) == 0;
            if (is_point && !points.is_dead(i)) {
                ASSERT_GE(matches[i], 1U) << i;
            }
        }
    }

    std::unique_ptr<Engine> other_;
    std::unique_ptr<Stream> other_stream_;
};

TYPED_TEST_SUITE(EngineGridImage, Engines, EngineName);

TYPED_TEST(EngineGridImage, GivesTheSameFileElsewhere) {
    for (std::uint32_t columns = 1; columns <= 8; ++columns) {
        for (const std::uint32_t wide : {0U, 0xffU, 0x55U}) {
            for (const bool nulls : {false, true}) {
                SCOPED_TRACE(std::to_string(columns) + " columns, " + std::to_string(wide) +
                             (nulls ? ", with NULLs" : ""));
                Points points = this->make_points(1500, columns, wide, nulls);
                std::unique_ptr<GridFile> file = this->build(points);
                ASSERT_NE(file, nullptr);
                if (columns % 2 == 0) {
                    this->kill_some(*file, *this->stream_, &points, 9);
                }
                const GridShape shape = file->shape();
                const std::uint64_t bytes = file->bytes();
                const std::uint64_t dead = file->dead_entries();
                const std::unique_ptr<GridFile> moved = this->move(*file);
                ASSERT_NE(moved, nullptr);
                // It needs nothing of the first one.
                file.reset();
                EXPECT_EQ(this->engine_->memory().used(), 0U);
                EXPECT_EQ(moved->entries(), points.count());
                EXPECT_EQ(moved->bytes(), bytes);
                EXPECT_EQ(moved->dead_entries(), dead);
                EXPECT_EQ(moved->dead_version(), columns % 2 == 0 ? 9U : 0U);
                for (std::uint32_t c = 0; c < columns; ++c) {
                    EXPECT_EQ(moved->key_bytes(c), points.keys[c].wide() ? 8U : 4U);
                    EXPECT_EQ(moved->shape().slots[c], shape.slots[c]);
                }
                EXPECT_EQ(moved->shape().levels, shape.levels);
                EXPECT_EQ(moved->shape().cells, shape.cells);
                this->check(*moved, points);
                // Entries die there as well, and versions don't fall.
                this->kill_some(*moved, *this->other_stream_, &points, 10);
                this->check(*moved, points);
                EXPECT_EQ(moved->set_dead(*this->other_stream_, nullptr, 9).code,
                          StatusCode::invalid_argument);
            }
        }
    }
}

TYPED_TEST(EngineGridImage, OfFewEntriesAndOfMany) {
    for (const std::size_t count : {0, 1, 2, 63, 64, 65, 200000}) {
        SCOPED_TRACE(count);
        Points points = this->make_points(count, 3, 2, true);
        const std::unique_ptr<GridFile> file = this->build(points);
        this->kill_some(*file, *this->stream_, &points, 1);
        const std::unique_ptr<GridFile> moved = this->move(*file);
        ASSERT_NE(moved, nullptr);
        EXPECT_EQ(moved->dead_version(), 1U);
        if (count < 1000) {
            this->check(*moved, points);
        } else {
            EXPECT_GT(moved->shape().levels, 1U) << "crowded cells have grids";
            EXPECT_EQ(moved->dead_entries(), file->dead_entries());
        }
    }
}

TYPED_TEST(EngineGridImage, RefusesWhatNoneHasWritten) {
    const Points points = this->make_points(500, 2, 1, false);
    const std::unique_ptr<GridFile> file = this->build(points);
    Image image(*file);
    ASSERT_TRUE(file->write_image(*this->stream_, image.data()).ok());
    std::unique_ptr<GridFile> moved;
    const auto load = [&](std::uint64_t bytes) {
        return this->other_->grid().load_image(*this->other_stream_, image.data(), bytes, &moved).code;
    };
    for (const std::uint64_t bytes :
         {std::uint64_t(0), std::uint64_t(1), std::uint64_t(64), image.bytes - 1, image.bytes + 1}) {
        EXPECT_EQ(load(bytes), StatusCode::invalid_argument) << bytes;
    }
    EXPECT_EQ(load(image.bytes), StatusCode::ok);
    moved.reset();
    image.data()[0] ^= 1;
    EXPECT_EQ(load(image.bytes), StatusCode::invalid_argument);
}

TYPED_TEST(EngineGridImage, SurvivesShortMemoryAndCancels) {
    Points points = this->make_points(20000, 2, 1, true);
    const std::unique_ptr<GridFile> file = this->build(points);
    this->kill_some(*file, *this->stream_, &points, 1);
    Image image(*file);
    ASSERT_TRUE(file->write_image(*this->stream_, image.data()).ok());
    std::unique_ptr<GridFile> moved;
    int refusals = 0;
    for (int after = 0; moved == nullptr; ++after) {
        this->other_->memory().refuse_after(after);
        const Status status =
            this->other_->grid().load_image(*this->other_stream_, image.data(), image.bytes, &moved);
        this->other_->memory().refuse_after(-1);
        if (!status.ok()) {
            ASSERT_EQ(status.code, StatusCode::out_of_memory);
            EXPECT_EQ(this->other_->memory().used(), 0U);
            ++refusals;
        }
    }
    EXPECT_GT(refusals, 5);
    this->check(*moved, points);
    moved.reset();
    this->stream_->cancel();
    EXPECT_EQ(file->write_image(*this->stream_, image.data()).code, StatusCode::cancelled);
    this->other_stream_->cancel();
    EXPECT_EQ(this->other_->grid().load_image(*this->other_stream_, image.data(), image.bytes, &moved).code,
              StatusCode::cancelled);
    EXPECT_EQ(this->other_->memory().used(), 0U);
}

}  // namespace
