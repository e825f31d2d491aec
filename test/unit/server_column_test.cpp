// Columns that are loaded from pages, and what is asked of them, through the server.
#include <map>

#include "heap_facts.h"
#include "server_checks.h"
#include "server_columns.h"

namespace {

using namespace server_test;
using column_test::ColumnRun;
using column_test::Random;
using gpu_engine::TargetKind;
using gpu_engine::TestKind;
using gpu_engine::UnresolvedRow;
using gpu_engine::ValueRange;

class ServerColumns : public ServerColumnsTest {
  protected:
    ServerColumns() : ServerColumnsTest(buffer_bytes) {}

    static constexpr std::uint64_t buffer_bytes = 8 << 20;
    static constexpr std::uint64_t data = 1 << 20;  // of tests
    static constexpr std::uint64_t starts = 2 << 20;
    static constexpr std::uint64_t facts_at = 3 << 20;
    static constexpr std::uint64_t results = 4 << 20;
    static constexpr std::uint64_t known_blocks = 301;

    // A request to runs 1 to `count`; rows of all blocks are trusted.
    static protocol::QueryColumn engine_request(std::uint32_t count) {
        protocol::QueryColumn request{};
        request.target = static_cast<std::uint32_t>(TargetKind::rows);
        request.blocks.all_visible = 1;
        request.results = results;
        request.capacity = buffer_bytes - results;
        request.starts = starts;
        request.runs = count;
        for (std::uint32_t i = 0; i < count; ++i) {
            request.run[i] = {run_name(i + 1), i + 1};
        }
        return request;
    }
    // Two runs' rows with a value of column 0 from 1100 to 1400, and of column 2 one of the codes: even ones
    // in the first run, in the second those up to 9.
    void add_tests(protocol::QueryColumn *request) {
        auto *places = client_->at<protocol::ColumnTestPlace>(0);
        places[0] = {static_cast<std::uint32_t>(TestKind::ranges), 0, protocol::all_runs, 0, data, 1};
        places[1] = {static_cast<std::uint32_t>(TestKind::codes), 2, 0, 0, data + 16, 1};
        places[2] = {static_cast<std::uint32_t>(TestKind::codes), 2, 1, 0, data + 32, 1};
        *client_->at<ValueRange>(data) = {1100, 1400};
        *client_->at<std::uint64_t>(data + 16) = 0x5555555555555555;
        *client_->at<std::uint64_t>(data + 32) = 0x3ff;
        request->tests = 0;
        request->test_count = 3;
    }
    static bool passes(const ColumnRun &run, const std::vector<std::uint64_t> &codes, std::size_t row,
                       std::size_t number) {
        const auto &value = run.columns[0].values[row];
        return !run.is_dead(row) && value && *value >= 1100 && *value <= 1400 && run.columns[2].values[row] &&
               (number == 0 ? codes[row] % 2 == 0 : codes[row] < 10);
    }
    protocol::ColumnReply call(Message type, const protocol::QueryColumn &request) {
        return client_->call<protocol::ColumnReply>(type, request);
    }
    // Room for the result exactly, and less than that.
    void check_room(Message type, protocol::QueryColumn request, std::uint64_t needed) {
        request.capacity = needed;
        EXPECT_EQ(Client::result_of(call(type, request).header), ReplyResult::done);
        request.capacity -= 16;
        const auto small = call(type, request);
        EXPECT_EQ(small.header.status.code, StatusCode::insufficient_space);
        EXPECT_EQ(small.needed, needed);
    }
};

TEST_P(ServerColumns, AnswersEqualAPlainReference) {
    std::vector<ColumnRun> runs;
    std::vector<column_test::Pages> pages;
    std::vector<std::vector<std::uint64_t>> codes;
    for (const std::size_t rows : {20000, 3000}) {
        runs.push_back(column_test::make_run(rows, random_));
        pages.push_back(column_test::make_pages(runs.back()));
        codes.push_back(codes_of(runs.back().columns[2], pages.back().layout.column[2]));
        load(runs.size(), pages.back());
        ASSERT_FALSE(HasFatalFailure());
        const std::vector<std::uint64_t> dead = column_test::kill_some(&runs.back(), random_);
        ASSERT_EQ(Client::result_of(client_->set_dead(run_name(runs.size()), dead, runs.size())),
                  ReplyResult::done);
    }
    heap_facts::HeapFacts facts = heap_facts::HeapFacts::random(known_blocks, random_);

    protocol::QueryColumn request = engine_request(2);
    add_tests(&request);
    const auto matched = call(Message::match_column, request);
    ASSERT_EQ(Client::result_of(matched.header), ReplyResult::done) << matched.header.status.message;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < 2; ++i) {
        std::vector<std::uint64_t> expected;
        for (std::size_t row = 0; row < runs[i].rows(); ++row) {
            if (passes(runs[i], codes[i], row, i)) {
                expected.push_back(runs[i].places[row]);
            }
        }
        total += expected.size();
        std::vector<std::uint64_t> places;
        for (std::uint64_t j = 0; j < matched.found[i]; ++j) {
            places.push_back(column_test::place_of(client_->at<Tid>(matched.found_at[i])[j]));
        }
        std::sort(places.begin(), places.end());
        EXPECT_EQ(places, expected) << "run " << i;
    }
    EXPECT_EQ(matched.rows, total);
    EXPECT_GT(total, 0U);
    check_room(Message::match_column, request, matched.needed);

