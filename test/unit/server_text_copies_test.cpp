// Copies of runs of gpu_text: that they answer as their mirrors do, and who answers where several engines
// have a run.
#include <map>
#include <thread>

#include "server_checks.h"
#include "server_text.h"

namespace {

using namespace server_test;
using gpu_engine::server::EngineId;
using gpu_engine::server::Queue;

class ServerTextCopies : public ServerText {
  protected:
    static gpu_engine::server::Options hosts(std::uint32_t count, std::uint64_t kept_together) {
        gpu_engine::server::Options options;
        options.host_engines = count;
        options.uses_devices = false;
        options.kept_together = kept_together;
        options.testing = true;
        // Every request counts as one that meets others.
        options.crowd = 0;
        options.copied_after = 3;
        return options;
    }

    explicit ServerTextCopies(const gpu_engine::server::Options &options = hosts(2, 1 << 30))
        : ServerText(options) {}

    void load_runs(const std::vector<std::uint32_t> &sizes) {
        for (const std::uint32_t documents : sizes) {
            runs_.push_back(make_text_run(codecs_[runs_.size() % 3], documents, random_));
            load(runs_.size(), runs_.back());
            ASSERT_FALSE(HasFatalFailure());
            versions_.push_back(runs_.size());
            kill_some(runs_.size(), &runs_.back());
        }
    }
    std::vector<protocol::MirrorRow> rows() {
        const auto reply = client_->list(Message::mirrors, results, buffer_bytes - results);
        const auto *rows = client_->at<protocol::MirrorRow>(results);
        return {rows, rows + reply.rows};
    }
    // Of a run's rows the first is the mirror, and the others are copies.
    struct Copy {
        std::uint64_t run;
        std::int32_t device;
        std::uint64_t hits;
        std::uint64_t entries;
    };
    std::vector<Copy> copies() {
        std::vector<Copy> copies;
        std::set<std::uint64_t> mirrors;
        for (const protocol::MirrorRow &row : rows()) {
            if (!mirrors.insert(row.name.run).second) {
                copies.push_back({row.name.run, row.device, row.hits, row.entries});
            }
        }
        return copies;
    }
    // How often copies on each engine have answered.
    std::map<std::int32_t, std::uint64_t> hits() {
        std::map<std::int32_t, std::uint64_t> hits;
        for (const Copy &copy : copies()) {
            hits[copy.device] += copy.hits;
        }
        return hits;
    }
    void search(Client &client, const Question &question) {
        protocol::SearchText request = place(client, question);
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            request.run[i].dead_version = versions_[i];
        }
        check_answer(runs_, question, request,
                     client.ask<protocol::ResultReply>(Message::search_text, request), client);
    }
    void search(std::size_t queries = 3) { search(*client_, make_question(runs_, queries)); }
    void make_copies(std::size_t expected) {
        for (int i = 0; i < 3; ++i) {
            ASSERT_EQ(copies().size() < expected, true);
            search();
            ASSERT_FALSE(HasFatalFailure());
        }
        ASSERT_EQ(copies().size(), expected);
    }

    // Others compute on an engine for as long as this lives.
    class Busy {
      public:
        explicit Busy(Queue &queue) : queue_(queue) { EXPECT_TRUE(queue_.try_enter({}, share_)); }
        ~Busy() { queue_.leave({}, share_, {}); }

      private:
        Queue &queue_;
        Queue::Share share_;
    };
    Queue &queue(EngineId id) { return server_->engines().queue(id); }

    static constexpr std::array codecs_ = {postings::Codec::Bitpack, postings::Codec::PForDelta,
                                           postings::Codec::Rice};
    std::vector<TextRun> runs_;
    std::vector<std::uint64_t> versions_;
};

