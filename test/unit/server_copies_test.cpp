// Copies of runs that many ask at once: when they are made, that they answer, and when they leave.
#include <numeric>

#include "heap_facts.h"
#include "server_checks.h"
#include "server_runs.h"

namespace {

using namespace server_test;

constexpr std::size_t entries = 20000;
constexpr std::uint64_t results = 1 << 16;
constexpr std::uint64_t capacity = 1 << 20;

class ServerCopies : public testing::Test {
  protected:
    static gpu_engine::server::Options two_hosts() {
        gpu_engine::server::Options options;
        options.host_engines = 2;
        options.uses_devices = false;
        options.testing = true;
        // Every request counts as one that meets others.
        options.crowd = 0;
        options.copied_after = 3;
        return options;
    }

    ServerCopies() : server_(two_hosts()), client_(server_.path()) {
        EXPECT_EQ(Client::answer_of(client_.attach(4 << 20)), Answer::done);
        for (std::size_t i = 0; i < entries; ++i) {
            keys_.push_back(i);
            tids_.push_back(make_tid(i / 100, static_cast<std::uint16_t>(i % 100 + 1)));
        }
    }

    std::vector<protocol::MirrorRow> rows_of(std::uint64_t run) {
        std::vector<protocol::MirrorRow> rows;
        const auto reply = client_.list(Message::mirrors, 0, results);
        for (std::uint64_t i = 0; i < reply.rows; ++i) {
            const auto &row = client_.at<protocol::MirrorRow>(0)[i];
            if (row.name.run == run) {
                rows.push_back(row);
            }
        }
        return rows;
    }

    // Checks the TIDs of some keys, of which those below `dead` have died.
    static void look_up(Client &client, std::uint64_t run, std::uint64_t first, std::uint64_t dead,
                        std::uint64_t version) {
        constexpr std::uint64_t count = 50;
        protocol::LookupKary request{};
        request.key_bits = 64;
        request.runs = 1;
        request.run[0] = {run_name(run), version};
        request.count = count;
        request.results = results;
        request.capacity = capacity;
        std::iota(client.at<std::uint64_t>(0), client.at<std::uint64_t>(0) + count, first);
        const auto reply = client.ask<protocol::ResultReply>(Message::lookup_kary, request);
        ASSERT_EQ(Client::answer_of(reply.header), Answer::done) << reply.header.status.message;
        const auto *offsets = client.at<std::uint64_t>(reply.offsets_at[0]);
        const auto *tids = client.at<Tid>(reply.tids_at[0]);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t key = first + i;
            ASSERT_EQ(offsets[i + 1] - offsets[i], key < dead ? 0U : 1U) << key;
            if (key >= dead) {
                const Tid expected = make_tid(key / 100, static_cast<std::uint16_t>(key % 100 + 1));
                ASSERT_EQ(std::memcmp(&tids[offsets[i]], &expected, sizeof(Tid)), 0) << key;
            }
        }
    }
    void kill_below(std::uint64_t run, std::uint64_t dead, std::uint64_t version) {
        std::vector<std::uint64_t> words((entries + 63) / 64, 0);
        for (std::uint64_t i = 0; i < dead; ++i) {
            words[i / 64] |= std::uint64_t(1) << i % 64;
        }
        ASSERT_EQ(Client::answer_of(client_.set_dead(run_name(run), words, version)), Answer::done);
    }
    void copy(std::uint64_t run, std::uint64_t dead = 0, std::uint64_t version = 0) {
        for (int i = 0; i < 3; ++i) {
            look_up(client_, run, 10, dead, version);
        }
        ASSERT_EQ(rows_of(run).size(), 2U);
    }

    ServerUnderTest server_;
    Client client_;
    std::vector<std::uint64_t> keys_;
    std::vector<Tid> tids_;
};

TEST_F(ServerCopies, AreMadeWhereRequestsMeetOthersAndAnswer) {
    ASSERT_EQ(client_.load(run_name(1), keys_, tids_), Answer::done);
    look_up(client_, 1, 10, 0, 0);
    look_up(client_, 1, 10, 0, 0);
    EXPECT_EQ(rows_of(1).size(), 1U);
    look_up(client_, 1, 10, 0, 0);
    const std::vector<protocol::MirrorRow> rows = rows_of(1);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_NE(rows[0].device, rows[1].device);
    EXPECT_EQ(rows[1].entries, entries);
    EXPECT_EQ(rows[1].hits, 0U);
    for (std::uint64_t i = 0; i < 40; ++i) {
        look_up(client_, 1, i * 400, 0, 0);
    }
    // With nobody else they take turns.
    EXPECT_EQ(rows_of(1)[1].hits, 20U);
    EXPECT_EQ(client_.state().engines[0].loads, 1U);
}

