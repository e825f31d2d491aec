// Memory limits and what leaves to keep them, two loaders of one run, the queue, deadlines, cancellation.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "server/machine.h"
#include "server/net/connection.h"
#include "server/requests/request.h"

#include "server_runs.h"

namespace {

using namespace server_test;
using namespace std::chrono_literals;

constexpr std::uint64_t array_entries = 100000;
constexpr std::uint64_t array_bytes = array_entries * 10;  // and some per cent

class ServerLimits : public ServerTestOfEngine {
  protected:
    ServerLimits() : ServerTestOfEngine(4 << 20, for_testing()) {}

    void SetUp() override {
        ServerTestOfEngine::SetUp();
        skip_on_several_engines();
        if (IsSkipped()) {
            return;
        }
        client_->pages_at_once = 16;
        for (std::uint64_t i = 0; i < array_entries; ++i) {
            keys_.push_back(static_cast<std::uint32_t>(i));
            tids_.push_back(make_tid(i / 100, static_cast<std::uint16_t>(i % 100 + 1)));
        }
    }
    protocol::ReplyHeader configure(std::uint64_t memory_limit, std::uint64_t transfer_limit = 0,
                                    std::uint32_t queue_limit = 0) {
        protocol::Configure request{};
        for (std::uint64_t &limit : request.memory_limit) {
            limit = memory_limit;
        }
        request.transfer_limit = transfer_limit;
        request.queue_limit = queue_limit;
        return client_->call<protocol::ReplyHeader>(Message::configure, request);
    }
    ReplyResult load(std::uint64_t run, bool pinned = false) {
        return client_->load(run_name(run), keys_, tids_, pinned);
    }
    std::set<std::uint64_t> resident() {
        std::set<std::uint64_t> runs;
        const auto reply = client_->list(Message::mirrors, 0, 1 << 20);
        for (std::size_t i = 0; i < reply.rows; ++i) {
            runs.insert(client_->at<protocol::MirrorRow>(0)[i].name.run);
        }
        return runs;
    }
    std::uint64_t used() {
        return client_->list(Message::mirrors, 0, 0).memory_used[static_cast<std::size_t>(GetParam())];
    }
    protocol::LookupKary lookup_of(std::uint64_t run, std::uint64_t count) {
        auto request = about_runs<protocol::LookupKary>(32, {run});
        request.count = count;
        request.results = 1 << 20;
        request.capacity = 3 << 20;
        return request;
    }
    ReplyResult use(std::uint64_t run) {
        return Client::result_of(
            client_->call<protocol::ResultReply>(Message::lookup_kary, lookup_of(run, 1)).header);
    }

    std::vector<std::uint32_t> keys_;
    std::vector<Tid> tids_;
};
INSTANTIATE_TEST_SUITE_P(Engines, ServerLimits, every_engine(), engine_of);

TEST_P(ServerLimits, LeastRecentlyUsedLeaveFirst) {
    configure(3 * array_bytes * 12 / 10);
    for (std::uint64_t run = 1; run <= 3; ++run) {
        ASSERT_EQ(load(run), ReplyResult::done);
    }
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{1, 2, 3}));
    EXPECT_EQ(use(1), ReplyResult::done);
    ASSERT_EQ(load(4), ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{1, 3, 4}));
    EXPECT_EQ(use(2), ReplyResult::not_resident);
    EXPECT_EQ(use(3), ReplyResult::done);
    ASSERT_EQ(load(5), ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{3, 4, 5}));
    EXPECT_LE(used(), 3 * array_bytes * 12 / 10);
    // A lower limit lets go at once.
    configure(array_bytes * 15 / 10);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{5}));
    configure(1000);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{}));
    EXPECT_EQ(client_->begin_kary(run_name(6), array_entries, 32).header.status.code,
              StatusCode::out_of_memory);
    configure(0);
    EXPECT_EQ(load(6), ReplyResult::done);

    const protocol::StateReply state = client_->state();
    const protocol::EngineStanding &standing = state.engines[static_cast<std::size_t>(GetParam())];
    EXPECT_EQ(standing.loads, 6U);
    EXPECT_EQ(standing.evictions, 5U) << "all but the last";
    EXPECT_EQ(standing.refusals, 1U);
    EXPECT_EQ(standing.busy, 0U);
    EXPECT_EQ(standing.state, static_cast<std::uint32_t>(protocol::EngineState::ready));
    EXPECT_EQ(standing.memory_used, used());
    EXPECT_EQ(state.connections, 1U);
}

