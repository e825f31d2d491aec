// Inverted lists that are loaded from pages, and what is asked of them, against a plain reference.
#include "server_checks.h"
#include "server_text.h"

namespace {

using namespace server_test;

TEST_P(ServerText, AnswerAsTheReference) {
    std::vector<TextRun> runs;
    constexpr postings::Codec codecs[] = {postings::Codec::Bitpack, postings::Codec::PForDelta,
                                          postings::Codec::Rice};
    for (const std::uint32_t documents : {20000U, 905U, 906U, 3000U, 3U}) {
        runs.push_back(make_text_run(codecs[runs.size() % 3], documents, random_));
        load(runs.size(), runs.back());
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_EQ(Client::result_of(client_->set_dead(run_name(runs.size()), {}, runs.size())),
                  ReplyResult::done);
    }
    for (int round = 0; round < 3; ++round) {
        for (const std::size_t queries : {1U, 7U, 100U}) {
            check_search(runs, make_request(runs, queries));
            ASSERT_FALSE(HasFatalFailure());
        }
        check_lists(runs);
        ASSERT_FALSE(HasFatalFailure());
        if (round == 0) {
            for (std::size_t r = 0; r < runs.size(); r += 2) {
                kill_some(r + 1, &runs[r]);
            }
        }
    }
}

TEST_P(ServerText, ReportWhichRunsAreAbsentOrStale) {
    const TextRun run = make_text_run(postings::Codec::Bitpack, 1000, random_);
    load(1, run);
    const EngineRequest engine_request = make_request({run, run}, 1);
    expect_absent_and_stale(*client_, Message::search_text, place(engine_request));
    EXPECT_EQ(client_->list(Message::mirrors, 0, buffer_bytes).rows, 1U);
    EXPECT_EQ(client_->at<protocol::MirrorRow>(0)->kind, static_cast<std::uint32_t>(protocol::RunKind::text));
}

TEST_P(ServerText, RefuseWrongPages) {
    const TextRun run = make_text_run(postings::Codec::Bitpack, 20000, random_);
    const TextImages pages = pages_of(run);
    const std::size_t count = pages.size() / text_test::page_bytes;
    const std::size_t documents = run.document_pages().size() / text_test::page_bytes;
    ASSERT_GT(count, documents + 1);
    // Incomplete: pages are missing at either section's end.
    for (const std::size_t have : {documents - 1, documents, count - 1}) {
        const auto begun = client_->call<protocol::BeginReply>(Message::begin_text, beginning(1, run));
        ASSERT_NE(begun.handle, 0U);
        ASSERT_EQ(append(begun.handle, pages, 0, have).status.code, StatusCode::ok);
        EXPECT_EQ(client_->finish(begun.handle).header.status.code, StatusCode::invalid_argument);
    }
    const auto refused = [&](const TextImages &wrong, std::size_t first, std::size_t number) {
        const auto begun = client_->call<protocol::BeginReply>(Message::begin_text, beginning(1, run));
        EXPECT_NE(begun.handle, 0U);
        const StatusCode code = append(begun.handle, wrong, first, number).status.code;
        const bool ok =
            code == StatusCode::ok && client_->finish(begun.handle).header.status.code == StatusCode::ok;
        if (code != StatusCode::ok) {
            client_->drop(begun.handle);
        }
        client_->evict(run_name(1));
        return !ok;
    };
    TextImages wrong = pages;
    std::swap_ranges(wrong.begin() + text_test::first_byte, wrong.begin() + text_test::first_byte + 6,
                     wrong.begin() + text_test::first_byte + 600);
    EXPECT_TRUE(refused(wrong, 0, count)) << "TIDs descend";
    wrong = pages;
    wrong.insert(wrong.end(), pages.end() - text_test::page_bytes, pages.end());
    EXPECT_TRUE(refused(wrong, 0, count + 1)) << "a page too many";
    EXPECT_TRUE(refused(pages, 1, count - 1)) << "the first page is missing";
    protocol::BeginText begin = beginning(1, run);
    begin.posting_bytes = UINT64_MAX;
    EXPECT_NE(begin_code(begin), StatusCode::ok);
    begin = beginning(1, run);
    begin.codec = postings::kCodecs;
    EXPECT_EQ(begin_code(begin), StatusCode::invalid_argument);
    begin = beginning(1, run);
    begin.name = {};
    EXPECT_EQ(begin_code(begin), StatusCode::invalid_argument);
    for (const std::uint32_t content : {0U, 8U, 8193U, UINT32_MAX}) {
        begin = beginning(1, run);
        begin.content_bytes = content;
        const auto begun = client_->call<protocol::BeginReply>(Message::begin_text, begin);
        if (begun.handle != 0) {
            EXPECT_EQ(append(begun.handle, pages, 0, 1).status.code, StatusCode::invalid_argument) << content;
            client_->drop(begun.handle);
        }
    }
    load(1, run);
}

// Lists that lie: calls end with a status, and the server goes on.
TEST_P(ServerText, SurviveLyingLists) {
    std::vector<TextRun> runs;
    runs.push_back(make_text_run(postings::Codec::PForDelta, 4000, random_));
    EngineRequest engine_request = make_request(runs, 50);
    for (int round = 0; round < 60; ++round) {
        TextRun lying = runs[0];
        for (int i = 0; i < 20; ++i) {
            lying.bytes()[random_() % lying.bytes().size()] ^= static_cast<std::uint8_t>(1 << random_() % 8);
        }
        load(1, lying);
        ASSERT_FALSE(HasFatalFailure());
        client_->set_dead(run_name(1), {}, 1);
        const auto reply = client_->call<protocol::ResultReply>(Message::search_text, place(engine_request));
        EXPECT_TRUE(reply.header.status.ok() || reply.header.status.code == StatusCode::invalid_argument)
            << reply.header.status.message;
        client_->evict(run_name(1));
    }
    load(1, runs[0]);
    client_->set_dead(run_name(1), {}, 1);
    check_search(runs, engine_request);
}

TEST_P(ServerText, RefuseWrongRequests) {
    std::vector<TextRun> runs;
    runs.push_back(make_text_run(postings::Codec::Rice, 2000, random_));
    load(1, runs[0]);
    client_->set_dead(run_name(1), {}, 1);
    ASSERT_EQ(client_->load<std::uint32_t>(run_name(2), {1, 2}, {make_tid(1, 1), make_tid(1, 2)}),
              ReplyResult::done);
    const EngineRequest engine_request = make_request(runs, 20);
    const auto code = [&](const protocol::SearchText &request) {
        return client_->call<protocol::ResultReply>(Message::search_text, request).header.status.code;
    };
    const protocol::SearchText good = place(engine_request);
    ASSERT_EQ(code(good), StatusCode::ok);
    const auto with = [&](auto change) {
        protocol::SearchText bad = good;
        change(bad);
        return code(bad);
    };
    EXPECT_EQ(with([](auto &bad) {
                  bad.run[0] = {run_name(2), 0};
              }),
              StatusCode::invalid_argument)
        << "lists in sorted keys";
    EXPECT_EQ(with([](auto &bad) { bad.runs = protocol::max_runs + 1; }), StatusCode::invalid_argument);
    EXPECT_EQ(with([](auto &bad) { bad.first_term[0] = bad.first_term[1] + 1; }),
              StatusCode::invalid_argument);
    EXPECT_EQ(with([](auto &bad) { bad.first_term[1]--; }), StatusCode::invalid_argument) << "a term less";
    for (const std::uint64_t value : {buffer_bytes, buffer_bytes - 16, std::uint64_t(8), UINT64_MAX - 15,
                                      std::uint64_t(1) << 63, UINT64_MAX / 32 + 1}) {
        EXPECT_EQ(with([&](auto &bad) { bad.queries = value; }), StatusCode::invalid_argument) << value;
        EXPECT_EQ(with([&](auto &bad) { bad.terms = value; }), StatusCode::invalid_argument) << value;
        EXPECT_EQ(with([&](auto &bad) { bad.steps = value; }), StatusCode::invalid_argument) << value;
        EXPECT_EQ(with([&](auto &bad) { bad.step_count = value == 8 ? UINT64_MAX : value; }),
                  StatusCode::invalid_argument)
            << value;
        EXPECT_EQ(with([&](auto &bad) { bad.count = value == 8 ? UINT64_MAX : value; }),
                  StatusCode::invalid_argument)
            << value;
        EXPECT_EQ(with([&](auto &bad) { bad.results = value; }), StatusCode::invalid_argument) << value;
    }
    for (const double value : {-1.0, 0.0 / 0.0, 1e300 * 1e300}) {
        EXPECT_EQ(with([&](auto &bad) { bad.norms.base = value; }), StatusCode::invalid_argument) << value;
        EXPECT_EQ(with([&](auto &bad) { bad.norms.slope = value; }), StatusCode::invalid_argument) << value;
    }
    EXPECT_EQ(with([](auto &bad) { bad.shrink[0] = 1.5; }), StatusCode::invalid_argument);
    const auto with_query = [&](auto change) {
        place(engine_request);
        change(client_->at<TextQuery>(good.queries)[3]);
        return code(good);
    };
    for (const std::uint32_t value : {0U, gpu_engine::max_text_hits + 1, UINT32_MAX}) {
        EXPECT_EQ(with_query([&](TextQuery &query) { query.k = value; }), StatusCode::invalid_argument)
            << value;
    }
    EXPECT_EQ(with_query([](TextQuery &query) { query.first_term = UINT32_MAX; }),
              StatusCode::invalid_argument);
    EXPECT_EQ(with_query([](TextQuery &query) { query.terms = UINT32_MAX; }), StatusCode::invalid_argument);
    EXPECT_EQ(with_query([](TextQuery &query) { query.mode = static_cast<TextMode>(7); }),
              StatusCode::invalid_argument);
    EXPECT_EQ(with_query([](TextQuery &query) {
                  query.mode = TextMode::steps;
                  query.first_step = 0;
                  query.steps = UINT32_MAX;
              }),
              StatusCode::invalid_argument);
    place(engine_request);
    client_->at<TextTerm>(good.terms)[0].weight = -1;
    EXPECT_EQ(code(good), StatusCode::invalid_argument);
    place(engine_request);
    client_->at<TextTerm>(good.terms)[0].list.offset = UINT64_MAX;
    client_->at<TextTerm>(good.terms)[0].list.documents = 2;
    EXPECT_EQ(code(good), StatusCode::invalid_argument);

    const std::vector<std::vector<TextList>> lists = {{runs[0].list(0), runs[0].list(1)}};
    const auto intersect = place_lists<protocol::IntersectText>(lists);
    const auto intersect_code = [&](const protocol::IntersectText &request) {
        return client_->call<protocol::ResultReply>(Message::intersect_text, request).header.status.code;
    };
    EXPECT_EQ(intersect_code(intersect), StatusCode::ok);
    auto none = intersect;
    none.lists.first[1] = 0;
    EXPECT_EQ(intersect_code(none), StatusCode::invalid_argument) << "no list at all";
    auto disorder = intersect;
    disorder.lists.first[0] = 3;
    EXPECT_EQ(intersect_code(disorder), StatusCode::invalid_argument);
    auto outside = intersect;
    outside.lists.lists = buffer_bytes - 16;
    EXPECT_EQ(intersect_code(outside), StatusCode::invalid_argument);
    place(engine_request);
    EXPECT_EQ(code(good), StatusCode::ok);
}

// An index that does not fit is refused, and what is there stays; least recently used ones make room.
TEST_P(ServerText, KeepWithinTheLimitOfMemory) {
    if (has_several_engines()) {
        GTEST_SKIP() << "the test is of one engine";
    }
    limit_memory(*client_, GetParam(), 4 << 20);
    const TextRun run = make_text_run(postings::Codec::Bitpack, 20000, random_);
    load(1, run);
    protocol::BeginText large = beginning(2, run);
    large.posting_bytes = 8 << 20;
    EXPECT_EQ(begin_code(large), StatusCode::out_of_memory);
    EXPECT_EQ(client_->list(Message::mirrors, 0, buffer_bytes).rows, 1U);
    for (std::uint64_t number = 2; number < 20; ++number) {
        load(number, run);
        ASSERT_FALSE(HasFatalFailure());
    }
    expect_first_made_room(*client_, GetParam(), 19, 4 << 20);
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerText, every_engine(), engine_of);

}  // namespace