    // Counts column 3's values below and above its middle for the rows that are known, and returns the
    // unknown rows.
    request.target = static_cast<std::uint32_t>(TargetKind::bins);
    request.column = 3;
    request.slots = 2;
    request.blocks = facts.place(client_->buffer(), facts_at);
    const std::uint64_t middle = (std::uint64_t(1) << 63) + (1 << 28);
    *client_->at<std::uint64_t>(starts) = middle;
    const auto counted = call(Message::count_column_values, request);
    ASSERT_EQ(Client::result_of(counted.header), ReplyResult::done) << counted.header.status.message;
    for (std::size_t i = 0; i < 2; ++i) {
        std::vector<std::uint64_t> expected(3);
        std::vector<std::pair<std::uint64_t, std::uint64_t>> unresolved;
        for (std::size_t row = 0; row < runs[i].rows(); ++row) {
            if (!passes(runs[i], codes[i], row, i)) {
                continue;
            }
            const auto &value = runs[i].columns[3].values[row];
            const std::uint64_t slot = !value ? 2 : *value >= middle ? 1 : 0;
            const heap_facts::Visibility result = facts.of(runs[i].places[row]);
            expected[slot] += result == heap_facts::Visibility::visible ? 1 : 0;
            if (result == heap_facts::Visibility::unknown) {
                unresolved.emplace_back(runs[i].places[row], slot);
            }
        }
        const auto *counts = client_->at<std::uint64_t>(counted.counts_at[i]);
        EXPECT_EQ(std::vector<std::uint64_t>(counts, counts + 3), expected) << "run " << i;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> reported;
        for (std::uint64_t j = 0; j < counted.found[i]; ++j) {
            const UnresolvedRow &row = client_->at<UnresolvedRow>(counted.found_at[i])[j];
            reported.emplace_back(column_test::place_of(row.tid), row.number);
        }
        std::sort(reported.begin(), reported.end());
        EXPECT_EQ(reported, unresolved) << "run " << i;
    }
    check_room(Message::count_column_values, request, counted.needed);

    request = engine_request(2);
    const auto rows = call(Message::count_column, request);
    ASSERT_EQ(Client::result_of(rows.header), ReplyResult::done);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(*client_->at<std::uint64_t>(rows.counts_at[i]),
                  static_cast<std::uint64_t>(std::count(runs[i].dead.begin(), runs[i].dead.end(), false)));
        EXPECT_EQ(rows.found[i], 0U);
    }
    const auto mirrors = client_->list(Message::mirrors, 0, buffer_bytes);
    std::map<std::uint64_t, std::uint64_t> listed;
    for (std::size_t i = 0; i < mirrors.rows; ++i) {
        const protocol::MirrorRow &row = client_->at<protocol::MirrorRow>(0)[i];
        EXPECT_EQ(row.kind, static_cast<std::uint32_t>(protocol::RunKind::column));
        EXPECT_EQ(row.parts, server_->engines().of(GetParam()).size());
        listed[row.name.run] += row.entries;
    }
    EXPECT_EQ(listed, (std::map<std::uint64_t, std::uint64_t>{{1, 20000}, {2, 3000}}));
}

TEST_P(ServerColumns, ReportWhichRunsAreAbsentOrStale) {
    const ColumnRun run = column_test::make_run(100, random_);
    load(1, column_test::make_pages(run));
    auto reply = call(Message::count_column, engine_request(2));
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::not_resident);
    EXPECT_EQ(reply.header.lacking, 2U);
    reply = call(Message::match_column, engine_request(1));
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::stale);
    EXPECT_EQ(reply.header.lacking, 1U);
    client_->set_dead(run_name(1), {}, 1);
    EXPECT_EQ(Client::result_of(call(Message::match_column, engine_request(1)).header), ReplyResult::done);
}