// A lookup takes its memory in several pieces. Whichever of them has no room, the mirror that nobody uses
// leaves. That mirror is larger than all pieces together, which are up to 26 bytes a key on a device.
TEST_P(ServerLimits, RoomIsMadeForAllPiecesOfARequest) {
    constexpr std::uint64_t keys = 30000;
    static_assert(keys * 26 < array_bytes);
    constexpr std::uint64_t step = 1 << 14;
    ASSERT_EQ(load(1), ReplyResult::done);
    ASSERT_EQ(load(2), ReplyResult::done);
    const std::uint64_t both = used();
    int left = 0;
    bool has_stayed = false;
    for (std::uint64_t room = 0; room < (8 << 20) && !has_stayed; room += step) {
        configure(0);
        ASSERT_EQ(load(2), ReplyResult::done);
        configure(both + room);
        ASSERT_EQ(resident(), (std::set<std::uint64_t>{1, 2}));
        const auto reply = client_->call<protocol::ResultReply>(Message::lookup_kary, lookup_of(1, keys));
        EXPECT_EQ(Client::result_of(reply.header), ReplyResult::done)
            << reply.header.status.message << " with room for " << room << " bytes";
        has_stayed = resident().contains(2);
        left += has_stayed ? 0 : 1;
    }
    EXPECT_GT(left, 1);
    EXPECT_TRUE(has_stayed);
}

// The last of several pieces is refused, and says little about what all of them need: what is guessed from it
// may be more than there is to drop, though what there is would do.
TEST_P(ServerLimits, AGuessThatIsTooLargeIsNoRefusal) {
    ASSERT_EQ(load(1), ReplyResult::done);
    const std::uint64_t mirror = used();
    const std::uint64_t piece = mirror * 6 / 10;
    configure(mirror + 5 * piece + piece / 2);
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
    {
        using namespace gpu_engine::server;
        Connection connection(*server_, sockets[0], 0);
        Work work{connection, GetParam(), server_->engines().of(GetParam()).first()};
        gpu_engine::Engine *engine = server_->engines().get(work.id);
        gpu_engine::MemoryBudget &memory = engine->memory();
        const gpu_engine::Status status = with_room_on(work, work.id, memory, [&] {
            if (!memory.reserve(5 * piece)) {
                return gpu_engine::make_status(StatusCode::out_of_memory, "the first piece");
            }
            const bool is_last = memory.reserve(piece);
            memory.release(is_last ? 6 * piece : 5 * piece);
            return is_last ? gpu_engine::Status{}
                           : gpu_engine::make_status(StatusCode::out_of_memory, "the last piece");
        });
        EXPECT_TRUE(status.ok()) << status.message;
    }
    close(sockets[0]);
    close(sockets[1]);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{}));
}