TEST_P(ServerTextCopies, AreMadeWhereRequestsMeetOthersAndAnswer) {
    // More documents than a page of a copy has, and hardly any.
    load_runs({20000, 905, 2});
    make_copies(runs_.size());
    for (const Copy &copy : copies()) {
        EXPECT_EQ(copy.entries, runs_[copy.run - 1].documents()) << "dead ones are among them";
    }
    for (int i = 0; i < 20; ++i) {
        search();
        ASSERT_FALSE(HasFatalFailure());
    }
    const std::uint64_t answered = hits().begin()->second;
    // With nobody else they take turns.
    EXPECT_EQ(answered, 10 * runs_.size());
    EXPECT_EQ(client_->state().engines[0].loads, runs_.size());
    for (int i = 0; i < 4; ++i) {
        check_lists(runs_);
        ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_GT(hits().begin()->second, answered);
}

TEST_P(ServerTextCopies, LeaveForALaterVersionOfDeadDocuments) {
    load_runs({20000, 905});
    make_copies(2);
    runs_[1].dead.assign(runs_[1].documents(), true);
    versions_[1] = 9;
    ASSERT_EQ(Client::answer_of(client_->set_dead(run_name(2), runs_[1].dead_bitmap(), 9)), Answer::done);
    // Whoever asks for the later version finds it, and the copy goes.
    search();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(copies().size(), 1U);
    EXPECT_EQ(copies()[0].run, 1U);
    search();
    search();
    EXPECT_EQ(copies().size(), 2U) << "another one is made";
    for (int i = 0; i < 6; ++i) {
        search();
        ASSERT_FALSE(HasFatalFailure());
    }
}

TEST_P(ServerTextCopies, LeaveBeforeAnyMirror) {
    load_runs({20000});
    const std::uint64_t bytes = rows()[0].bytes;
    limit_memory(*client_, EngineName::host, bytes * 9);
    make_copies(1);
    client_->purpose = 7;
    std::uint64_t run = 1;
    while (client_->state().engines[0].evictions == 0) {
        ASSERT_LT(run, 20U);
        load(++run, runs_[0]);
        ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_EQ(client_->state().engines[0].evictions, 1U);
    EXPECT_EQ(rows().size(), run);
    EXPECT_EQ(copies().size(), 0U);
}

// Whatever of a copy there is no memory for, the request is answered where the mirror is.
TEST_P(ServerTextCopies, AreNotMadeWithoutMemory) {
    load_runs({20000});
    ASSERT_EQ(rows()[0].device, 0);
    gpu_engine::MemoryBudget &memory = server_->engines().get(1)->memory();
    int refused = 0;
    while (copies().empty()) {
        ASSERT_LT(refused, 20);
        EXPECT_EQ(memory.used(), 0U);
        search();
        search();
        memory.refuse_after(refused++);
        search();
        memory.refuse_after(-1);
        ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_GT(refused, 3) << "a copy is several pieces of memory";
}

TEST_P(ServerTextCopies, AreMadeOnceAndAnswerManySessions) {
    load_runs({20000, 905});
    std::vector<Question> questions;
    for (int i = 0; i < 24; ++i) {
        questions.push_back(make_question(runs_, 1 + static_cast<std::size_t>(i) % 3));
    }
    std::vector<std::thread> threads;
    for (std::size_t session = 0; session < 6; ++session) {
        threads.emplace_back([&, session] {
            Client own(server_.path(), GetParam());
            EXPECT_EQ(Client::answer_of(own.attach(buffer_bytes)), Answer::done);
            for (std::size_t i = 0; i < 40; ++i) {
                search(own, questions[(session * 7 + i) % questions.size()]);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(copies().size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerTextCopies, testing::Values(EngineName::host), engine_of);

// ---- runs that are shared out ---------------------------------------------------------------------------

// Five runs of which each engine has some.
class ServerTextCopiesOfSpreadRuns : public ServerTextCopies {
  protected:
    explicit ServerTextCopiesOfSpreadRuns(std::uint32_t engines = 2) : ServerTextCopies(hosts(engines, 0)) {}

    void SetUp() override {
        ServerTextCopies::SetUp();
        load_runs({9000, 905, 4000, 2000, 3000});
        std::set<std::int32_t> devices;
        for (const protocol::MirrorRow &row : rows()) {
            devices.insert(row.device);
        }
        ASSERT_EQ(devices.size(), 2U);
    }
    std::size_t mirrors_on(std::int32_t device) {
        std::size_t count = 0;
        for (const protocol::MirrorRow &row : rows()) {
            count += row.device == device ? 1 : 0;
        }
        return count - static_cast<std::size_t>(copies_on(device));
    }
    std::int64_t copies_on(std::int32_t device) {
        const std::vector<Copy> all = copies();
        return std::count_if(all.begin(), all.end(), [&](const Copy &copy) { return copy.device == device; });
    }
};

TEST_P(ServerTextCopiesOfSpreadRuns, OneEngineAnswersAloneWhereItHasLessToDo) {
    const std::size_t of_first = mirrors_on(0);
    const std::size_t of_second = mirrors_on(1);
    for (int i = 0; i < 3; ++i) {
        search();
    }
    // Those that one engine lacked are there now, and it could answer alone; the other one couldn't.
    ASSERT_FALSE(copies().empty());
    const EngineId able = static_cast<EngineId>(copies()[0].device);
    const EngineId other = 1 - able;
    EXPECT_EQ(copies().size(), able == 0 ? of_second : of_first);
    const auto answers_of = [&](EngineId id) { return hits()[static_cast<std::int32_t>(id)]; };
    {
        const Busy busy(queue(able));
        search();
        EXPECT_EQ(answers_of(able), 0U) << "together they are as soon";
        const Busy busier(queue(other));
        search();
        EXPECT_EQ(answers_of(able), 0U) << "and as soon where both are as busy, for all come here else";
    }
    std::uint64_t before = answers_of(able);
    {
        const Busy busy(queue(other));
        search();
        EXPECT_EQ(answers_of(able), before + copies_on(static_cast<std::int32_t>(able)));
    }
    ASSERT_FALSE(HasFatalFailure());

    // The other one gets copies, too.
    while (copies().size() < runs_.size()) {
        search();
        ASSERT_FALSE(HasFatalFailure());
    }
    before = answers_of(able) + answers_of(other);
    search();
    EXPECT_EQ(answers_of(able) + answers_of(other), before) << "with nobody else, both compute";
    for (const EngineId id : {able, other}) {
        const std::uint64_t own = answers_of(id);
        const Busy busy(queue(1 - id));
        search();
        EXPECT_EQ(answers_of(id), own + copies_on(static_cast<std::int32_t>(id)));
    }
    before = answers_of(able) + answers_of(other);
    const Busy busy(queue(able));
    const Busy busier(queue(other));
    search();
    EXPECT_GT(answers_of(able) + answers_of(other), before) << "where both are busy, one of them computes";
    for (int i = 0; i < 10; ++i) {
        search();
        ASSERT_FALSE(HasFatalFailure());
    }
}

TEST_P(ServerTextCopiesOfSpreadRuns, AnEngineThatIsLostTakesWhatItHas) {
    while (copies().size() < runs_.size()) {
        search();
        ASSERT_FALSE(HasFatalFailure());
    }
    const std::size_t left = mirrors_on(0);
    protocol::Inject request{};
    request.number = 1;
    request.loses = protocol::lose_engine;
    ASSERT_EQ(Client::answer_of(client_->ask<protocol::ReplyHeader>(Message::inject, request)), Answer::done);
    const Question question = make_question(runs_, 2);
    protocol::SearchText asked = place(question);
    EXPECT_EQ(Client::answer_of(client_->ask<protocol::ResultReply>(Message::search_text, asked).header),
              Answer::not_resident);
    EXPECT_EQ(rows().size(), left) << "neither mirrors nor copies are there any more";
    EXPECT_EQ(copies().size(), 0U) << "copies of its mirrors went with these";
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerTextCopiesOfSpreadRuns, testing::Values(EngineName::host), engine_of);

// ---- batches ----------------------------------------------------------------------------------------------

// Three engines have the same runs.
class ServerTextBatches : public ServerTextCopies {
  protected:
    static constexpr std::size_t large = 20;

    static gpu_engine::server::Options sharing() {
        gpu_engine::server::Options options = hosts(3, 1 << 30);
        options.copied_after = 1;
        // Of two runs, whose lists add less than a query's worth.
        options.shared_items = large * 2 * 512;
        return options;
    }
    ServerTextBatches() : ServerTextCopies(sharing()) {}

    void SetUp() override {
        ServerTextCopies::SetUp();
        load_runs({3000, 905});
        for (int i = 0; i < 2; ++i) {
            search(large);
        }
        ASSERT_EQ(copies().size(), 2 * runs_.size());
    }
    // On how many engines copies have answered since.
    std::size_t answered_since(const std::map<std::int32_t, std::uint64_t> &before) {
        const auto now = hits();
        std::size_t count = 0;
        for (const auto &[device, hits_now] : now) {
            count += hits_now > before.at(device) ? 1 : 0;
        }
        return count;
    }
};

TEST_P(ServerTextBatches, EnginesShareTheQueriesOfLargeOnes) {
    for (const std::size_t queries : {1U, 5U, 20U, 21U, 64U, 65U, 200U}) {
        SCOPED_TRACE(queries);
        const auto before = hits();
        const Question question = make_question(runs_, queries);
        search(*client_, question);
        ASSERT_FALSE(HasFatalFailure());
        if (queries >= large) {
            EXPECT_EQ(answered_since(before), 2U) << "both engines with copies";
        } else {
            EXPECT_LE(answered_since(before), 1U);
        }
        // With just enough room, and with less.
        check_search(runs_, question);
        ASSERT_FALSE(HasFatalFailure());
    }
}

TEST_P(ServerTextBatches, LongListsMakeABatchLarge) {
    Question question = make_question(runs_, 2);
    // All of the longest list, so often that they make up for the queries that lack.
    question.terms[0].clear();
    question.terms[1].clear();
    for (std::size_t run = 0; run < 2; ++run) {
        for (TextQuery &query : question.queries[run]) {
            query.mode = TextMode::any;
            query.first_term = 0;
            query.terms = 0;
        }
    }
    const std::uint64_t terms = (large - 2) * 2 * 512 * 256 / runs_[0].list(0).documents + 256;
    question.terms[0].assign(terms, {runs_[0].list(0), 1 / postings::kScoreUnit, 0, 1});
    question.queries[0][1].terms = 1;
    const auto before = hits();
    search(*client_, question);
    EXPECT_EQ(answered_since(before), 2U);
}

TEST_P(ServerTextBatches, WhoeverIsBusyGetsNoShare) {
    {
        const Busy busy(queue(0));
        const Busy busier(queue(1));
        const Busy busiest(queue(2));
        const auto before = hits();
        search(100);
        EXPECT_LE(answered_since(before), 1U) << "one computes it all";
    }
    for (const EngineId id : {0U, 1U, 2U}) {
        const Busy busy(queue(id));
        const auto before = hits();
        search(100);
        const auto now = hits();
        const auto own = static_cast<std::int32_t>(id);
        EXPECT_TRUE(before.count(own) == 0 || now.at(own) == before.at(own)) << id;
        EXPECT_EQ(answered_since(before), before.count(own) == 0 ? 2U : 1U) << id;
        ASSERT_FALSE(HasFatalFailure());
    }
}

TEST_P(ServerTextBatches, AnErrorInAShareIsTheRequests) {
    for (const std::size_t wrong : {0U, 60U, 99U}) {
        Question question = make_question(runs_, 100);
        question.queries[1][wrong].first_term = 1U << 30;
        question.queries[1][wrong].terms = 1;
        protocol::SearchText request = place(question);
        const auto reply = client_->ask<protocol::ResultReply>(Message::search_text, request);
        EXPECT_EQ(reply.header.status.code, StatusCode::invalid_argument) << wrong;
        search(100);
        ASSERT_FALSE(HasFatalFailure());
    }
    protocol::SearchText request = place(make_question(runs_, 100));
    for (const std::uint64_t count : {std::uint64_t(1) << 62, std::uint64_t(100000)}) {
        request.count = count;
        const auto reply = client_->ask<protocol::ResultReply>(Message::search_text, request);
        EXPECT_EQ(reply.header.status.code, StatusCode::invalid_argument) << count;
    }
}

TEST_P(ServerTextBatches, ManySessionsAskThem) {
    std::vector<Question> questions;
    for (int i = 0; i < 6; ++i) {
        questions.push_back(make_question(runs_, 20 + static_cast<std::size_t>(i) * 9));
    }
    std::vector<std::thread> threads;
    for (std::size_t session = 0; session < 4; ++session) {
        threads.emplace_back([&, session] {
            Client own(server_.path(), GetParam());
            EXPECT_EQ(Client::answer_of(own.attach(buffer_bytes)), Answer::done);
            for (std::size_t i = 0; i < 25; ++i) {
                search(own, questions[(session + i) % questions.size()]);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerTextBatches, testing::Values(EngineName::host), engine_of);

}  // namespace
