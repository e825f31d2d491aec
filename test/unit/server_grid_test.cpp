// Grid files that are loaded from pages, and what is asked of them, against a plain reference.
#include <algorithm>

#include "grid_run_pages.h"
#include "heap_facts.h"
#include "server_checks.h"
#include "server_runs.h"

namespace {

using namespace server_test;
using grid_test::Boxes;
using grid_test::Keys;
using grid_test::make_page;
using grid_test::make_pages;
using grid_test::Page;
using grid_test::Points;
using grid_test::tid_number;
using grid_test::values_of;
using Random = std::mt19937_64;
using Sets = std::vector<std::vector<std::uint64_t>>;

// Columns of a run: their widths, and the bits of their NULLs.
struct Columns {
    std::vector<bool> wide;
    std::vector<std::uint8_t> null_bit;
};

Points make_points(const Columns &columns, std::size_t count, bool with_nulls, Random &random) {
    Points points;
    for (const bool wide : columns.wide) {
        points.keys.emplace_back(wide);
    }
    for (std::size_t i = 0; i < count; ++i) {
        std::uint8_t nulls = 0;
        for (std::uint32_t c = 0; c < points.columns(); ++c) {
            const std::uint64_t spread = c % 3 == 0 ? 40 : c % 3 == 1 ? 3000 : points.keys[c].highest();
            points.keys[c].push(random() % 50 == 0 ? points.keys[c].highest() - random() % 2
                                                   : random() % spread);
        }
        for (std::uint32_t bit = 0; with_nulls && bit < 8; ++bit) {
            const bool is_null = random() % 12 == 0;
            for (std::uint32_t c = 0; is_null && c < points.columns(); ++c) {
                nulls |= static_cast<std::uint8_t>(columns.null_bit[c] == bit ? 1U << c : 0U);
            }
        }
        if (with_nulls) {
            points.nulls.push_back(nulls);
        }
        points.tids.push_back(grid_test::make_tid((random() % 5000) << 16 | (random() % 200 + 1)));
    }
    return points;
}

Boxes make_boxes(const Points &points, std::size_t count, Random &random) {
    Boxes boxes(points);
    for (std::size_t i = 0; i < count; ++i) {
        const bool exact = random() % 4 == 0;
        for (std::uint32_t c = 0; c < points.columns(); ++c) {
            const auto some_key = [&] {
                return points.count() == 0 ? random() % 40 : points.keys[c][random() % points.count()];
            };
            std::uint64_t low = some_key();
            std::uint64_t high = exact ? low : some_key();
            if (low > high && random() % 16 != 0) {
                std::swap(low, high);
            }
            boxes.low[c].push(low);
            boxes.high[c].push(high);
        }
        boxes.open.push_back(static_cast<std::uint8_t>(random() % 2 == 0 ? 0 : random()));
        boxes.null.push_back(static_cast<std::uint8_t>(random() % 8 == 0 ? random() & random() : 0));
    }
    return boxes;
}

class ServerPoints : public ServerTestOfEngine {
  protected:
    ServerPoints() : ServerTestOfEngine(buffer_bytes) {}

    static constexpr std::uint64_t buffer_bytes = 16 << 20;
    static constexpr std::uint64_t results = 8 << 20;