// A load of several runs, or a request about them, doesn't drop mirrors that the same purpose needs. What
// doesn't fit is refused, and what was loaded first stays.
TEST_P(ServerLimits, WhatIsNeededTogetherStaysTogether) {
    configure(3 * array_bytes * 12 / 10);
    ASSERT_EQ(load(9), ReplyResult::done);
    client_->purpose = 1;
    for (std::uint64_t run = 1; run <= 3; ++run) {
        ASSERT_EQ(load(run), ReplyResult::done);
    }
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{1, 2, 3})) << "others leave";
    EXPECT_EQ(client_->begin_kary(run_name(4), array_entries, 32).header.status.code,
              StatusCode::out_of_memory);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{1, 2, 3}));
    // A request that finds two of the mirrors needs these two; the third may go.
    client_->purpose = 2;
    EXPECT_EQ(use(1), ReplyResult::done);
    EXPECT_EQ(use(3), ReplyResult::done);
    ASSERT_EQ(load(4), ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{1, 3, 4}));
    EXPECT_EQ(client_->begin_kary(run_name(5), array_entries, 32).header.status.code,
              StatusCode::out_of_memory);
    // Another purpose, and a connection whose purpose has the same number, aren't bound by that.
    Client other(server_.path(), GetParam());
    other.purpose = 2;
    EXPECT_EQ(Client::result_of(other.begin_kary(run_name(5), array_entries, 32).header), ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{3, 4}));
}

// A session that forces a path may use memory that is free or whose mirrors nobody used lately, but it
// doesn't drop mirrors that other sessions used a moment ago.
TEST_P(ServerLimits, ForcedPathsDisturbNobody) {
    configure(3 * array_bytes * 12 / 10);
    for (std::uint64_t run = 1; run <= 3; ++run) {
        ASSERT_EQ(load(run), ReplyResult::done);
    }
    Client other(server_.path(), GetParam());
    other.forced = true;
    const auto refused = other.begin_kary(run_name(4), array_entries, 32);
    EXPECT_EQ(refused.header.status.code, StatusCode::out_of_memory);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "other sessions used lately",
                        static_cast<const char *>(refused.header.status.message));
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{1, 2, 3}));
    other.forced = false;
    EXPECT_EQ(Client::result_of(other.begin_kary(run_name(4), array_entries, 32).header), ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{2, 3}));
    // The session's own mirrors may go.
    client_->forced = true;
    EXPECT_EQ(Client::result_of(client_->begin_kary(run_name(5), array_entries, 32).header),
              ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{3}));
}

// Mirrors of a role, or of a database, replace each other when they reach a quota; what can't is refused, and
// says why. Others' stay.
TEST_P(ServerLimits, QuotasOfRolesAndDatabases) {
    constexpr std::uint64_t three = 3 * array_bytes * 12 / 10;
    configure(0);
    ASSERT_EQ(load(1), ReplyResult::done);
    client_->holder = {11, 0, three, 0};
    for (std::uint64_t run = 2; run <= 4; ++run) {
        ASSERT_EQ(load(run), ReplyResult::done);
    }
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{1, 2, 3, 4}));
    EXPECT_EQ(use(2), ReplyResult::done);
    ASSERT_EQ(load(5), ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{1, 2, 4, 5})) << "of the role the least recently used one";
    // The database's are all of these.
    client_->holder = {12, 0, 0, 2 * array_bytes * 12 / 10};
    ASSERT_EQ(load(6), ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{5, 6})) << "but two of the least recently used";
    protocol::RunName elsewhere = run_name(7);
    elsewhere.database = 6;
    ASSERT_EQ(client_->load(elsewhere, keys_, tids_), ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{5, 6, 7})) << "another database";
    // A load that alone, or beside pinned mirrors, exceeds the quota evicts nothing.
    client_->holder = {12, 0, array_bytes / 2, 0};
    auto refused = client_->begin_kary(run_name(8), array_entries, 32);
    EXPECT_EQ(refused.header.status.code, StatusCode::out_of_memory);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "role_mirror_quota",
                        static_cast<const char *>(refused.header.status.message));
    client_->holder = {13, 0, array_bytes * 12 / 10, 0};
    ASSERT_EQ(load(8, true), ReplyResult::done);
    EXPECT_EQ(client_->begin_kary(run_name(9), array_entries, 32).header.status.code,
              StatusCode::out_of_memory);
    client_->holder = {14, 0, 0, array_bytes / 2};
    refused = client_->begin_kary(run_name(9), array_entries, 32);
    EXPECT_EQ(refused.header.status.code, StatusCode::out_of_memory);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "database_mirror_quota",
                        static_cast<const char *>(refused.header.status.message));
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{5, 6, 7, 8}));
}

