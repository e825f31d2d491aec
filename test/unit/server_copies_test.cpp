// Copies of runs that many ask at once: when they are made, that they answer, and when they leave.
#include <numeric>

#include "server_checks.h"
#include "server_client.h"

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

}  // namespace
