// Several engines of a kind in one server: where runs go, and what happens when one of the engines is lost.
// The results of requests that are spread over engines are compared by the tests of each kind of request,
// which run on three emulated devices for devices.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <new>
#include <numeric>

#include "server/requests/part_threads.h"
#include "server/requests/request.h"
#include "server/requests/run_set.h"
#include "server_checks.h"
#include "server_several_engines.h"
#include "emulated_engine.h"

namespace {

using namespace server_test;

constexpr std::uint32_t engines = 3;

class ServerSpread : public ServerOfSeveralEngines {
  protected:
    static gpu_engine::server::Options three_hosts() {
        gpu_engine::server::Options options;
        options.host_engines = engines;
        options.uses_devices = false;
        options.testing = true;
        return options;
    }

    ServerSpread() : ServerOfSeveralEngines(three_hosts(), EngineName::host) {}
};

TEST_F(ServerSpread, RunsAreSharedOutAndResultsAddedUp) {
    load_runs(6);
    std::vector<std::int32_t> held = holders(6);
    std::sort(held.begin(), held.end());
    EXPECT_EQ(held, (std::vector<std::int32_t>{0, 0, 1, 1, 2, 2}));
    ASSERT_EQ(Client::result_of(count_runs(6).header), ReplyResult::done);
    EXPECT_EQ(counted(), 600U);
    // All runs of one engine take the way without parts.
    ASSERT_EQ(Client::result_of(count_runs(1).header), ReplyResult::done);
    EXPECT_EQ(counted(), 100U);
}

TEST_F(ServerSpread, ALimitOfEachEngineHoldsForItself) {
    load_runs(1);
    const std::uint64_t bytes = client_.list(Message::mirrors, 0, 65536).memory_used[0];
    client_.evict(run_name(1));
    limit_memory(client_, EngineName::host, bytes + bytes / 2);
    // More than one engine could hold, and as much as all hold together.
    client_.purpose = 7;
    load_runs(3);
    ASSERT_EQ(Client::result_of(count_runs(3).header), ReplyResult::done);
    EXPECT_EQ(counted(), 300U);
    // Runs that a request needs together stay, so the fourth is refused, and nothing is evicted for it.
    EXPECT_EQ(client_.begin_kary(run_name(4), entries, 64).header.status.code, StatusCode::out_of_memory);
    EXPECT_EQ(client_.list(Message::mirrors, 0, 65536).rows, 3U);
    const protocol::StateReply state = client_.state();
    EXPECT_EQ(state.engines[0].loads, 4U);
    EXPECT_EQ(state.engines[0].evictions, 0U);
    // For another purpose the one goes that was used longest ago.
    client_.purpose = 8;
    EXPECT_EQ(client_.load(run_name(4), keys_, tids_), ReplyResult::done);
    EXPECT_EQ(client_.state().engines[0].evictions, 1U);
}

// Runs of columns alone are divided (server_column_parts_test.cpp).
TEST_F(ServerSpread, ARunThatNoEngineHasRoomForIsRefused) {
    load_runs(1);
    const std::uint64_t bytes = client_.list(Message::mirrors, 0, 65536).memory_used[0];
    client_.evict(run_name(1));
    limit_memory(client_, EngineName::host, bytes / 2);
    EXPECT_EQ(client_.begin_kary(run_name(1), entries, 64).header.status.code, StatusCode::out_of_memory);
    EXPECT_EQ(client_.list(Message::mirrors, 0, 65536).rows, 0U);
}

TEST_F(ServerSpread, ALostEngineEndsAlone) {
    load_runs(6);
    const std::vector<std::int32_t> before = holders(6);
    lose(1);
    const protocol::ResultReply lacking = count_runs(6);
    ASSERT_EQ(Client::result_of(lacking.header), ReplyResult::not_resident);
    for (std::size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ((lacking.header.lacking >> i) & 1, before[i] == 1 ? 1U : 0U) << i;
    }
    EXPECT_EQ(server_.given_up(), 0);
    // Its runs are loaded on the engines of the others.
    load_runs(6);
    for (const std::int32_t device : holders(6)) {
        EXPECT_TRUE(device == 0 || device == 2);
    }
    ASSERT_EQ(Client::result_of(count_runs(6).header), ReplyResult::done);
    EXPECT_EQ(counted(), 600U);
    const std::vector<protocol::DeviceRow> rows = devices();
    ASSERT_EQ(rows.size(), engines);
    for (const protocol::DeviceRow &row : rows) {
        const auto state = static_cast<protocol::EngineState>(row.state);
        EXPECT_EQ(state, row.info.device == 1 ? protocol::EngineState::lost : protocol::EngineState::ready);
        EXPECT_EQ(row.why_not[0] != '\0', row.info.device == 1);
        EXPECT_GT(row.memory_limit, 0U);
    }
    EXPECT_EQ(client_.call<protocol::HelloReply>(Message::ping, protocol::RequestHeader{}).engines, 1U);

    // The last one's end is the server's.
    lose(0);
    EXPECT_EQ(Client::result_of(count_runs(6).header), ReplyResult::not_resident);
    EXPECT_EQ(server_.given_up(), 0);
    load_runs(6);
    ASSERT_EQ(Client::result_of(count_runs(6).header), ReplyResult::done);
    lose(2);
    EXPECT_EQ(count_runs(6).header.status.code, StatusCode::unavailable);
    EXPECT_EQ(server_.given_up(), 1);
}

// A request about a run is sent to the engine that has it, and the run is then loaded on another engine.
TEST_F(ServerSpread, WhatHasMovedMeanwhileIsLackingAndNotLeftOut) {
    namespace server = gpu_engine::server;
    load_runs(1);
    const auto held_by = static_cast<server::EngineId>(holders(1)[0]);
    const server::EngineId chosen = (held_by + 1) % engines;
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    {
        server::Connection connection(*server_, sockets[0], getpid());
        server::Work work{connection, EngineName::host, chosen, server_->engines().get(chosen)};
        std::unique_ptr<gpu_engine::Stream> stream;
        ASSERT_TRUE(work.engine->open_stream(&stream).ok());
        work.stream = stream.get();

        protocol::SetDead dead{};
        dead.name = run_name(1);
        dead.version = 5;
        protocol::ReplyHeader reply{};
        server::handle_set_dead(work, dead, reply);
        EXPECT_EQ(Client::result_of(reply), ReplyResult::not_resident);
        EXPECT_EQ(reply.lacking, 1U);

        protocol::RunUse use{};
        use.name = run_name(1);
        reply = {};
        EXPECT_FALSE(server::RunSet(work, &use, 1, 64, reply).complete());
        EXPECT_EQ(Client::result_of(reply), ReplyResult::not_resident);
        EXPECT_EQ(reply.lacking, 1U);

        work.id = held_by;
        work.engine = server_->engines().get(held_by);
        reply = {};
        EXPECT_TRUE(server::RunSet(work, &use, 1, 64, reply).complete());
    }
    close(sockets[0]);
    close(sockets[1]);
}

TEST_F(ServerSpread, AnEngineWhoseEntriesAreAllDeadCountsNone) {
    load_runs(3);
    for (std::uint64_t dead_runs = 1; dead_runs <= 3; ++dead_runs) {
        const std::vector<std::uint64_t> dead((entries + 63) / 64, ~std::uint64_t(0));
        ASSERT_EQ(Client::result_of(client_.set_dead(run_name(dead_runs), dead, 1)), ReplyResult::done);
        ASSERT_EQ(Client::result_of(count_runs(3).header), ReplyResult::done);
        EXPECT_EQ(counted(), (3 - dead_runs) * 100);
    }
}

TEST_F(ServerSpread, WithoutMemoryInOnePartTheRequestFailsAlone) {
    load_runs(6);
    ASSERT_EQ(Client::result_of(count_runs(6).header), ReplyResult::done);
    for (std::uint32_t number = 0; number < engines; ++number) {
        protocol::Inject request{};
        request.number = number;
        request.refuse_after = 0;
        client_.call<protocol::ReplyHeader>(Message::inject, request);
        // Whether it is answered or fails, the next one is answered.
        count_runs(6);
        ASSERT_EQ(Client::result_of(count_runs(6).header), ReplyResult::done);
        EXPECT_EQ(counted(), 600U);
        request.refuse_after = -1;
        client_.call<protocol::ReplyHeader>(Message::inject, request);
    }
}

// ---- devices by their identity ----------------------------------------------------------------------------

gpu_engine::server::Options with_four_devices(std::vector<Stand> &stands, const char *list) {
    gpu_engine::server::Options options;
    options.devices = list;
    options.identify_devices = [](std::vector<gpu_engine::DeviceIdentity> *devices) {
        devices->push_back({0, "GPU-00000000-0000-0000-0000-00000000000a", "0000:01:00.0"});
        devices->push_back({1, "GPU-00000000-0000-0000-0000-00000000000b", "0000:02:00.0"});
        devices->push_back({2, "GPU-00000000-0000-0000-0000-00000000000c", "0000:03:00.0"});
        devices->push_back({3, "GPU-00000000-0000-0000-0000-00000000000d", "0000:04:00.0"});
        return gpu_engine::Status{};
    };
    options.open_device = [&stands](const gpu_engine::EngineOptions &wanted,
                                    std::unique_ptr<gpu_engine::Engine> *engine) {
        Stand &stand = stands[static_cast<std::size_t>(wanted.device)];
        stand.device = wanted.device;
        if (stand.broken) {
            return gpu_engine::make_status(StatusCode::unavailable, "it is broken");
        }
        *engine = std::make_unique<StandIn>(stand);
        return gpu_engine::Status{};
    };
    return options;
}

// Returns the rows of gpu.devices(): number, state and reason.
std::string reported_devices(ServerUnderTest &server) {
    static_cast<void>(server.has(EngineName::cuda));
    Client client(server.path());
    EXPECT_EQ(Client::result_of(client.attach(1 << 20)), ReplyResult::done);
    const auto reply = client.list(Message::devices, 0, 65536);
    std::string reported;
    for (std::uint64_t i = 0; i < reply.rows; ++i) {
        const auto &row = client.at<protocol::DeviceRow>(0)[i];
        reported += std::to_string(row.info.device) + " " + row.pci + " " + std::to_string(row.state) +
                    (row.why_not[0] != '\0' ? std::string(" ") + row.why_not : "") + "; ";
    }
    return reported;
}

TEST(ServerDevices, AllAreUsedUnlessSomeAreNamed) {
    std::vector<Stand> stands(4);
    {
        ServerUnderTest server(with_four_devices(stands, ""));
        EXPECT_EQ(reported_devices(server),
                  "0 0000:01:00.0 2; 1 0000:02:00.0 2; 2 0000:03:00.0 2; 3 0000:04:00.0 2; ");
    }
    {
        ServerUnderTest server(with_four_devices(stands, "GPU-00000000-0000-0000-0000-00000000000d, 1"));
        EXPECT_EQ(reported_devices(server), "3 0000:04:00.0 2; 1 0000:02:00.0 2; ");
    }
}

TEST(ServerDevices, WhatIsNotThereIsTold) {
    std::vector<Stand> stands(4);
    stands[2].broken = true;
    ServerUnderTest server(with_four_devices(stands, "GPU-99999999-0000-0000-0000-00000000000d,2,0,7"));
    EXPECT_EQ(reported_devices(server),
              "-1  0 pg_gpu.devices names 9999999900000000000000000000000d, and there is no such device; "
              "2 0000:03:00.0 0 it is broken; 0 0000:01:00.0 2; "
              "7  0 pg_gpu.devices names 7, and there is no such device; ");
    // One device serves.
    Client client(server.path(), EngineName::cuda);
    EXPECT_EQ(Client::result_of(client.begin_kary(run_name(1), 10, 64).header), ReplyResult::done);
    EXPECT_EQ(server.given_up(), 0);
}

// The failure is the caller's, once all parts have ended, whichever thread it happened in.
TEST(PartThreads, AFailureIsTheCallers) {
    constexpr std::size_t parts = 4;
    gpu_engine::server::PartThreads threads;
    for (std::size_t failing = 0; failing < parts; ++failing) {
        std::latch all_began(parts);
        std::atomic<std::size_t> ended{0};
        EXPECT_THROW(threads.run(parts,
                                 [&](std::size_t part) {
                                     all_began.arrive_and_wait();
                                     if (part == failing) {
                                         throw std::bad_alloc();
                                     }
                                     ++ended;
                                 }),
                     std::bad_alloc);
        EXPECT_EQ(ended, parts - 1);
    }
    std::atomic<std::size_t> ended{0};
    threads.run(parts, [&](std::size_t) { ++ended; });
    EXPECT_EQ(ended, parts) << "what failed before isn't reported again";
}

}  // namespace