// A load counts for the quota from its beginning, until it is given up.
TEST_P(ServerLimits, QuotasCountWhatIsBeingLoaded) {
    client_->holder = {11, 0, 2 * array_bytes * 12 / 10 - array_bytes / 2, 0};
    const auto first = client_->begin_kary(run_name(1), array_entries, 32);
    ASSERT_EQ(Client::result_of(first.header), ReplyResult::done);
    Client other(server_.path(), GetParam());
    other.holder = client_->holder;
    EXPECT_EQ(other.begin_kary(run_name(2), array_entries, 32).header.status.code, StatusCode::out_of_memory);
    client_->drop(first.handle);
    EXPECT_EQ(Client::result_of(other.begin_kary(run_name(2), array_entries, 32).header), ReplyResult::done);
}

// Pinned mirrors stay, and an array that can't have enough room takes none from others.
TEST_P(ServerLimits, PinnedOnesStay) {
    configure(3 * array_bytes * 12 / 10);
    ASSERT_EQ(load(1, true), ReplyResult::done);
    ASSERT_EQ(load(2), ReplyResult::done);
    ASSERT_EQ(load(3, true), ReplyResult::done);
    ASSERT_EQ(load(4), ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{1, 3, 4}));
    EXPECT_EQ(client_->begin_kary(run_name(5), 2 * array_entries, 32).header.status.code,
              StatusCode::out_of_memory);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{1, 3, 4}));
    EXPECT_EQ(client_->evict(run_name(1)).mirrors, 1U);
    EXPECT_EQ(load(5), ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{3, 4, 5}));
}

// Loads are admitted by memory before they begin: of two that don't fit together the second is refused.
TEST_P(ServerLimits, LoadsReserveTheirMemory) {
    configure(array_bytes * 15 / 10);
    const auto first = client_->begin_kary(run_name(1), array_entries, 32);
    ASSERT_EQ(Client::result_of(first.header), ReplyResult::done);
    EXPECT_GE(used(), array_bytes);
    Client other(server_.path(), GetParam());
    EXPECT_EQ(other.begin_kary(run_name(2), array_entries, 32).header.status.code, StatusCode::out_of_memory);
    client_->drop(first.handle);
    EXPECT_EQ(used(), 0U);
    EXPECT_EQ(Client::result_of(other.begin_kary(run_name(2), array_entries, 32).header), ReplyResult::done);
    EXPECT_GE(used(), array_bytes);
    other.disconnect();
    EXPECT_TRUE(wait_until([&] { return used() == 0; }));
}

TEST_P(ServerLimits, TwoLoadersOfOneRun) {
    const auto first = client_->begin_kary(run_name(1), array_entries, 32);
    ASSERT_EQ(Client::result_of(first.header), ReplyResult::done);
    Client other(server_.path(), GetParam());
    ASSERT_EQ(Client::result_of(other.attach(1 << 20)), ReplyResult::done);
    EXPECT_EQ(Client::result_of(other.begin_kary(run_name(1), array_entries, 32).header),
              ReplyResult::loading);
    // When the first session gives up loading, the second one may.
    client_->disconnect();
    protocol::BeginReply second{};
    EXPECT_TRUE(wait_until([&] {
        second = other.begin_kary(run_name(1), array_entries, 32);
        return Client::result_of(second.header) == ReplyResult::done;
    }));
    ASSERT_EQ(Client::result_of(other.append(second.handle, keys_, tids_)), ReplyResult::done);
    ASSERT_EQ(Client::result_of(other.finish(second.handle).header), ReplyResult::done);
    ASSERT_EQ(Client::result_of(other.set_dead(run_name(1), {}, 9)), ReplyResult::done);
    const auto third = other.begin_kary(run_name(1), array_entries, 32);
    EXPECT_EQ(Client::result_of(third.header), ReplyResult::done);
    EXPECT_EQ(third.handle, 0U);
    EXPECT_EQ(third.dead_version, 9U);
}

