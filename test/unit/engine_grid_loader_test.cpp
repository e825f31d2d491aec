// Grid files from pages: of a whole run, and of stretches of it that begin and end within pages.
#include <gtest/gtest.h>

#include "engine_under_test.h"
#include "grid_run_pages.h"

namespace {

using gpu_engine::GridFile;
using gpu_engine::GridLoader;
using gpu_engine::GridPageColumns;
using gpu_engine::GridPages;
using gpu_engine::GridStretch;
using gpu_engine::Status;
using gpu_engine::StatusCode;
using namespace grid_test;

template <typename UnderTest>
class EngineGridLoader : public EngineTest {
  protected:
    void SetUp() override { open<UnderTest>(); }

    Points run_of(std::size_t count) {
        Points points = small_points(count, random_);
        for (std::size_t i = 0; i < count; ++i) {
            // TIDs tell entries apart.
            points.tids[i] = make_tid(i + 1);
            points.nulls.push_back(static_cast<std::uint8_t>(random_() % 8 == 0 ? random_() % 4 : 0));
        }
        return points;
    }

    static GridPageColumns columns() { return {2, {4, 8}, {0, 1}}; }

    std::unique_ptr<GridLoader> begin(const GridStretch &stretch) {
        std::unique_ptr<GridLoader> loader;
        const Status status = engine_->grid().open_loader(*stream_, columns(), stretch, &loader);
        EXPECT_TRUE(status.ok()) << status.message;
        return loader;
    }
    Status append(GridLoader &loader, const std::vector<Page> &pages, std::size_t first, std::size_t last) {
        std::vector<char> images;
        for (std::size_t page = first; page < last; ++page) {
            images.insert(images.end(), pages[page].begin(), pages[page].end());
        }
        return loader.append_pages(
            *stream_, {images.data(), static_cast<std::uint32_t>(last - first), page_bytes, first_byte});
    }

