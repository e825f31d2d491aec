// Inverted lists that are loaded from pages, and what is asked of them, against a plain reference.
#include <set>

#include "server_runs.h"
#include "text_run.h"

namespace {

using namespace server_test;
namespace postings = gpu_engine::postings;
using gpu_engine::TextHit;
using gpu_engine::TextList;
using gpu_engine::TextMode;
using gpu_engine::TextQuery;
using gpu_engine::TextTerm;
using text_test::Postings;
using text_test::TextRun;
using Random = std::mt19937_64;
using Pages = std::vector<char>;

// A run of lists that grow shorter, the first of which has every document.
TextRun make_text_run(postings::Codec codec, std::uint32_t documents, Random &random) {
    TextRun run(codec, documents);
    for (std::uint32_t rarity = 1; rarity < 2 * documents; rarity *= 3) {
        Postings list;
        for (std::uint32_t i = random() % rarity % documents; i < documents;
             i += 1 + random() % (2 * rarity)) {
            list.push_back({i, static_cast<std::uint32_t>(1 + (random() % 40 == 0 ? random() % 500 : 0))});
        }
        run.add(list);
    }
    return run;
}

// A question to several runs: each has its own terms and its own queries.
struct Question {
    std::vector<std::vector<TextTerm>> terms;
    std::vector<std::vector<TextQuery>> queries;
};

class ServerText : public testing::TestWithParam<EngineName> {
  protected:
    static constexpr std::uint64_t buffer_bytes = 16 << 20;
    static constexpr std::uint64_t results = 8 << 20;

    void SetUp() override {
        if (!server_.has(GetParam())) {
            GTEST_SKIP() << "no such engine here";
        }
        client_ = std::make_unique<Client>(server_.path(), GetParam());
        ASSERT_EQ(Client::answer_of(client_->attach(buffer_bytes)), Answer::done);
    }

    static protocol::BeginText beginning(std::uint64_t number, const TextRun &run) {
        protocol::BeginText begin{};
        begin.name = run_name(number);
        begin.posting_bytes = run.shape().posting_bytes;
        begin.documents = run.documents();
        begin.codec = static_cast<std::uint32_t>(run.shape().codec);
        begin.content_bytes = text_test::content_bytes;
        begin.user = 10;
        return begin;
    }
    StatusCode begin_code(const protocol::BeginText &begin) {
        const auto begun = client_->ask<protocol::BeginArrayReply>(Message::begin_text, begin);
        if (begun.handle != 0) {
            client_->drop_array(begun.handle);
        }
        return begun.header.status.code;
    }
    // All pages of a run, as they are numbered.
    static Pages pages_of(const TextRun &run) {
        Pages pages = run.document_pages();
        const Pages lists = run.posting_pages();
        pages.insert(pages.end(), lists.begin(), lists.end());
        return pages;
    }
    protocol::ReplyHeader append(std::uint64_t handle, const Pages &pages, std::size_t first,
                                 std::size_t count) {
        protocol::AppendPages message{};
        message.handle = handle;
        message.first_page = static_cast<std::uint32_t>(first);
        message.pages = static_cast<std::uint32_t>(count);
        message.layout = {text_test::page_bytes, text_test::first_byte, 0, 0};
        std::memcpy(client_->buffer(), pages.data() + first * text_test::page_bytes,
                    count * text_test::page_bytes);
        return client_->ask<protocol::ReplyHeader>(Message::append_pages, message);
    }
    void load(std::uint64_t number, const TextRun &run) {
        const auto begun =
            client_->ask<protocol::BeginArrayReply>(Message::begin_text, beginning(number, run));
        ASSERT_EQ(Client::answer_of(begun.header), Answer::done) << begun.header.status.message;
        ASSERT_NE(begun.handle, 0U);
        const Pages pages = pages_of(run);
        const std::size_t count = pages.size() / text_test::page_bytes;
        for (std::size_t first = 0; first < count;) {
            const std::size_t some = std::min<std::size_t>(1 + random_() % 60, count - first);
            const protocol::ReplyHeader reply = append(begun.handle, pages, first, some);
            ASSERT_EQ(Client::answer_of(reply), Answer::done) << reply.status.message;
            first += some;
        }
        const protocol::ArrayReply finished = client_->finish_array(begun.handle);
        ASSERT_EQ(Client::answer_of(finished.header), Answer::done) << finished.header.status.message;
        EXPECT_EQ(finished.entries, run.documents());
        EXPECT_GE(finished.bytes, run.shape().posting_bytes + 9 * std::uint64_t(run.documents()));
    }
    void kill_some(std::uint64_t number, TextRun *run) {
        run->dead.assign(run->documents(), false);
        for (std::uint32_t i = 0; i < run->documents(); ++i) {
            run->dead[i] = random_() % 5 == 0;
        }
        ASSERT_EQ(Client::answer_of(client_->set_dead(run_name(number), run->dead_bitmap(), number)),
                  Answer::done);
    }
    template <typename Request>
    static void name_runs(Request *request, std::size_t count) {
        request->runs = static_cast<std::uint32_t>(count);
        for (std::size_t i = 0; i < count; ++i) {
            request->run[i] = {run_name(i + 1), i + 1};
        }
    }