    static protocol::BeginGrid beginning(std::uint64_t run, const Columns &columns, std::size_t entries) {
        protocol::BeginGrid begin{};
        begin.name = run_name(run);
        begin.entries = entries;
        begin.holder.user = 10;
        begin.columns = static_cast<std::uint32_t>(columns.wide.size());
        begin.bucket = 8;
        begin.distinct = run % 2;
        begin.unsplit = run == 1 && columns.wide.size() > 1 ? 2 : 0;
        for (std::size_t c = 0; c < columns.wide.size(); ++c) {
            begin.key_bytes[c] = columns.wide[c] ? 8 : 4;
            begin.null_bit[c] = columns.null_bit[c];
        }
        return begin;
    }
    protocol::ReplyHeader append(std::uint64_t handle, const std::vector<Page> &pages) {
        protocol::AppendPages message{};
        message.handle = handle;
        message.pages = static_cast<std::uint32_t>(pages.size());
        message.layout = {grid_test::page_bytes, grid_test::first_byte, 0, 0};
        for (std::size_t i = 0; i < pages.size(); ++i) {
            std::memcpy(client_->buffer() + i * grid_test::page_bytes, pages[i].data(), pages[i].size());
        }
        return client_->call<protocol::ReplyHeader>(Message::append_pages, message);
    }
    void load(std::uint64_t run, const Columns &columns, const Points &points, std::size_t most) {
        const auto begun =
            client_->call<protocol::BeginReply>(Message::begin_grid, beginning(run, columns, points.count()));
        ASSERT_EQ(Client::result_of(begun.header), ReplyResult::done) << begun.header.status.message;
        ASSERT_NE(begun.handle, 0U);
        const std::vector<Page> pages = make_pages(points, columns.null_bit, most, random_);
        ASSERT_EQ(pages.empty(), points.count() == 0);
        for (std::size_t first = 0; first < pages.size();) {
            const std::size_t last = std::min<std::size_t>(first + 1 + random_() % 300, pages.size());
            const std::vector<Page> some(pages.begin() + static_cast<std::ptrdiff_t>(first),
                                         pages.begin() + static_cast<std::ptrdiff_t>(last));
            const protocol::ReplyHeader reply = append(begun.handle, some);
            ASSERT_EQ(Client::result_of(reply), ReplyResult::done) << reply.status.message;
            first = last;
        }
        const protocol::HandleReply finished = client_->finish(begun.handle);
        ASSERT_EQ(Client::result_of(finished.header), ReplyResult::done) << finished.header.status.message;
        EXPECT_EQ(finished.entries, points.count());
    }
    void kill_some(std::uint64_t run, Points *points) {
        std::vector<std::uint64_t> words((points->count() + 63) / 64, 0);
        points->dead.assign(points->count(), false);
        for (std::size_t i = 0; i < points->count(); ++i) {
            if (random_() % 5 == 0) {
                points->dead[i] = true;
                words[i / 64] |= std::uint64_t(1) << (i % 64);
            }
        }
        ASSERT_EQ(Client::result_of(client_->set_dead(run_name(run), words, run)), ReplyResult::done);
    }