TEST_F(ServerCopies, HaveNoDeadEntriesAndLeaveForALaterVersion) {
    ASSERT_EQ(client_.load(run_name(1), keys_, tids_), Answer::done);
    kill_below(1, 30, 1);
    copy(1, 30, 1);
    EXPECT_EQ(rows_of(1)[1].entries, entries - 30);
    for (int i = 0; i < 10; ++i) {
        look_up(client_, 1, 10, 30, 1);
    }
    kill_below(1, 45, 2);
    // Whoever asks for the later version finds it, and the copy goes. Another one may be due.
    look_up(client_, 1, 10, 45, 2);
    for (const protocol::MirrorRow &row : rows_of(1)) {
        EXPECT_NE(row.entries, entries - 30);
    }
    copy(1, 45, 2);
    EXPECT_EQ(rows_of(1)[1].entries, entries - 45);
}

TEST_F(ServerCopies, LeaveBeforeAnyMirror) {
    ASSERT_EQ(client_.load(run_name(1), keys_, tids_), Answer::done);
    const std::uint64_t bytes = rows_of(1)[0].bytes;
    limit_memory(client_, EngineName::host, bytes * 9);
    copy(1);
    client_.purpose = 7;
    std::uint64_t run = 1;
    while (client_.state().engines[0].evictions == 0) {
        ASSERT_LT(run, 20U);
        ++run;
        ASSERT_EQ(client_.load(run_name(run), keys_, tids_), Answer::done);
    }
    EXPECT_EQ(client_.state().engines[0].evictions, 1U);
    for (std::uint64_t i = 1; i <= run; ++i) {
        EXPECT_EQ(rows_of(i).size(), 1U) << i;
    }
}

TEST_F(ServerCopies, OnlySmallRunsHaveThem) {
    ASSERT_EQ(client_.load(run_name(1), keys_, tids_), Answer::done);
    limit_memory(client_, EngineName::host, rows_of(1)[0].bytes * 7);
    for (int i = 0; i < 10; ++i) {
        look_up(client_, 1, 10, 0, 0);
    }
    EXPECT_EQ(rows_of(1).size(), 1U);
}

TEST_F(ServerCopies, GoWithTheirEngineOrTheirMirror) {
    ASSERT_EQ(client_.load(run_name(1), keys_, tids_), Answer::done);
    copy(1);
    protocol::Inject request{};
    request.number = static_cast<std::uint32_t>(rows_of(1)[1].device);
    request.loses = protocol::lose_engine;
    ASSERT_EQ(Client::answer_of(client_.ask<protocol::ReplyHeader>(Message::inject, request)), Answer::done);
    // The first that meets the lost engine asks again.
    protocol::CountKary count{};
    count.key_bits = 64;
    count.runs = 1;
    count.run[0].name = run_name(1);
    count.count = 1;
    count.high = 64;
    *client_.at<std::uint64_t>(0) = 5;
    *client_.at<std::uint64_t>(64) = 14;
    count.blocks.all_visible = 1;
    count.results = results;
    count.capacity = 65536;
    int refused = 0;
    for (int i = 0; i < 10; ++i) {
        const auto reply = client_.ask<protocol::ResultReply>(Message::count_kary, count);
        if (Client::answer_of(reply.header) == Answer::done) {
            EXPECT_EQ(*client_.at<std::uint64_t>(results), 10U);
        } else {
            EXPECT_EQ(Client::answer_of(reply.header), Answer::not_resident);
            ++refused;
        }
    }
    EXPECT_LE(refused, 1);
    EXPECT_EQ(rows_of(1).size(), 1U);
    client_.evict(run_name(1));
    EXPECT_EQ(rows_of(1).size(), 0U);
}