    // Entries [first, last) of the run: what each box finds of them, and where bit i of a bitmap is entry
    // first + i.
    void check_file(GridFile &file, const Points &run, std::size_t first, std::size_t last) {
        ASSERT_EQ(file.entries(), last - first);
        Points points;
        points.keys = {Keys(false), Keys(true)};
        std::vector<std::uint64_t> bitmap((last - first) / 64 + 1);
        for (std::size_t i = first; i < last; ++i) {
            points.keys[0].push(run.keys[0][i]);
            points.keys[1].push(run.keys[1][i]);
            points.nulls.push_back(run.nulls[i]);
            points.tids.push_back(run.tids[i]);
            points.dead.push_back(i % 3 == 0);
            bitmap[(i - first) / 64] |= std::uint64_t(i % 3 == 0 ? 1 : 0) << (i - first) % 64;
        }
        ASSERT_TRUE(file.set_dead(*stream_, bitmap.data(), 1).ok());
        Boxes boxes(points);
        for (const std::uint8_t open : {0, 1, 2, 3}) {
            for (const std::uint8_t null : {0, 1, 2, 3}) {
                for (std::uint32_t c = 0; c < 2; ++c) {
                    boxes.low[c].push(20);
                    boxes.high[c].push(70);
                }
                boxes.open.push_back(open);
                boxes.null.push_back(null);
            }
        }
        std::vector<std::uint64_t> offsets(boxes.count() + 1);
        std::vector<Tid> tids(boxes.count() * points.count() + 1);
        const Status status =
            file.search(*stream_, boxes.boxes(), boxes.count(), offsets.data(), tids.data(), tids.size());
        ASSERT_TRUE(status.ok()) << status.message;
        for (std::size_t box = 0; box < boxes.count(); ++box) {
            std::vector<std::uint64_t> found;
            for (std::uint64_t i = offsets[box]; i < offsets[box + 1]; ++i) {
                found.push_back(tid_number(tids[i]));
            }
            std::sort(found.begin(), found.end());
            ASSERT_EQ(found, boxes.answer(points, box)) << "box " << box;
        }
    }
};

TYPED_TEST_SUITE(EngineGridLoader, Engines, EngineName);

TYPED_TEST(EngineGridLoader, TakesStretchesOfARun) {
    constexpr std::size_t count = 3000;
    const Points run = this->run_of(count);
    const std::vector<Page> pages = make_pages(run, {0, 1}, 50, this->random_);
    std::vector<std::size_t> starts;  // of pages
    for (std::size_t at = 0; const Page &page : pages) {
        starts.push_back(at);
        pg_gpu::grid::EntryPageHead head;
        std::memcpy(&head, page.data() + first_byte, sizeof(head));
        at += head.count;
    }
    const std::size_t a_page = starts[pages.size() / 2];
    for (const auto &[first, last] :
         std::vector<std::pair<std::size_t, std::size_t>>{{0, count},
                                                          {0, 64},
                                                          {64, 128},
                                                          {1024, count},
                                                          {count - 1, count},
                                                          {a_page, a_page + 1},
                                                          {a_page - 1, a_page + 1},
                                                          {a_page - 1, a_page},
                                                          {a_page, count}}) {
        SCOPED_TRACE(std::to_string(first) + " to " + std::to_string(last));
        const auto loader = this->begin({count, first, last - first});
        const auto page_of = [&](std::size_t entry) {
            return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), entry) -
                                            starts.begin() - 1);
        };
        const std::size_t first_page = page_of(first);
        const std::size_t last_page = page_of(last - 1) + 1;
        // The one before the first, and any but the first.
        if (first_page > 0) {
            EXPECT_EQ(this->append(*loader, pages, first_page - 1, last_page).code,
                      StatusCode::invalid_argument);
        }
        if (last_page - first_page > 1) {
            EXPECT_EQ(this->append(*loader, pages, first_page + 1, last_page).code,
                      StatusCode::invalid_argument);
        }
        EXPECT_EQ(loader->loaded(), 0U);
        for (std::size_t page = first_page; page < last_page;) {
            const std::size_t some = std::min<std::size_t>(last_page, page + 1 + this->random_() % 20);
            const Status status = this->append(*loader, pages, page, some);
            ASSERT_TRUE(status.ok()) << status.message;
            page = some;
        }
        EXPECT_EQ(loader->loaded(), last - first);
        // The one behind the last.
        if (last_page < pages.size()) {
            EXPECT_EQ(this->append(*loader, pages, last_page, last_page + 1).code,
                      StatusCode::invalid_argument);
        }
        EXPECT_EQ(this->append(*loader, pages, last_page - 1, last_page).code, StatusCode::invalid_argument);
        std::unique_ptr<GridFile> file;
        const Status status = loader->finish(*this->stream_, {}, &file);
        ASSERT_TRUE(status.ok()) << status.message;
        this->check_file(*file, run, first, last);
    }
}

// A stretch isn't the run: its last page may go on, but not beyond the run's end.
TYPED_TEST(EngineGridLoader, RefusesWhatIsBeyondTheRun) {
    const Points run = this->run_of(100);
    const std::vector<Page> pages = {make_page(0, values_of(run, {0, 1}, 0, 60)),
                                     make_page(60, values_of(run, {0, 1}, 60, 100))};
    for (const auto &[run_entries, first, entries, loads] :
         std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, bool>>{
             {100, 64, 36, true}, {100, 64, 1, true}, {99, 64, 35, false}, {99, 64, 1, false}}) {
        const auto loader = this->begin({run_entries, first, entries});
        EXPECT_EQ(this->append(*loader, pages, 1, 2).ok(), loads) << run_entries;
        EXPECT_EQ(loader->loaded(), loads ? entries : 0U);
    }
    // A page whose first entry lies where no sum reaches.
    const Page far = make_page(UINT64_MAX - 30, values_of(run, {0, 1}, 0, 60));
    const auto loader = this->begin({100, 64, 36});
    EXPECT_EQ(this->append(*loader, {far}, 0, 1).code, StatusCode::invalid_argument);
    std::unique_ptr<GridLoader> none;
    for (const GridStretch &stretch : {GridStretch{100, 64, 37}, GridStretch{100, 101, 0},
                                       GridStretch{100, 1, UINT64_MAX}, GridStretch{100, UINT64_MAX, 1}}) {
        EXPECT_EQ(this->engine_->grid().open_loader(*this->stream_, this->columns(), stretch, &none).code,
                  StatusCode::invalid_argument);
    }
}

}  // namespace