TEST_P(ServerLimits, TransferBuffersAreLimited) {
    configure(0, 6 << 20);
    Client other(server_.path(), GetParam());
    EXPECT_EQ(other.attach(4 << 20).status.code, StatusCode::out_of_memory);
    EXPECT_EQ(Client::result_of(other.attach(2 << 20)), ReplyResult::done);
    // In place of one's own.
    EXPECT_EQ(Client::result_of(client_->attach(4 << 20)), ReplyResult::done);
    EXPECT_EQ(client_->attach(5 << 20).status.code, StatusCode::out_of_memory);
    EXPECT_EQ(Client::result_of(other.attach(6 << 20)), ReplyResult::done);
}

// Until somebody says otherwise, PostgreSQL's machine stays PostgreSQL's.
TEST_P(ServerLimits, DefaultsTakeAnEighthOfTheMachine) {
    configure(0);
    const auto reply = client_->list(Message::mirrors, 0, 0);
    const std::uint64_t mirrors = reply.memory_limit[static_cast<std::size_t>(EngineName::host)];
    EXPECT_GT(mirrors, 0U);
    EXPECT_GT(reply.transfer_limit, 0U);
    EXPECT_LE(mirrors + reply.transfer_limit, gpu_engine::server::read_machine().memory / 8);
}

// Requests that are refused memory in the middle let a mirror go and go on.
TEST_P(ServerLimits, RequestsTakeRoomFromUnusedMirrors) {
    ASSERT_EQ(load(1), ReplyResult::done);
    ASSERT_EQ(load(2), ReplyResult::done);
    // A device looks a few keys up without memory of its own.
    const protocol::LookupKary lookup = lookup_of(2, 1000);
    client_->inject(0);
    EXPECT_EQ(Client::result_of(client_->call<protocol::ResultReply>(Message::lookup_kary, lookup).header),
              ReplyResult::done);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{2}));
    // The only one left is in use.
    client_->inject(0);
    const auto reply = client_->call<protocol::ResultReply>(Message::lookup_kary, lookup);
    EXPECT_EQ(reply.header.status.code, StatusCode::out_of_memory);
    EXPECT_EQ(resident(), (std::set<std::uint64_t>{2}));
    EXPECT_EQ(use(2), ReplyResult::done);
}

TEST_P(ServerLimits, InjectionIsForTestsOnly) {
    ServerUnderTest plain;
    Client client(plain.path());
    EXPECT_EQ(client.inject(0).status.code, StatusCode::invalid_argument);
}

// A request that takes long: counting all entries of the run for every item.
protocol::CountKary long_count(Client &client, std::uint64_t run) {
    auto request = about_runs<protocol::CountKary>(32, {run});
    request.count = 100000;
    request.high = 1 << 19;
    request.blocks = {1 << 20, (1 << 20) / sizeof(gpu_engine::BlockGroup), 0, 0, 1, 0};
    request.results = 2 << 20;
    request.capacity = 2 << 20;
    std::memset(client.buffer(), 0, 1 << 19);
    std::memset(client.buffer() + (1 << 19), 0xff, 3 * (1 << 19));
    return request;
}

TEST_P(ServerLimits, DeadlinesEndRequests) {
    ASSERT_EQ(load(1), ReplyResult::done);
    client_->deadline_ms = 100;
    const auto began = std::chrono::steady_clock::now();
    const auto reply = client_->call<protocol::ResultReply>(Message::count_kary, long_count(*client_, 1));
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_EQ(reply.header.status.code, StatusCode::cancelled);
    EXPECT_STREQ(reply.header.status.message, "the request's time is up");
    EXPECT_GE(took, 90ms);
    // The next one isn't cancelled.
    client_->deadline_ms = 10000;
    EXPECT_EQ(use(1), ReplyResult::done);
    EXPECT_EQ(server_.given_up(), 0);
}