    template <typename Request>
    static void name_runs(Request *request, std::size_t count) {
        request->runs = static_cast<std::uint32_t>(count);
        for (std::size_t i = 0; i < count; ++i) {
            request->run[i] = {run_name(i + 1), i + 1};
        }
    }
    // From the buffer's beginning on; a column that is open in all boxes goes without bounds.
    protocol::BoxesPlace place_boxes(const Boxes &boxes) {
        protocol::BoxesPlace place{};
        place.count = boxes.count();
        place.columns = static_cast<std::uint32_t>(boxes.low.size());
        std::uint64_t at = 0;
        const auto put = [&](const void *data, std::uint64_t bytes) {
            std::copy_n(static_cast<const char *>(data), bytes, client_->buffer() + at);
            const std::uint64_t began = at;
            at += (bytes + 15) / 16 * 16;
            return began;
        };
        for (std::uint32_t c = 0; c < place.columns; ++c) {
            place.key_bytes[c] = boxes.low[c].wide() ? 8 : 4;
            const bool open = std::all_of(boxes.open.begin(), boxes.open.end(),
                                          [c](std::uint8_t mask) { return (mask >> c & 1) != 0; });
            place.low[c] =
                open ? protocol::nowhere : put(boxes.low[c].data(), place.count * place.key_bytes[c]);
            place.high[c] =
                open ? protocol::nowhere : put(boxes.high[c].data(), place.count * place.key_bytes[c]);
        }
        place.open = put(boxes.open.data(), place.count);
        place.null = put(boxes.null.data(), place.count);
        return place;
    }
    // A run's TIDs item by item, ascending.
    Sets sets_of(const protocol::ResultReply &reply, std::size_t run, std::size_t items) {
        const auto *offsets = client_->at<std::uint64_t>(reply.offsets_at[run]);
        const auto *tids = client_->at<Tid>(reply.tids_at[run]);
        Sets sets(items);
        for (std::size_t i = 0; i < items; ++i) {
            for (std::uint64_t j = offsets[i]; j < offsets[i + 1]; ++j) {
                sets[i].push_back(tid_number(tids[j]));
            }
            std::sort(sets[i].begin(), sets[i].end());
        }
        return sets;
    }
    // Room for the result exactly, and less than that.
    template <typename Request>
    void check_room(Message type, Request request, std::uint64_t needed) {
        request.capacity = needed;
        const auto tight = client_->call<protocol::ResultReply>(type, request);
        EXPECT_EQ(Client::result_of(tight.header), ReplyResult::done) << tight.header.status.message;
        request.capacity -= 16;
        const auto small = client_->call<protocol::ResultReply>(type, request);
        EXPECT_EQ(small.header.status.code, StatusCode::insufficient_space);
        EXPECT_EQ(small.needed, needed);
    }
    void check_search(const std::vector<Points> &runs, const Boxes &boxes) {
        protocol::SearchGrid request{};
        name_runs(&request, runs.size());
        request.boxes = place_boxes(boxes);
        request.results = results;
        request.capacity = buffer_bytes - results;
        const auto reply = client_->call<protocol::ResultReply>(Message::search_grid, request);
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            Sets expected;
            for (std::size_t j = 0; j < boxes.count(); ++j) {
                expected.push_back(boxes.matches(runs[i], j));
                total += expected.back().size();
            }
            ASSERT_EQ(sets_of(reply, i, boxes.count()), expected) << "run " << i;
        }
        EXPECT_EQ(reply.tids, total);
        check_room(Message::search_grid, request, reply.needed);
    }
    void check_count(const std::vector<Points> &runs, const Boxes &boxes, bool all_visible) {
        constexpr std::uint64_t facts_at = 4 << 20;
        heap_facts::HeapFacts facts = heap_facts::HeapFacts::random(4013, random_);
        protocol::CountGrid request{};
        name_runs(&request, runs.size());
        request.boxes = place_boxes(boxes);
        request.blocks = facts.place(client_->buffer(), facts_at);
        request.blocks.all_visible = all_visible ? 1 : 0;
        request.results = results;
        request.capacity = buffer_bytes - results;
        const auto reply = client_->call<protocol::ResultReply>(Message::count_grid, request);
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        std::vector<std::uint64_t> counts(boxes.count(), 0);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            Sets hidden(boxes.count());
            for (std::size_t j = 0; j < boxes.count(); ++j) {
                for (const std::uint64_t tid : boxes.matches(runs[i], j)) {
                    const heap_facts::Visibility matches =
                        all_visible ? heap_facts::Visibility::visible : facts.of(tid);
                    counts[j] += matches == heap_facts::Visibility::visible ? 1 : 0;
                    if (matches == heap_facts::Visibility::unknown) {
                        hidden[j].push_back(tid);
                    }
                }
            }
            if (!all_visible) {
                ASSERT_EQ(sets_of(reply, i, boxes.count()), hidden) << "run " << i;
            }
        }
        const auto *found = client_->at<std::uint64_t>(results);
        EXPECT_EQ(std::vector<std::uint64_t>(found, found + boxes.count()), counts);
        if (!all_visible) {
            check_room(Message::count_grid, request, reply.needed);
        }
    }
    void check_match(const std::vector<Points> &runs, const Columns &columns, std::size_t count) {
        std::vector<Keys> probes;
        for (const bool wide : columns.wide) {
            probes.emplace_back(wide);
        }
        for (std::size_t i = 0; i < count; ++i) {
            const Points &run = runs[random_() % runs.size()];
            const std::size_t chosen = run.count() == 0 ? 0 : random_() % run.count();
            for (std::uint32_t c = 0; c < probes.size(); ++c) {
                probes[c].push(run.count() == 0 ? 3 : run.keys[c][chosen] + (random_() % 8 == 0 ? 1 : 0));
            }
        }
        protocol::MatchGrid request{};
        name_runs(&request, runs.size());
        request.columns = static_cast<std::uint32_t>(probes.size());
        request.count = count;
        for (std::uint32_t c = 0; c < probes.size(); ++c) {
            request.key_bytes[c] = columns.wide[c] ? 8 : 4;
            request.keys[c] = std::uint64_t(c) << 16;
            std::memcpy(client_->buffer() + request.keys[c], probes[c].data(), count * request.key_bytes[c]);
        }
        request.results = results;
        request.capacity = buffer_bytes - results;
        const auto reply = client_->call<protocol::ResultReply>(Message::match_grid, request);
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        for (std::size_t run = 0; run < runs.size(); ++run) {
            Sets expected(count);
            for (std::size_t i = 0; i < count; ++i) {
                for (std::size_t j = 0; j < runs[run].count(); ++j) {
                    bool equal = !runs[run].is_dead(j) && runs[run].null_mask(j) == 0;
                    for (std::uint32_t c = 0; equal && c < probes.size(); ++c) {
                        equal = runs[run].keys[c][j] == probes[c][i];
                    }
                    if (equal) {
                        expected[i].push_back(tid_number(runs[run].tids[j]));
                    }
                }
                std::sort(expected[i].begin(), expected[i].end());
            }
            ASSERT_EQ(sets_of(reply, run, count), expected) << "run " << run;
        }
        check_room(Message::match_grid, request, reply.needed);
    }
    void check_all(const std::vector<Points> &runs, const Columns &columns) {
        for (const std::size_t count : {std::size_t(0), std::size_t(1), std::size_t(60)}) {
            SCOPED_TRACE(std::to_string(count) + " boxes");
            const Boxes boxes = make_boxes(runs[0], count, random_);
            if (count > 0) {
                check_search(runs, boxes);
                check_count(runs, boxes, false);
            }
            check_count(runs, boxes, true);
            ASSERT_FALSE(HasFatalFailure());
        }
        check_match(runs, columns, 100);
    }

    StatusCode begin_code(const protocol::BeginGrid &request) {
        return client_->call<protocol::BeginReply>(Message::begin_grid, request).header.status.code;
    }
};