    // Of the same queries as far as k and the place to go on go; each run has some of the terms.
    Question make_question(const std::vector<TextRun> &runs, std::size_t count) {
        Question question;
        question.terms.resize(runs.size());
        question.queries.resize(runs.size());
        for (std::size_t i = 0; i < count; ++i) {
            TextQuery query{};
            query.mode = random_() % 2 == 0 ? TextMode::all : TextMode::any;
            query.k =
                static_cast<std::uint32_t>(1 + (random_() % 8 == 0 ? random_() % 3000 : random_() % 20));
            if (random_() % 3 == 0) {
                query.resumes = 1;
                query.score = static_cast<std::int64_t>(random_() % (std::uint64_t(3) << 32));
                query.tid = runs[0].tids[random_() % runs[0].documents()];
            }
            for (std::size_t r = 0; r < runs.size(); ++r) {
                std::set<std::size_t> lists;
                for (std::size_t n = random_() % 5; n > 0; --n) {
                    lists.insert(random_() % runs[r].lists());
                }
                query.first_term = static_cast<std::uint32_t>(question.terms[r].size());
                query.terms = static_cast<std::uint32_t>(lists.size());
                for (const std::size_t list : lists) {
                    const double idf = 0.01 + static_cast<double>(random_() % 1000) / 100;
                    question.terms[r].push_back({runs[r].list(list), idf / postings::kScoreUnit});
                }
                question.queries[r].push_back(query);
            }
        }
        return question;
    }
    template <typename Element>
    std::uint64_t put(std::uint64_t *at, const std::vector<Element> &elements) {
        const std::uint64_t began = *at;
        std::memcpy(client_->buffer() + began, elements.data(), elements.size() * sizeof(Element));
        *at += (elements.size() * sizeof(Element) + 15) / 16 * 16;
        return began;
    }
    protocol::SearchText place(const Question &question) {
        protocol::SearchText request{};
        name_runs(&request, question.queries.size());
        std::vector<TextQuery> queries;
        std::vector<TextTerm> terms;
        for (std::size_t r = 0; r < question.queries.size(); ++r) {
            queries.insert(queries.end(), question.queries[r].begin(), question.queries[r].end());
            terms.insert(terms.end(), question.terms[r].begin(), question.terms[r].end());
            request.first_term[r + 1] = static_cast<std::uint32_t>(terms.size());
            request.shrink[r] = r % 2 == 0 ? 1 : -1;
        }
        std::uint64_t at = 0;
        request.queries = put(&at, queries);
        request.terms = put(&at, terms);
        request.count = question.queries[0].size();
        request.norms = {0.3, 0.02};
        request.results = results;
        request.capacity = buffer_bytes - results;
        return request;
    }
    void check_search(const std::vector<TextRun> &runs, const Question &question) {
        protocol::SearchText request = place(question);
        const auto reply = client_->ask<protocol::ResultReply>(Message::search_text, request);
        ASSERT_EQ(Client::answer_of(reply.header), Answer::done) << reply.header.status.message;
        for (std::size_t r = 0; r < runs.size(); ++r) {
            const auto *counts = client_->at<std::uint32_t>(reply.offsets_at[r]);
            const auto *hits = client_->at<TextHit>(reply.tids_at[r]);
            for (std::size_t i = 0; i < question.queries[r].size(); ++i) {
                const TextQuery &query = question.queries[r][i];
                const std::vector<TextHit> expected =
                    runs[r].search(request.norms, question.terms[r].data(), query);
                ASSERT_EQ(counts[i], expected.size()) << "run " << r << ", query " << i;
                for (std::size_t j = 0; j < expected.size(); ++j) {
                    ASSERT_EQ(hits[j].score, expected[j].score)
                        << "run " << r << ", query " << i << ", " << j;
                    ASSERT_EQ(hits[j].tid, expected[j].tid) << "run " << r << ", query " << i << ", " << j;
                }
                hits += query.k;
            }
        }
        // Room for the answer exactly, and less than that.
        request.capacity = reply.needed;
        EXPECT_EQ(
            Client::answer_of(client_->ask<protocol::ResultReply>(Message::search_text, request).header),
            Answer::done);
        request.capacity -= 16;
        const auto small = client_->ask<protocol::ResultReply>(Message::search_text, request);
        EXPECT_EQ(small.header.status.code, StatusCode::insufficient_space);
        EXPECT_EQ(small.needed, reply.needed);
    }
    template <typename Request>
    Request place_lists(const std::vector<std::vector<TextList>> &lists) {
        Request request{};
        name_runs(&request, lists.size());
        std::vector<TextList> all;
        for (std::size_t r = 0; r < lists.size(); ++r) {
            all.insert(all.end(), lists[r].begin(), lists[r].end());
            request.lists.first[r + 1] = static_cast<std::uint32_t>(all.size());
        }
        std::uint64_t at = 0;
        request.lists.lists = put(&at, all);
        request.results = results;
        request.capacity = buffer_bytes - results;
        return request;
    }
    void check_lists(const std::vector<TextRun> &runs) {
        std::vector<std::vector<TextList>> all(runs.size());
        std::vector<std::vector<TextList>> some(runs.size());
        for (std::size_t r = 0; r < runs.size(); ++r) {
            for (std::size_t i = 0; i < runs[r].lists(); ++i) {
                all[r].push_back(runs[r].list(i));
            }
            const std::size_t first = random_() % (runs[r].lists() - 1);
            some[r] = {runs[r].list(first), runs[r].list(first + 1)};
        }
        const auto counted =
            client_->ask<protocol::ResultReply>(Message::count_text, place_lists<protocol::CountText>(all));
        ASSERT_EQ(Client::answer_of(counted.header), Answer::done) << counted.header.status.message;
        const auto *documents = client_->at<std::uint32_t>(counted.offsets_at[0]);
        for (std::size_t r = 0; r < runs.size(); ++r) {
            for (const TextList &list : all[r]) {
                ASSERT_EQ(*documents++, runs[r].intersect({list}).size()) << "run " << r;
            }
        }
        auto request = place_lists<protocol::IntersectText>(some);
        const auto found = client_->ask<protocol::ResultReply>(Message::intersect_text, request);
        ASSERT_EQ(Client::answer_of(found.header), Answer::done) << found.header.status.message;
        for (std::size_t r = 0; r < runs.size(); ++r) {
            const std::vector<std::uint32_t> expected = runs[r].intersect(some[r]);
            const auto *offsets = client_->at<std::uint64_t>(found.offsets_at[r]);
            const auto *tids = client_->at<Tid>(found.tids_at[r]);
            ASSERT_EQ(offsets[0], 0U);
            ASSERT_EQ(offsets[1], expected.size()) << "run " << r;
            for (std::size_t i = 0; i < expected.size(); ++i) {
                ASSERT_EQ(tids[i], runs[r].tids[expected[i]]) << "run " << r << ", " << i;
            }
        }
        request.capacity = found.needed;
        EXPECT_EQ(
            Client::answer_of(client_->ask<protocol::ResultReply>(Message::intersect_text, request).header),
            Answer::done);
        request.capacity -= 16;
        const auto small = client_->ask<protocol::ResultReply>(Message::intersect_text, request);
        EXPECT_EQ(small.header.status.code, StatusCode::insufficient_space);
        EXPECT_EQ(small.needed, found.needed);
    }