TEST_F(ServerCopies, AreMadeOnceAndAnswerManySessions) {
    ASSERT_EQ(client_.load(run_name(1), keys_, tids_), Answer::done);
    kill_below(1, 30, 1);
    std::vector<std::thread> threads;
    for (std::uint64_t session = 0; session < 6; ++session) {
        threads.emplace_back([this, session] {
            Client own(server_.path());
            EXPECT_EQ(Client::answer_of(own.attach(4 << 20)), Answer::done);
            for (std::uint64_t i = 0; i < 60; ++i) {
                look_up(own, 1, (session * 1000 + i * 7) % (entries - 50), 30, 1);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(rows_of(1).size(), 2U);
}

// ---- large batches ----------------------------------------------------------------------------------------

// Three engines have the same runs and share the items of batches; a single engine answers the same.
template <typename Key>
class ServerSharedItems : public testing::Test {
  protected:
    static constexpr std::uint64_t shared = 100;
    static constexpr std::uint64_t at_high = 1 << 16;
    static constexpr std::uint64_t at_blocks = 1 << 17;
    static constexpr std::uint64_t at_results = 1 << 18;
    static constexpr std::uint64_t buffer_bytes = 8 << 20;

    static gpu_engine::server::Options hosts(std::uint32_t count) {
        gpu_engine::server::Options options;
        options.host_engines = count;
        options.uses_devices = false;
        options.kept_together = std::uint64_t(1) << 30;
        options.copied_after = 1;
        options.shared_items = shared;
        return options;
    }

    ServerSharedItems() : three_(hosts(3)), one_(hosts(1)), shared_(three_.path()), alone_(one_.path()) {
        for (Client *client : {&shared_, &alone_}) {
            EXPECT_EQ(Client::answer_of(client->attach(buffer_bytes)), Answer::done);
        }
        for (std::uint64_t run = 1; run <= runs; ++run) {
            RunModel<Key> model = make_run<Key>(run == 3 ? 0 : 3000 * run, 900, random_);
            const std::vector<std::uint64_t> dead = mark_dead(model, run == 2 ? 0.3 : 0, random_);
            for (Client *client : {&shared_, &alone_}) {
                EXPECT_EQ(client->load(run_name(run), model.keys(), model.tids()), Answer::done);
                EXPECT_EQ(Client::answer_of(client->set_dead(run_name(run), dead, 1)), Answer::done);
            }
        }
        // Large batches have copies made, one engine after the other.
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(ask<protocol::LookupKary>(shared_, Message::lookup_kary, 200), Answer::done);
        }
        EXPECT_EQ(hits(), runs) << "the second batch was shared by two";
    }

    static constexpr std::uint64_t runs = 3;

    // How often copies have answered.
    std::uint64_t hits() {
        const auto reply = shared_.list(Message::mirrors, at_results, buffer_bytes - at_results);
        EXPECT_EQ(reply.rows, 3 * runs);
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < reply.rows; ++i) {
            const auto &row = shared_.at<protocol::MirrorRow>(at_results)[i];
            // Of a run's rows the first is the mirror, and the others are copies.
            sum += is_copy(i) ? row.hits : 0;
        }
        return sum;
    }
    bool is_copy(std::uint64_t row) {
        const auto *rows = shared_.at<protocol::MirrorRow>(at_results);
        return std::any_of(rows, rows + row, [&](const protocol::MirrorRow &earlier) {
            return earlier.name.run == rows[row].name.run;
        });
    }

    template <typename Request>
    Request request_for(std::uint64_t items) {
        Request request{};
        request.key_bits = sizeof(Key) * 8;
        request.runs = runs;
        for (std::uint64_t run = 1; run <= runs; ++run) {
            request.run[run - 1] = {run_name(run), 1};
        }
        request.count = items;
        request.results = at_results;
        request.capacity = buffer_bytes - at_results;
        return request;
    }
    template <typename Request>
    Answer ask(Client &client, Message message, std::uint64_t items) {
        write_items(client, items, 1);
        return Client::answer_of(
            client.ask<protocol::ResultReply>(message, request_for<Request>(items)).header);
    }
    static void write_items(Client &client, std::uint64_t items, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        for (std::uint64_t i = 0; i < items; ++i) {
            const std::uint64_t low = random() % 950;
            client.at<Key>(0)[i] = make_key<Key>(1, low);
            client.at<Key>(at_high)[i] = make_key<Key>(1, low + random() % 5);
        }
    }
    // What an answer says, wherever it lies.
    template <typename Request>
    std::string told(Client &client, const Request &request, const protocol::ResultReply &reply,
                     bool has_entries, bool with_keys) {
        std::string told = std::to_string(reply.tids) + ";";
        const auto add = [&](std::uint64_t at, std::uint64_t bytes) {
            told.append(client.at<char>(at), bytes);
        };
        if constexpr (std::is_same_v<Request, protocol::CountKary>) {
            add(request.results, request.count * sizeof(std::uint64_t));
        }
        if constexpr (std::is_same_v<Request, protocol::LookupKary>) {
            const auto form = static_cast<protocol::LookupForm>(request.form);
            const bool is_number = form == protocol::LookupForm::number;
            const std::uint64_t item_bytes =
                form == protocol::LookupForm::numbered ? sizeof(std::uint32_t) : 0;
            for (std::uint64_t run = 0; form != protocol::LookupForm::by_item && run < runs; ++run) {
                told += "found " + std::to_string(reply.found[run]) + ";";
                add(reply.tids_at[run], is_number ? 0 : reply.found[run] * sizeof(Tid));
                add(item_bytes > 0 ? reply.keys_at[run] : 0, reply.found[run] * item_bytes);
            }
            has_entries = form == protocol::LookupForm::by_item;
        }
        for (std::uint64_t run = 0; has_entries && run < runs; ++run) {
            add(reply.offsets_at[run], (request.count + 1) * sizeof(std::uint64_t));
            const std::uint64_t found = client.at<std::uint64_t>(reply.offsets_at[run])[request.count];
            add(reply.tids_at[run], found * sizeof(Tid));
            add(with_keys ? reply.keys_at[run] : 0, with_keys ? found * sizeof(Key) : 0);
        }
        return told;
    }
    template <typename Request>
    void expect_same(Message message, Request request, bool has_entries, bool with_keys) {
        const std::uint64_t before = hits();
        std::string answers[2];
        std::uint64_t needed = 0;
        for (Client *client : {&alone_, &shared_}) {
            write_items(*client, request.count, request.count);
            const auto reply = client->ask<protocol::ResultReply>(message, request);
            ASSERT_EQ(Client::answer_of(reply.header), Answer::done) << reply.header.status.message;
            answers[client == &shared_ ? 1 : 0] = told(*client, request, reply, has_entries, with_keys);
            needed = reply.needed;
        }
        EXPECT_TRUE(answers[0] == answers[1]) << request.count;
        EXPECT_GE(answers[0].size(), 9U);
        const bool is_shared = request.count >= shared;
        if (is_shared) {
            EXPECT_EQ(hits() - before, 2 * runs) << "both copies of each run";
        }
        // With as much room as it says that it needs, and with less.
        if (is_shared && needed > 0) {
            write_items(shared_, request.count, request.count);
            request.capacity = needed;
            EXPECT_EQ(Client::answer_of(shared_.ask<protocol::ResultReply>(message, request).header),
                      Answer::done);
            request.capacity = needed / 2 / 16 * 16;
            EXPECT_EQ(shared_.ask<protocol::ResultReply>(message, request).header.status.code,
                      StatusCode::insufficient_space);
        }
    }

    ServerUnderTest three_;
    ServerUnderTest one_;
    Client shared_;
    Client alone_;
    std::mt19937_64 random_{20261128};
};

using SharedKeys = testing::Types<std::uint32_t, std::uint64_t, gpu_engine::Key128>;
TYPED_TEST_SUITE(ServerSharedItems, SharedKeys);

TYPED_TEST(ServerSharedItems, AnswersAreThoseOfOneEngine) {
    // Few more than are shared out, so that an engine gets hardly any, or none.
    for (const std::uint64_t items : {1U, 99U, 100U, 128U, 129U, 193U, 1000U, 2500U}) {
        SCOPED_TRACE(items);
        this->expect_same(Message::lookup_kary, this->template request_for<protocol::LookupKary>(items), true,
                          false);
        for (const auto form :
             {protocol::LookupForm::numbered, protocol::LookupForm::tids, protocol::LookupForm::number}) {
            auto lookup = this->template request_for<protocol::LookupKary>(items);
            lookup.form = static_cast<std::uint32_t>(form);
            this->expect_same(Message::lookup_kary, lookup, true, false);
        }
        auto range = this->template request_for<protocol::RangeKary>(items);
        range.high = this->at_high;
        this->expect_same(Message::range_kary, range, true, false);
        range.with_keys = 1;
        this->expect_same(Message::range_kary, range, true, true);
        auto count = this->template request_for<protocol::CountKary>(items);
        count.high = this->at_high;
        count.blocks.all_visible = 1;
        this->expect_same(Message::count_kary, count, false, false);
        heap_facts::HeapFacts facts = heap_facts::HeapFacts::random(4013, this->random_);
        const auto placed = facts.place(this->alone_.buffer(), this->at_blocks);
        count.blocks = facts.place(this->shared_.buffer(), this->at_blocks);
        EXPECT_EQ(std::memcmp(&placed, &count.blocks, sizeof(placed)), 0);
        this->expect_same(Message::count_kary, count, true, false);
    }
}

TYPED_TEST(ServerSharedItems, ALaterVersionOfDeadEntriesIsNotLeftOut) {
    const std::vector<std::uint64_t> all_dead((3000 + 63) / 64, ~std::uint64_t(0));
    for (Client *client : {&this->shared_, &this->alone_}) {
        ASSERT_EQ(Client::answer_of(client->set_dead(run_name(1), all_dead, 2)), Answer::done);
    }
    auto request = this->template request_for<protocol::LookupKary>(500);
    request.run[0].dead_version = 2;
    std::string answers[2];
    for (Client *client : {&this->alone_, &this->shared_}) {
        this->write_items(*client, request.count, 3);
        const auto reply = client->template ask<protocol::ResultReply>(Message::lookup_kary, request);
        ASSERT_EQ(Client::answer_of(reply.header), Answer::done);
        EXPECT_EQ(client->template at<std::uint64_t>(reply.offsets_at[0])[request.count], 0U);
        answers[client == &this->shared_ ? 1 : 0] = this->told(*client, request, reply, true, false);
    }
    EXPECT_TRUE(answers[0] == answers[1]);
}

}  // namespace