TEST_P(ServerLimits, ClosedConnectionsEndRequests) {
    ASSERT_EQ(load(1), ReplyResult::done);
    const std::uint64_t before = used();
    for (int i = 0; i < 5; ++i) {
        Client other(server_.path(), GetParam());
        ASSERT_EQ(Client::result_of(other.attach(4 << 20)), ReplyResult::done);
        protocol::CountKary request = long_count(other, 1);
        ASSERT_TRUE(other.send_request(Message::count_kary, &request));
        std::this_thread::sleep_for(std::chrono::milliseconds(10 * i));
        other.disconnect();
        EXPECT_TRUE(wait_until([&] { return server_->connections() == 1; }));
        EXPECT_EQ(used(), before);
    }
}

// The queue admits so many, lets so many wait, and tells the others to go elsewhere. Those who wait leave
// when their session does.
TEST_P(ServerLimits, TheQueueIsBounded) {
    ASSERT_EQ(load(1), ReplyResult::done);
    configure(0, 0, 3);
    std::vector<std::unique_ptr<Client>> clients;
    // Enough to fill all places and the queue: the longest of both is 16.
    for (int i = 0; i < 40; ++i) {
        clients.push_back(std::make_unique<Client>(server_.path(), GetParam()));
        ASSERT_EQ(Client::result_of(clients.back()->attach(4 << 20)), ReplyResult::done);
        protocol::CountKary request = long_count(*clients.back(), 1);
        ASSERT_TRUE(clients.back()->send_request(Message::count_kary, &request));
    }
    EXPECT_TRUE(wait_until([&] { return client_->list(Message::mirrors, 0, 0).queued == 3; }));
    const auto refused = client_->call<protocol::ResultReply>(Message::lookup_kary, lookup_of(1, 1));
    EXPECT_EQ(Client::result_of(refused.header), ReplyResult::busy);
    const protocol::StateReply state = client_->state();
    EXPECT_EQ(state.engines[static_cast<std::size_t>(GetParam())].waiting, 3U);
    EXPECT_GE(state.engines[static_cast<std::size_t>(GetParam())].busy, 1U);
    EXPECT_EQ(state.connections, 41U);
    // Requests that don't compute are answered.
    EXPECT_EQ(Client::result_of(
                  client_->call<protocol::HelloReply>(Message::ping, protocol::RequestHeader{}).header),
              ReplyResult::done);
    for (const auto &client : clients) {
        client->disconnect();
    }
    EXPECT_TRUE(wait_until([&] { return server_->connections() == 1; }));
    EXPECT_EQ(client_->list(Message::mirrors, 0, 0).queued, 0U);
    EXPECT_EQ(use(1), ReplyResult::done);
}

// An evicted array lives until the request on it ends.
TEST_P(ServerLimits, EvictedWhileInUse) {
    ASSERT_EQ(load(1), ReplyResult::done);
    Client other(server_.path(), GetParam());
    ASSERT_EQ(Client::result_of(other.attach(4 << 20)), ReplyResult::done);
    protocol::CountKary request = long_count(other, 1);
    request.count = 2000;
    ASSERT_TRUE(other.send_request(Message::count_kary, &request));
    EXPECT_TRUE(wait_until([&] {
        const auto reply = client_->list(Message::statistics, 0, 0);
        return reply.memory_used[static_cast<std::size_t>(GetParam())] > array_bytes * 103 / 100 ||
               server_->mirrors().find(GetParam(), run_name(1), {}).use_count() > 2;
    }));
    EXPECT_EQ(client_->evict(run_name(1)).mirrors, 1U);
    protocol::ResultReply reply;
    ASSERT_TRUE(other.receive_reply(&reply));
    ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
    EXPECT_EQ(other.at<std::uint64_t>(request.results)[0], array_entries);
    EXPECT_TRUE(wait_until([&] { return used() == 0; }));
}

}  // namespace