    ServerUnderTest server_;
    std::unique_ptr<Client> client_;
    Random random_{20261121};
};

TEST_P(ServerText, AnswerAsTheReference) {
    std::vector<TextRun> runs;
    constexpr postings::Codec codecs[] = {postings::Codec::Bitpack, postings::Codec::PForDelta,
                                          postings::Codec::Rice};
    for (const std::uint32_t documents : {20000U, 905U, 906U, 3000U, 3U}) {
        runs.push_back(make_text_run(codecs[runs.size() % 3], documents, random_));
        load(runs.size(), runs.back());
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_EQ(Client::answer_of(client_->set_dead(run_name(runs.size()), {}, runs.size())), Answer::done);
    }
    for (int round = 0; round < 3; ++round) {
        for (const std::size_t queries : {1U, 7U, 100U}) {
            check_search(runs, make_question(runs, queries));
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

TEST_P(ServerText, TellWhichRunsAreAbsentOrStale) {
    const TextRun run = make_text_run(postings::Codec::Bitpack, 1000, random_);
    load(1, run);
    const Question question = make_question({run, run}, 1);
    protocol::SearchText request = place(question);
    const auto ask = [&] { return client_->ask<protocol::ResultReply>(Message::search_text, request); };
    auto reply = ask();
    EXPECT_EQ(Client::answer_of(reply.header), Answer::not_resident);
    EXPECT_EQ(reply.header.lacking, 2U);
    request.runs = 1;
    reply = ask();
    EXPECT_EQ(Client::answer_of(reply.header), Answer::stale);
    EXPECT_EQ(reply.header.lacking, 1U);
    client_->set_dead(run_name(1), {}, 1);
    EXPECT_EQ(Client::answer_of(ask().header), Answer::done);
    EXPECT_EQ(client_->list(Message::mirrors, 0, buffer_bytes).rows, 1U);
    EXPECT_EQ(client_->at<protocol::MirrorRow>(0)->kind, static_cast<std::uint32_t>(protocol::RunKind::text));
}

TEST_P(ServerText, RefuseWrongPages) {
    const TextRun run = make_text_run(postings::Codec::Bitpack, 20000, random_);
    const Pages pages = pages_of(run);
    const std::size_t count = pages.size() / text_test::page_bytes;
    const std::size_t documents = run.document_pages().size() / text_test::page_bytes;
    ASSERT_GT(count, documents + 1);
    // Incomplete: pages are missing at either section's end.
    for (const std::size_t have : {documents - 1, documents, count - 1}) {
        const auto begun = client_->ask<protocol::BeginArrayReply>(Message::begin_text, beginning(1, run));
        ASSERT_NE(begun.handle, 0U);
        ASSERT_EQ(append(begun.handle, pages, 0, have).status.code, StatusCode::ok);
        EXPECT_EQ(client_->finish_array(begun.handle).header.status.code, StatusCode::invalid_argument);
    }
    const auto refused = [&](const Pages &wrong, std::size_t first, std::size_t number) {
        const auto begun = client_->ask<protocol::BeginArrayReply>(Message::begin_text, beginning(1, run));
        EXPECT_NE(begun.handle, 0U);
        const StatusCode code = append(begun.handle, wrong, first, number).status.code;
        const bool ok = code == StatusCode::ok &&
                        client_->finish_array(begun.handle).header.status.code == StatusCode::ok;
        if (code != StatusCode::ok) {
            client_->drop_array(begun.handle);
        }
        client_->evict(run_name(1));
        return !ok;
    };
    Pages wrong = pages;
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
        const auto begun = client_->ask<protocol::BeginArrayReply>(Message::begin_text, begin);
        if (begun.handle != 0) {
            EXPECT_EQ(append(begun.handle, pages, 0, 1).status.code, StatusCode::invalid_argument) << content;
            client_->drop_array(begun.handle);
        }
    }
    load(1, run);
}

// Lists that lie: calls end with a status, and the server goes on.
TEST_P(ServerText, SurviveLyingLists) {
    std::vector<TextRun> runs;
    runs.push_back(make_text_run(postings::Codec::PForDelta, 4000, random_));
    Question question = make_question(runs, 50);
    for (int round = 0; round < 60; ++round) {
        TextRun lying = runs[0];
        for (int i = 0; i < 20; ++i) {
            lying.bytes()[random_() % lying.bytes().size()] ^= static_cast<std::uint8_t>(1 << random_() % 8);
        }
        load(1, lying);
        ASSERT_FALSE(HasFatalFailure());
        client_->set_dead(run_name(1), {}, 1);
        const auto reply = client_->ask<protocol::ResultReply>(Message::search_text, place(question));
        EXPECT_TRUE(reply.header.status.ok() || reply.header.status.code == StatusCode::invalid_argument)
            << reply.header.status.message;
        client_->evict(run_name(1));
    }
    load(1, runs[0]);
    client_->set_dead(run_name(1), {}, 1);
    check_search(runs, question);
}

TEST_P(ServerText, RefuseWrongQuestions) {
    std::vector<TextRun> runs;
    runs.push_back(make_text_run(postings::Codec::Rice, 2000, random_));
    load(1, runs[0]);
    client_->set_dead(run_name(1), {}, 1);
    ASSERT_EQ(client_->load<std::uint32_t>(run_name(2), {1, 2}, {make_tid(1, 1), make_tid(1, 2)}),
              Answer::done);
    const Question question = make_question(runs, 20);
    const auto code = [&](const protocol::SearchText &request) {
        return client_->ask<protocol::ResultReply>(Message::search_text, request).header.status.code;
    };
    const protocol::SearchText good = place(question);
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
        place(question);
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
    place(question);
    client_->at<TextTerm>(good.terms)[0].weight = -1;
    EXPECT_EQ(code(good), StatusCode::invalid_argument);
    place(question);
    client_->at<TextTerm>(good.terms)[0].list.offset = UINT64_MAX;
    client_->at<TextTerm>(good.terms)[0].list.documents = 2;
    EXPECT_EQ(code(good), StatusCode::invalid_argument);

    const std::vector<std::vector<TextList>> lists = {{runs[0].list(0), runs[0].list(1)}};
    const auto intersect = place_lists<protocol::IntersectText>(lists);
    const auto intersect_code = [&](const protocol::IntersectText &request) {
        return client_->ask<protocol::ResultReply>(Message::intersect_text, request).header.status.code;
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
    place(question);
    EXPECT_EQ(code(good), StatusCode::ok);
}

// An index that does not fit is refused, and what is there stays; least recently used ones make room.
TEST_P(ServerText, KeepWithinTheLimitOfMemory) {
    protocol::Configure configure{};
    configure.memory_limit[static_cast<std::size_t>(GetParam())] = 4 << 20;
    ASSERT_EQ(Client::answer_of(client_->ask<protocol::ReplyHeader>(Message::configure, configure)),
              Answer::done);
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
    const auto reply = client_->list(Message::mirrors, 0, buffer_bytes);
    EXPECT_LT(reply.rows, 19U);
    EXPECT_LE(reply.memory_used[static_cast<std::size_t>(GetParam())], 4U << 20);
    for (std::uint64_t i = 0; i < reply.rows; ++i) {
        EXPECT_NE(client_->at<protocol::MirrorRow>(0)[i].name.run, 1U);
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerText, testing::Values(EngineName::host, EngineName::cuda),
                         [](const auto &parameter) {
                             return parameter.param == EngineName::host ? "host" : "cuda";
                         });

}  // namespace
