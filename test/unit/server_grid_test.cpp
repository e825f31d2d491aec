// Grid files that are loaded from pages, and what is asked of them, against a plain reference.
#include <algorithm>

#include "server_checks.h"
#include "server_points.h"
#include "server_runs.h"

namespace {

using namespace server_test;

class ServerPoints : public ServerOfPoints, public testing::WithParamInterface<EngineName> {
  protected:
    ServerPoints() : ServerOfPoints(GetParam()) {}
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
              Answer::done);
    const auto reply = client_->list(Message::mirrors, 0, buffer_bytes);
    std::uint64_t entries[3] = {};
    for (std::uint64_t i = 0; i < reply.rows; ++i) {
        const auto &row = client_->at<protocol::MirrorRow>(0)[i];
        EXPECT_EQ(row.kind, static_cast<std::uint32_t>(row.name.run == 1 ? protocol::RunKind::grid
                                                                         : protocol::RunKind::kary));
        ASSERT_TRUE(row.name.run == 1 || row.name.run == 2);
        EXPECT_EQ(row.parts, row.name.run == 1 && has_several_engines() ? 3U : 1U);
        entries[row.name.run] += row.entries;
        EXPECT_GT(row.bytes, 0U);
    }
    EXPECT_EQ(entries[1], 500U);
    EXPECT_EQ(entries[2], 2U);
    // Loading it again gives nothing to do.
    const auto again = client_->ask<protocol::BeginReply>(Message::begin_grid, beginning(1, columns, 500));
    EXPECT_EQ(Client::answer_of(again.header), Answer::done);
    EXPECT_EQ(again.handle, 0U);
}

// Pages that contradict themselves, their run or the entries so far change nothing.
TEST_P(ServerPoints, RefuseDamagedPages) {
    const Columns columns = {{false, true}, {0, 1}};
    const Points points = make_points(columns, 600, true, random_);
    const std::vector<Page> pages = make_pages(points, columns.null_bit, 100, random_);
    const auto begun =
        client_->ask<protocol::BeginReply>(Message::begin_grid, beginning(1, columns, points.count()));
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
        client_->ask<protocol::BeginReply>(Message::begin_grid, beginning(1, columns, points.count()));
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
        EXPECT_EQ(client_->ask<protocol::ReplyHeader>(Message::append_pages, bad).status.code,
                  StatusCode::invalid_argument)
            << layout.page_bytes << ", " << layout.first_byte;
    }
    for (const std::uint64_t offset :
         {buffer_bytes, buffer_bytes - 16, std::uint64_t(8), UINT64_MAX - 15, std::uint64_t(1) << 63}) {
        protocol::AppendPages bad = good;
        bad.offset = offset;
        EXPECT_EQ(client_->ask<protocol::ReplyHeader>(Message::append_pages, bad).status.code,
                  StatusCode::invalid_argument)
            << offset;
    }
    protocol::AppendPages bad = good;
    bad.pages = UINT32_MAX;
    EXPECT_EQ(client_->ask<protocol::ReplyHeader>(Message::append_pages, bad).status.code,
              StatusCode::invalid_argument);
    // Entries one by one are not for grids.
    protocol::AppendKary entries{};
    entries.handle = begun.handle;
    entries.count = 1;
    EXPECT_EQ(client_->ask<protocol::ReplyHeader>(Message::append_kary, entries).status.code,
              StatusCode::invalid_argument);
    EXPECT_EQ(client_->ask<protocol::ReplyHeader>(Message::append_pages, good).status.code, StatusCode::ok);
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
    const auto begun = client_->ask<protocol::BeginReply>(Message::begin_grid, bad);
    ASSERT_NE(begun.handle, 0U);
    EXPECT_EQ(client_->finish(begun.handle).header.status.code, StatusCode::invalid_argument);
    EXPECT_EQ(begin_code(good), StatusCode::ok) << "the claim ended with the failures";
}

// What runs' columns and kinds don't fit, and parts outside of the buffer.
TEST_P(ServerPoints, RefuseWrongQuestions) {
    const Columns columns = {{false, true}, {0, 1}};
    const Points points = make_points(columns, 100, true, random_);
    load(1, columns, points, 50);
    ASSERT_EQ(client_->load<std::uint32_t>(run_name(2), {1, 2}, {make_tid(1, 1), make_tid(1, 2)}),
              Answer::done);
    protocol::SearchGrid good{};
    name_runs(&good, 1);
    good.run[0].dead_version = 0;
    good.boxes = place_boxes(make_boxes(points, 16, random_));
    good.results = results;
    good.capacity = buffer_bytes - results;
    const auto code = [&](const protocol::SearchGrid &search) {
        const StatusCode found =
            client_->ask<protocol::ResultReply>(Message::search_grid, search).header.status.code;
        protocol::CountGrid count{};
        count.boxes = search.boxes;
        count.results = search.results;
        count.capacity = search.capacity;
        count.blocks.all_visible = 1;
        count.runs = search.runs;
        std::copy(std::begin(search.run), std::end(search.run), std::begin(count.run));
        EXPECT_EQ(client_->ask<protocol::ResultReply>(Message::count_grid, count).header.status.code, found);
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
        EXPECT_EQ(client_->ask<protocol::ResultReply>(Message::search_grid, bad).header.status.code,
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
        return client_->ask<protocol::ResultReply>(Message::match_grid, match).header.status.code;
    };
    EXPECT_EQ(match_code(), StatusCode::ok);
    match.keys[1] = buffer_bytes - 16;
    EXPECT_EQ(match_code(), StatusCode::invalid_argument);
    match.keys[1] = protocol::nowhere;
    EXPECT_EQ(match_code(), StatusCode::invalid_argument);
    match.keys[1] = 0;
    match.key_bytes[1] = 4;
    EXPECT_EQ(match_code(), StatusCode::invalid_argument);

    // Sorted keys' questions to points.
    expect_lookups_refused(*client_, results);
    protocol::MergeKary merge{};
    merge.runs = 1;
    merge.run[0].name = run_name(1);
    EXPECT_EQ(client_->ask<protocol::HandleReply>(Message::merge_kary, merge).header.status.code,
              StatusCode::invalid_argument);
    EXPECT_EQ(code(good), StatusCode::ok);
}

TEST_P(ServerPoints, TellWhichRunsAreAbsentOrStale) {
    const Columns columns = {{false}, {0}};
    const Points points = make_points(columns, 100, false, random_);
    load(1, columns, points, 50);
    protocol::CountGrid request{};
    name_runs(&request, 2);
    request.boxes = place_boxes(make_boxes(points, 1, random_));
    request.results = results;
    request.capacity = 65536;
    request.blocks.all_visible = 1;
    const auto ask = [&] { return client_->ask<protocol::ResultReply>(Message::count_grid, request); };
    auto reply = ask();
    EXPECT_EQ(Client::answer_of(reply.header), Answer::not_resident);
    EXPECT_EQ(reply.header.lacking, 2U);
    request.runs = 1;
    reply = ask();
    EXPECT_EQ(Client::answer_of(reply.header), Answer::stale);
    EXPECT_EQ(reply.header.lacking, 1U);
    client_->set_dead(run_name(1), {}, 1);
    EXPECT_EQ(Client::answer_of(ask().header), Answer::done);
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