TEST_P(ServerPoints, AnswersEqualAPlainReference) {
    const Columns all_columns[] = {
        {{false}, {0}},
        {{true}, {0}},
        {{false, false}, {0, 1}},
        {{true, true}, {0, 0}},
        {{true, true, false}, {0, 0, 1}},
        {{false, true, false, true}, {0, 1, 2, 3}},
        {{false, false, false, false, false, false, false, true}, {0, 1, 2, 3, 4, 5, 6, 7}},
        {{true, true, true, true, true, true, true, true}, {0, 0, 1, 1, 2, 2, 3, 3}},
    };
    for (const Columns &columns : all_columns) {
        SCOPED_TRACE(std::to_string(columns.wide.size()) + " columns");
        std::vector<Points> runs;
        for (const std::size_t size : {5000, 0, 1, 900}) {
            runs.push_back(make_points(columns, size, runs.size() != 3, random_));
            load(runs.size(), columns, runs.back(), 80);
            ASSERT_FALSE(HasFatalFailure());
            kill_some(runs.size(), &runs.back());
        }
        check_all(runs, columns);
        ASSERT_FALSE(HasFatalFailure());
        client_->evict(run_name(0));
    }
}

TEST_P(ServerPoints, MirrorsTellTheirKind) {
    const Columns columns = {{false, true}, {0, 1}};
    load(1, columns, make_points(columns, 500, true, random_), 50);
    ASSERT_EQ(client_->load<std::uint32_t>(run_name(2, 2), {1, 2}, {make_tid(1, 1), make_tid(1, 2)}),
              ReplyResult::done);
    const auto reply = client_->list(Message::mirrors, 0, buffer_bytes);
    ASSERT_EQ(reply.rows, 2U);
    for (std::uint64_t i = 0; i < reply.rows; ++i) {
        const auto &row = client_->at<protocol::MirrorRow>(0)[i];
        EXPECT_EQ(row.kind, static_cast<std::uint32_t>(row.name.run == 1 ? protocol::RunKind::grid
                                                                         : protocol::RunKind::kary));
        EXPECT_EQ(row.entries, row.name.run == 1 ? 500U : 2U);
        EXPECT_GT(row.bytes, 0U);
    }
    // Loading it again gives nothing to do.
    const auto again = client_->call<protocol::BeginReply>(Message::begin_grid, beginning(1, columns, 500));
    EXPECT_EQ(Client::result_of(again.header), ReplyResult::done);
    EXPECT_EQ(again.handle, 0U);
}