TEST_P(ServerColumns, RefuseWhatCantBe) {
    const ColumnRun run = column_test::make_run(1000, random_);
    const column_test::Pages pages = column_test::make_pages(run);
    const auto code_of_begin = [&](auto change) {
        protocol::BeginColumn request = beginning(1, pages);
        change(request);
        return begin(request).header.status.code;
    };
    EXPECT_EQ(code_of_begin([](protocol::BeginColumn &request) { request.name = {}; }),
              StatusCode::invalid_argument);
    EXPECT_EQ(code_of_begin([](protocol::BeginColumn &request) { request.layout.columns = 99; }),
              StatusCode::invalid_argument);
    EXPECT_EQ(code_of_begin([](protocol::BeginColumn &request) { request.layout.rows = 0; }),
              StatusCode::invalid_argument);

    // Pages that can't belong to the store that is being loaded.
    const auto begun = begin(beginning(1, pages));
    ASSERT_EQ(Client::result_of(begun.header), ReplyResult::done);
    EXPECT_EQ(client_->append<std::uint32_t>(begun.handle, {1}, {make_tid(1, 1)}).status.code,
              StatusCode::invalid_argument);
    protocol::AppendPages append_request{};
    append_request.handle = begun.handle;
    append_request.pages = 1;
    append_request.layout.page_bytes = 4096;
    EXPECT_EQ(client_->call<protocol::ReplyHeader>(Message::append_pages, append_request).status.code,
              StatusCode::invalid_argument);
    EXPECT_EQ(append(begun.handle, pages, 1, 1).status.code, StatusCode::invalid_argument)
        << "not the first page";
    EXPECT_EQ(client_->finish(begun.handle).header.status.code, StatusCode::invalid_argument);

    load(1, pages);
    protocol::QueryColumn good = engine_request(1);
    good.run[0].dead_version = 0;
    const auto code = [&](const protocol::QueryColumn &request, Message type = Message::count_column_values) {
        return call(type, request).header.status.code;
    };
    add_tests(&good);
    good.test_count = 2;
    EXPECT_EQ(code(good), StatusCode::ok);
    const auto refused = [&](auto change) {
        protocol::QueryColumn request = good;
        change(request);
        return code(request) == StatusCode::invalid_argument;
    };
    EXPECT_TRUE(refused([](protocol::QueryColumn &request) { request.runs = protocol::max_runs + 1; }));
    EXPECT_TRUE(
        refused([](protocol::QueryColumn &request) { request.test_count = protocol::max_tests + 1; }));
    EXPECT_TRUE(refused([](protocol::QueryColumn &request) { request.target = 77; }));
    for (const std::uint64_t offset :
         {buffer_bytes, std::uint64_t(1) << 63, UINT64_MAX - 15, std::uint64_t(17)}) {
        EXPECT_TRUE(refused([&](protocol::QueryColumn &request) { request.tests = offset; })) << offset;
        EXPECT_TRUE(refused([&](protocol::QueryColumn &request) { request.results = offset; })) << offset;
        EXPECT_TRUE(refused([&](protocol::QueryColumn &request) {
            request.blocks = {offset, 1, 0, 0, 1, 0};
        })) << offset;
        EXPECT_TRUE(refused([&](protocol::QueryColumn &request) {
            request.blocks = {0, 1, offset, 1, 1, 0};
        })) << offset;
        EXPECT_TRUE(refused([&](protocol::QueryColumn &request) {
            request.blocks = {0, 0, 0, offset == 17 ? buffer_bytes : offset, 1, 0};
        })) << offset;
        EXPECT_TRUE(refused([&](protocol::QueryColumn &request) {
            request.target = static_cast<std::uint32_t>(TargetKind::bins);
            request.slots = 3;
            request.starts = offset;
        })) << offset;
        auto *place = client_->at<protocol::ColumnTestPlace>(0);
        const protocol::ColumnTestPlace honest = *place;
        place->offset = offset;
        EXPECT_EQ(code(good, Message::match_column), StatusCode::invalid_argument) << offset;
        *place = honest;
        place->count = offset;
        EXPECT_EQ(code(good, Message::match_column), StatusCode::invalid_argument) << offset;
        *place = honest;
    }
    EXPECT_TRUE(
        refused([](protocol::QueryColumn &request) { request.blocks = {0, UINT64_MAX, 0, 0, 1, 0}; }));
    EXPECT_TRUE(refused([](protocol::QueryColumn &request) {
        request.blocks = {0, 1, 0, 1, gpu_engine::KnownBlocks::max_row_words + 1, 0};
    }));
    EXPECT_TRUE(
        refused([](protocol::QueryColumn &request) { request.blocks = {0, 1, 0, 1, UINT32_MAX, 0}; }));
    EXPECT_TRUE(refused([](protocol::QueryColumn &request) {
        request.target = static_cast<std::uint32_t>(TargetKind::bins);
        request.slots = 0;
    }));

    // Requests of other kinds to a mirror of columns.
    expect_lookups_refused(*client_, results);
    protocol::CountGrid boxes{};
    boxes.runs = 1;
    boxes.run[0].name = run_name(1);
    EXPECT_EQ(client_->call<protocol::ResultReply>(Message::count_grid, boxes).header.status.code,
              StatusCode::invalid_argument);
    EXPECT_EQ(code(good), StatusCode::ok);
}

