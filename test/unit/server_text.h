// Runs of gpu_text on a server, and requests to them, against a plain reference.
#pragma once

#include <algorithm>
#include <array>
#include <set>

#include "server_runs.h"
#include "text_run.h"

namespace server_test {

namespace postings = gpu_engine::postings;
using gpu_engine::TextHit;
using gpu_engine::TextList;
using gpu_engine::TextMode;
using gpu_engine::TextQuery;
using gpu_engine::TextStep;
using gpu_engine::TextTerm;
using text_test::Postings;
using text_test::TextRun;
using Random = std::mt19937_64;
using TextImages = std::vector<char>;

// A run of lists that grow shorter, the first of which has every document.
inline TextRun make_text_run(postings::Codec codec, std::uint32_t documents, Random &random) {
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

// A request to several runs: each has its own terms and its own queries, whose steps are the same.
struct EngineRequest {
    std::vector<std::vector<TextTerm>> terms;
    std::vector<std::vector<TextQuery>> queries;
    std::vector<TextStep> steps;
};

class ServerText : public ServerTestOfEngine {
  protected:
    explicit ServerText(const gpu_engine::server::Options &options = {})
        : ServerTestOfEngine(buffer_bytes, options) {}

    static constexpr std::uint64_t buffer_bytes = 16 << 20;
    static constexpr std::uint64_t results = 8 << 20;

    static protocol::BeginText beginning(std::uint64_t number, const TextRun &run) {
        protocol::BeginText begin{};
        begin.name = run_name(number);
        begin.posting_bytes = run.shape().posting_bytes;
        begin.documents = run.documents();
        begin.codec = static_cast<std::uint32_t>(run.shape().codec);
        begin.content_bytes = text_test::content_bytes;
        begin.holder.user = 10;
        return begin;
    }
    StatusCode begin_code(const protocol::BeginText &begin) {
        const auto begun = client_->call<protocol::BeginReply>(Message::begin_text, begin);
        if (begun.handle != 0) {
            client_->drop(begun.handle);
        }
        return begun.header.status.code;
    }
    // All pages of a run, as they are numbered.
    static TextImages pages_of(const TextRun &run) {
        TextImages pages = run.document_pages();
        const TextImages lists = run.posting_pages();
        pages.insert(pages.end(), lists.begin(), lists.end());
        return pages;
    }
    protocol::ReplyHeader append(std::uint64_t handle, const TextImages &pages, std::size_t first,
                                 std::size_t count) {
        protocol::AppendPages message{};
        message.handle = handle;
        message.first_page = static_cast<std::uint32_t>(first);
        message.pages = static_cast<std::uint32_t>(count);
        message.layout = {text_test::page_bytes, text_test::first_byte, 0, 0};
        std::memcpy(client_->buffer(), pages.data() + first * text_test::page_bytes,
                    count * text_test::page_bytes);
        return client_->call<protocol::ReplyHeader>(Message::append_pages, message);
    }
    void load(std::uint64_t number, const TextRun &run) {
        const auto begun = client_->call<protocol::BeginReply>(Message::begin_text, beginning(number, run));
        ASSERT_EQ(Client::result_of(begun.header), ReplyResult::done) << begun.header.status.message;
        ASSERT_NE(begun.handle, 0U);
        const TextImages pages = pages_of(run);
        const std::size_t count = pages.size() / text_test::page_bytes;
        for (std::size_t first = 0; first < count;) {
            const std::size_t some = std::min<std::size_t>(1 + random_() % 60, count - first);
            const protocol::ReplyHeader reply = append(begun.handle, pages, first, some);
            ASSERT_EQ(Client::result_of(reply), ReplyResult::done) << reply.status.message;
            first += some;
        }
        const protocol::HandleReply finished = client_->finish(begun.handle);
        ASSERT_EQ(Client::result_of(finished.header), ReplyResult::done) << finished.header.status.message;
        EXPECT_EQ(finished.entries, run.documents());
        EXPECT_GE(finished.bytes, run.shape().posting_bytes + 9 * std::uint64_t(run.documents()));
    }
    void kill_some(std::uint64_t number, TextRun *run) {
        run->dead.assign(run->documents(), false);
        for (std::uint32_t i = 0; i < run->documents(); ++i) {
            run->dead[i] = random_() % 5 == 0;
        }
        ASSERT_EQ(Client::result_of(client_->set_dead(run_name(number), run->dead_bitmap(), number)),
                  ReplyResult::done);
    }
    template <typename Request>
    static void name_runs(Request *request, std::size_t count) {
        request->runs = static_cast<std::uint32_t>(count);
        for (std::size_t i = 0; i < count; ++i) {
            request->run[i] = {run_name(i + 1), i + 1};
        }
    }

    // The runs' queries have the same k and the same place to go on; each run has some of the terms.
    EngineRequest make_request(const std::vector<TextRun> &runs, std::size_t count) {
        EngineRequest engine_request;
        engine_request.terms.resize(runs.size());
        engine_request.queries.resize(runs.size());
        for (std::size_t i = 0; i < count; ++i) {
            TextQuery query{};
            query.mode = std::array{TextMode::all, TextMode::any, TextMode::steps}[random_() % 3];
            query.first_step = static_cast<std::uint32_t>(engine_request.steps.size());
            if (query.mode == TextMode::steps) {
                text_test::add_random_steps(random_, 3, &engine_request.steps);
            }
            query.steps = static_cast<std::uint32_t>(engine_request.steps.size()) - query.first_step;
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
                query.first_term = static_cast<std::uint32_t>(engine_request.terms[r].size());
                query.terms = static_cast<std::uint32_t>(lists.size());
                // Terms 0, 1 and 2 are wanted; the first may have several lists.
                std::uint32_t number = 0;
                double idf = 3;
                for (const std::size_t list : lists) {
                    engine_request.terms[r].push_back(
                        {runs[r].list(list), idf / postings::kScoreUnit, number, 1});
                    if (number < 2 && random_() % 2 == 0) {
                        ++number;
                        idf = 0.01 + static_cast<double>(random_() % 1000) / 100;
                    }
                }
                engine_request.queries[r].push_back(query);
            }
        }
        return engine_request;
    }
    template <typename Element>
    static std::uint64_t put(Client &client, std::uint64_t *at, const std::vector<Element> &elements) {
        const std::uint64_t began = *at;
        std::copy_n(reinterpret_cast<const char *>(elements.data()), elements.size() * sizeof(Element),
                    client.buffer() + began);
        *at += (elements.size() * sizeof(Element) + 15) / 16 * 16;
        return began;
    }
    protocol::SearchText place(const EngineRequest &engine_request) {
        return place(*client_, engine_request);
    }
    static protocol::SearchText place(Client &client, const EngineRequest &engine_request) {
        protocol::SearchText request{};
        name_runs(&request, engine_request.queries.size());
        std::vector<TextQuery> queries;
        std::vector<TextTerm> terms;
        for (std::size_t r = 0; r < engine_request.queries.size(); ++r) {
            queries.insert(queries.end(), engine_request.queries[r].begin(), engine_request.queries[r].end());
            terms.insert(terms.end(), engine_request.terms[r].begin(), engine_request.terms[r].end());
            request.first_term[r + 1] = static_cast<std::uint32_t>(terms.size());
            request.shrink[r] = r % 2 == 0 ? 1 : -1;
        }
        std::uint64_t at = 0;
        request.queries = put(client, &at, queries);
        request.terms = put(client, &at, terms);
        request.steps = put(client, &at, engine_request.steps);
        request.step_count = engine_request.steps.size();
        request.count = engine_request.queries[0].size();
        request.norms = {0.3, 0.02};
        request.results = results;
        request.capacity = buffer_bytes - results;
        return request;
    }
    static void check_result(const std::vector<TextRun> &runs, const EngineRequest &engine_request,
                             const protocol::SearchText &request, const protocol::ResultReply &reply,
                             const Client &client) {
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        for (std::size_t r = 0; r < runs.size(); ++r) {
            const auto *counts = client.at<std::uint32_t>(reply.offsets_at[r]);
            const auto *hits = client.at<TextHit>(reply.tids_at[r]);
            for (std::size_t i = 0; i < engine_request.queries[r].size(); ++i) {
                const TextQuery &query = engine_request.queries[r][i];
                const std::vector<TextHit> expected = runs[r].search(
                    request.norms, engine_request.terms[r].data(), query, engine_request.steps.data());
                ASSERT_EQ(counts[i], expected.size()) << "run " << r << ", query " << i;
                for (std::size_t j = 0; j < expected.size(); ++j) {
                    ASSERT_EQ(hits[j].score, expected[j].score)
                        << "run " << r << ", query " << i << ", " << j;
                    ASSERT_EQ(hits[j].tid, expected[j].tid) << "run " << r << ", query " << i << ", " << j;
                }
                hits += query.k;
            }
        }
    }
    void check_search(const std::vector<TextRun> &runs, const EngineRequest &engine_request) {
        protocol::SearchText request = place(engine_request);
        const auto reply = client_->call<protocol::ResultReply>(Message::search_text, request);
        check_result(runs, engine_request, request, reply, *client_);
        ASSERT_FALSE(HasFatalFailure());
        // Room for the result exactly, and less than that.
        request.capacity = reply.needed;
        EXPECT_EQ(
            Client::result_of(client_->call<protocol::ResultReply>(Message::search_text, request).header),
            ReplyResult::done);
        request.capacity -= 16;
        const auto small = client_->call<protocol::ResultReply>(Message::search_text, request);
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
        request.lists.lists = put(*client_, &at, all);
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
            client_->call<protocol::ResultReply>(Message::count_text, place_lists<protocol::CountText>(all));
        ASSERT_EQ(Client::result_of(counted.header), ReplyResult::done) << counted.header.status.message;
        const auto *documents = client_->at<std::uint32_t>(counted.offsets_at[0]);
        for (std::size_t r = 0; r < runs.size(); ++r) {
            for (const TextList &list : all[r]) {
                ASSERT_EQ(*documents++, runs[r].intersect({list}).size()) << "run " << r;
            }
        }
        auto request = place_lists<protocol::IntersectText>(some);
        const auto found = client_->call<protocol::ResultReply>(Message::intersect_text, request);
        ASSERT_EQ(Client::result_of(found.header), ReplyResult::done) << found.header.status.message;
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
            Client::result_of(client_->call<protocol::ResultReply>(Message::intersect_text, request).header),
            ReplyResult::done);
        request.capacity -= 16;
        const auto small = client_->call<protocol::ResultReply>(Message::intersect_text, request);
        EXPECT_EQ(small.header.status.code, StatusCode::insufficient_space);
        EXPECT_EQ(small.needed, found.needed);
    }
};

}  // namespace server_test