// Pages that contradict themselves, their run or the entries so far change nothing.
TEST_P(ServerPoints, RefuseDamagedPages) {
    const Columns columns = {{false, true}, {0, 1}};
    const Points points = make_points(columns, 600, true, random_);
    const std::vector<Page> pages = make_pages(points, columns.null_bit, 100, random_);
    const auto begun =
        client_->call<protocol::BeginReply>(Message::begin_grid, beginning(1, columns, points.count()));
    ASSERT_NE(begun.handle, 0U);
    const auto refused = [&](const std::vector<Page> &damaged) {
        return append(begun.handle, damaged).status.code == StatusCode::invalid_argument;
    };
    const auto changed = [&](std::size_t byte, int value) {
        std::vector<Page> damaged = pages;
        damaged[1][grid_test::first_byte + byte] = static_cast<char>(value);
        return damaged;
    };
    EXPECT_TRUE(refused({pages.begin() + 1, pages.end()})) << "the first page is missing";
    EXPECT_TRUE(refused({pages[0], pages[0]})) << "a page twice";
    EXPECT_TRUE(refused(changed(0, 99))) << "another first entry";
    std::vector<Page> damaged = changed(8, 0);
    damaged[1][grid_test::first_byte + 9] = 0;
    EXPECT_TRUE(refused(damaged)) << "no entries";
    damaged = changed(9, 0xff);
    EXPECT_TRUE(refused(damaged)) << "more entries than a page holds";
    EXPECT_TRUE(refused(changed(10, 4))) << "an array less";
    const std::size_t widths = 16 + 5 * 8;
    EXPECT_TRUE(refused(changed(widths + 3, 65))) << "a width beyond 64 bits";
    EXPECT_TRUE(refused(changed(widths + 4, 255))) << "a width that reaches beyond the page";
    // Bases that lift values beyond their types.
    EXPECT_TRUE(refused(changed(16 + 0 * 8 + 4, 1))) << "a heap block beyond 32 bits";
    EXPECT_TRUE(refused(changed(16 + 1 * 8 + 2, 1))) << "a line pointer beyond 16 bits";
    EXPECT_TRUE(refused(changed(16 + 2 * 8 + 1, 1))) << "a mask beyond 8 bits";
    EXPECT_TRUE(refused(changed(16 + 3 * 8 + 4, 1))) << "a key beyond 32 bits";
    std::vector<Page> too_many = pages;
    too_many.push_back(make_page(points.count(), values_of(points, columns.null_bit, 0, 1)));
    EXPECT_TRUE(refused(too_many)) << "more entries than it was begun with";
    EXPECT_EQ(client_->finish(begun.handle).header.status.code, StatusCode::invalid_argument)
        << "entries are missing";
    // That ended it; as it should be, it loads.
    load(1, columns, points, 100);
}

TEST_P(ServerPoints, RefuseWrongLayouts) {
    const Columns columns = {{false}, {0}};
    const Points points = make_points(columns, 10, false, random_);
    const std::vector<Page> pages = make_pages(points, columns.null_bit, 100, random_);
    const auto begun =
        client_->call<protocol::BeginReply>(Message::begin_grid, beginning(1, columns, points.count()));
    std::memcpy(client_->buffer(), pages[0].data(), pages[0].size());
    protocol::AppendPages good{};
    good.handle = begun.handle;
    good.pages = 1;
    good.layout = {grid_test::page_bytes, grid_test::first_byte, 0, 0};
    for (const gpu_engine::PageLayout &layout :
         {gpu_engine::PageLayout{0, 0, 0, 0}, gpu_engine::PageLayout{8192, 8192, 0, 0},
          gpu_engine::PageLayout{8192, 8200, 0, 0}, gpu_engine::PageLayout{8192, UINT32_MAX - 7, 0, 0},
          gpu_engine::PageLayout{8190, 24, 0, 0}, gpu_engine::PageLayout{8192, 20, 0, 0},
          gpu_engine::PageLayout{1 << 17, 24, 0, 0}}) {
        protocol::AppendPages bad = good;
        bad.layout = layout;
        EXPECT_EQ(client_->call<protocol::ReplyHeader>(Message::append_pages, bad).status.code,
                  StatusCode::invalid_argument)
            << layout.page_bytes << ", " << layout.first_byte;
    }
    for (const std::uint64_t offset :
         {buffer_bytes, buffer_bytes - 16, std::uint64_t(8), UINT64_MAX - 15, std::uint64_t(1) << 63}) {
        protocol::AppendPages bad = good;
        bad.offset = offset;
        EXPECT_EQ(client_->call<protocol::ReplyHeader>(Message::append_pages, bad).status.code,
                  StatusCode::invalid_argument)
            << offset;
    }
    protocol::AppendPages bad = good;
    bad.pages = UINT32_MAX;
    EXPECT_EQ(client_->call<protocol::ReplyHeader>(Message::append_pages, bad).status.code,
              StatusCode::invalid_argument);
    EXPECT_EQ(client_->call<protocol::ReplyHeader>(Message::append_pages, good).status.code, StatusCode::ok);
    EXPECT_EQ(client_->finish(begun.handle).header.status.code, StatusCode::ok);
}