TEST_P(ServerColumns, MergeDictionaries) {
    for (const std::uint64_t counts : {0, 1, 1000, 50000}) {
        std::set<std::uint64_t> main;
        std::set<std::uint64_t> delta;
        for (std::uint64_t i = 0; i < counts; ++i) {
            main.insert(random_() % (counts * 3));
            delta.insert(i % 10 == 0 ? random_() : random_() % (counts * 3));
        }
        protocol::MergeColumnDictionaries request{};
        request.main_count = main.size();
        request.delta_count = delta.size();
        request.delta = 1 << 20;
        request.entries = 2 << 20;
        request.main_map = 4 << 20;
        request.delta_map = 5 << 20;
        std::copy(main.begin(), main.end(), client_->at<std::uint64_t>(0));
        std::copy(delta.begin(), delta.end(), client_->at<std::uint64_t>(request.delta));
        const auto reply = client_->call<protocol::MergeColumnDictionariesReply>(
            Message::merge_column_dictionaries, request);
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        std::set<std::uint64_t> both = main;
        both.insert(delta.begin(), delta.end());
        const auto *entries = client_->at<std::uint64_t>(request.entries);
        ASSERT_EQ(std::vector<std::uint64_t>(entries, entries + reply.count),
                  std::vector<std::uint64_t>(both.begin(), both.end()));
        const auto check_map = [&](const std::set<std::uint64_t> &from, std::uint64_t map) {
            std::size_t i = 0;
            for (const std::uint64_t entry : from) {
                const std::uint32_t code = client_->at<std::uint32_t>(map)[i++];
                ASSERT_LT(code, reply.count);
                ASSERT_EQ(entries[code], entry);
            }
        };
        check_map(main, request.main_map);
        check_map(delta, request.delta_map);
        for (std::uint64_t protocol::MergeColumnDictionaries::*part :
             {&protocol::MergeColumnDictionaries::main, &protocol::MergeColumnDictionaries::main_count,
              &protocol::MergeColumnDictionaries::delta, &protocol::MergeColumnDictionaries::delta_count,
              &protocol::MergeColumnDictionaries::entries, &protocol::MergeColumnDictionaries::main_map,
              &protocol::MergeColumnDictionaries::delta_map}) {
            for (const std::uint64_t value : {buffer_bytes + 16, UINT64_MAX - 15, std::uint64_t(1) << 62}) {
                protocol::MergeColumnDictionaries bad = request;
                bad.*part = value;
                EXPECT_EQ(client_
                              ->call<protocol::MergeColumnDictionariesReply>(
                                  Message::merge_column_dictionaries, bad)
                              .header.status.code,
                          StatusCode::invalid_argument);
            }
        }
    }
}

TEST_P(ServerColumns, KeepWithinTheLimitOfMemory) {
    if (has_several_engines()) {
        GTEST_SKIP() << "the test is of one engine";
    }
    const column_test::Pages pages = column_test::make_pages(column_test::make_run(20000, random_));
    const column_test::Pages large = column_test::make_pages(column_test::make_run(400000, random_));
    limit_memory(*client_, GetParam(), 4 << 20);
    load(1, pages);
    EXPECT_EQ(begin(beginning(2, large)).header.status.code, StatusCode::out_of_memory);
    EXPECT_EQ(client_->list(Message::mirrors, 0, buffer_bytes).rows, 1U);
    for (std::uint64_t run = 2; run < 12; ++run) {
        load(run, pages);
        ASSERT_FALSE(HasFatalFailure());
    }
    expect_first_made_room(*client_, GetParam(), 9, 4 << 20);
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerColumns, every_engine(), engine_of);

}  // namespace