TEST_P(ServerPoints, RefuseWrongBeginnings) {
    const Columns columns = {{false, true}, {0, 1}};
    const protocol::BeginGrid good = beginning(1, columns, 100);
    protocol::BeginGrid bad = good;
    bad.name = {};
    EXPECT_EQ(begin_code(bad), StatusCode::invalid_argument);
    for (const std::uint32_t count : {0U, 9U, UINT32_MAX}) {
        bad = good;
        bad.columns = count;
        EXPECT_EQ(begin_code(bad), StatusCode::invalid_argument) << count;
    }
    for (const int width : {0, 1, 3, 5, 16, 255}) {
        bad = good;
        bad.key_bytes[1] = static_cast<std::uint8_t>(width);
        EXPECT_EQ(begin_code(bad), StatusCode::invalid_argument) << width;
    }
    bad = good;
    bad.null_bit[0] = 8;
    EXPECT_EQ(begin_code(bad), StatusCode::invalid_argument);
    bad = good;
    bad.entries = std::uint64_t(1) << 31;
    EXPECT_EQ(begin_code(bad), StatusCode::invalid_argument);
    bad.entries = UINT64_MAX;
    EXPECT_EQ(begin_code(bad), StatusCode::invalid_argument);
    // Without entries there is a file all the same, but not without a cell.
    bad = good;
    bad.entries = 0;
    bad.bucket = 0;
    const auto begun = client_->call<protocol::BeginReply>(Message::begin_grid, bad);
    ASSERT_NE(begun.handle, 0U);
    EXPECT_EQ(client_->finish(begun.handle).header.status.code, StatusCode::invalid_argument);
    EXPECT_EQ(begin_code(good), StatusCode::ok) << "the claim ended with the failures";
}

// Requests that don't fit the runs' columns and kinds are refused, and parts outside of the buffer.
TEST_P(ServerPoints, RefuseWrongRequests) {
    const Columns columns = {{false, true}, {0, 1}};
    const Points points = make_points(columns, 100, true, random_);
    load(1, columns, points, 50);
    ASSERT_EQ(client_->load<std::uint32_t>(run_name(2), {1, 2}, {make_tid(1, 1), make_tid(1, 2)}),
              ReplyResult::done);
    protocol::SearchGrid good{};
    name_runs(&good, 1);
    good.run[0].dead_version = 0;
    good.boxes = place_boxes(make_boxes(points, 16, random_));
    good.results = results;
    good.capacity = buffer_bytes - results;
    const auto code = [&](const protocol::SearchGrid &search) {
        const StatusCode found =
            client_->call<protocol::ResultReply>(Message::search_grid, search).header.status.code;
        protocol::CountGrid count{};
        count.boxes = search.boxes;
        count.results = search.results;
        count.capacity = search.capacity;
        count.blocks.all_visible = 1;
        count.runs = search.runs;
        std::copy(std::begin(search.run), std::end(search.run), std::begin(count.run));
        EXPECT_EQ(client_->call<protocol::ResultReply>(Message::count_grid, count).header.status.code, found);
        return found;
    };
    EXPECT_EQ(code(good), StatusCode::ok);
    protocol::SearchGrid bad = good;
    bad.run[0].name = run_name(2);
    EXPECT_EQ(code(bad), StatusCode::invalid_argument) << "boxes in sorted keys";
    for (const std::uint32_t count : {0U, 1U, 3U, 8U, 9U, UINT32_MAX}) {
        bad = good;
        bad.boxes.columns = count;
        EXPECT_EQ(code(bad), StatusCode::invalid_argument) << count << " columns";
    }
    for (const int width : {0, 4, 16}) {
        bad = good;
        bad.boxes.key_bytes[1] = static_cast<std::uint8_t>(width);
        EXPECT_EQ(code(bad), StatusCode::invalid_argument) << width;
    }
    bad = good;
    bad.boxes.low[0] = protocol::nowhere;
    EXPECT_EQ(code(bad), StatusCode::invalid_argument) << "one bound of two";
    bad = good;
    bad.runs = protocol::max_runs + 1;
    EXPECT_EQ(code(bad), StatusCode::invalid_argument);
    const std::uint64_t huge[] = {
        buffer_bytes,    buffer_bytes - 16,  std::uint64_t(1) << 63, UINT64_MAX - 15,
        UINT64_MAX / 16, UINT64_MAX / 8 + 1, UINT64_MAX / 4 + 1,     std::uint64_t(17) + buffer_bytes};
    for (const std::uint64_t value : huge) {
        for (std::uint64_t protocol::BoxesPlace::*part :
             {&protocol::BoxesPlace::open, &protocol::BoxesPlace::null, &protocol::BoxesPlace::count}) {
            bad = good;
            bad.boxes.*part = value;
            // A byte a box fits at the very end.
            if (value == buffer_bytes - 16 && part != &protocol::BoxesPlace::count) {
                continue;
            }
            EXPECT_EQ(code(bad), StatusCode::invalid_argument) << value;
        }
        bad = good;
        bad.boxes.low[1] = value;
        EXPECT_EQ(code(bad), StatusCode::invalid_argument) << value;
        bad = good;
        bad.boxes.high[0] = value;
        EXPECT_EQ(code(bad), StatusCode::invalid_argument) << value;
    }
    // Open in all columns: nothing lies in the buffer but results.
    for (const std::uint64_t count : {UINT64_MAX, UINT64_MAX - 1, (std::uint64_t(1) << 53) + 1}) {
        bad = good;
        std::fill(std::begin(bad.boxes.low), std::end(bad.boxes.low), protocol::nowhere);
        std::fill(std::begin(bad.boxes.high), std::end(bad.boxes.high), protocol::nowhere);
        bad.boxes.open = bad.boxes.null = protocol::nowhere;
        bad.boxes.count = count;
        EXPECT_EQ(client_->call<protocol::ResultReply>(Message::search_grid, bad).header.status.code,
                  StatusCode::invalid_argument)
            << count;
    }
    protocol::MatchGrid match{};
    name_runs(&match, 1);
    match.run[0].dead_version = 0;
    match.columns = 2;
    match.key_bytes[0] = 4;
    match.key_bytes[1] = 8;
    match.count = 4;
    match.results = results;
    match.capacity = buffer_bytes - results;
    const auto match_code = [&] {
        return client_->call<protocol::ResultReply>(Message::match_grid, match).header.status.code;
    };
    EXPECT_EQ(match_code(), StatusCode::ok);
    match.keys[1] = buffer_bytes - 16;
    EXPECT_EQ(match_code(), StatusCode::invalid_argument);
    match.keys[1] = protocol::nowhere;
    EXPECT_EQ(match_code(), StatusCode::invalid_argument);
    match.keys[1] = 0;
    match.key_bytes[1] = 4;
    EXPECT_EQ(match_code(), StatusCode::invalid_argument);

    // Sorted keys' requests to points.
    expect_lookups_refused(*client_, results);
    EXPECT_EQ(code(good), StatusCode::ok);
}

TEST_P(ServerPoints, ReportWhichRunsAreAbsentOrStale) {
    const Columns columns = {{false}, {0}};
    const Points points = make_points(columns, 100, false, random_);
    load(1, columns, points, 50);
    protocol::CountGrid request{};
    name_runs(&request, 2);
    request.boxes = place_boxes(make_boxes(points, 1, random_));
    request.results = results;
    request.capacity = 65536;
    request.blocks.all_visible = 1;
    expect_absent_and_stale(*client_, Message::count_grid, request);
}

// A file that does not fit is refused, and what is there stays; least recently used ones make room.
TEST_P(ServerPoints, KeepWithinTheLimitOfMemory) {
    if (has_several_engines()) {
        GTEST_SKIP() << "the test is of one engine";
    }
    const Columns columns = {{false, true}, {0, 1}};
    limit_memory(*client_, GetParam(), 4 << 20);
    load(1, columns, make_points(columns, 20000, true, random_), 80);
    EXPECT_EQ(begin_code(beginning(2, columns, 1000000)), StatusCode::out_of_memory);
    EXPECT_EQ(client_->list(Message::mirrors, 0, buffer_bytes).rows, 1U);
    for (std::uint64_t run = 2; run < 12; ++run) {
        load(run, columns, make_points(columns, 20000, true, random_), 80);
        ASSERT_FALSE(HasFatalFailure());
    }
    expect_first_made_room(*client_, GetParam(), 8, 4 << 20);
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerPoints, every_engine(), engine_of);

}  // namespace
