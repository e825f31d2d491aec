// Engines that come late, don't come, or are lost; and the watcher by itself. A host engine stands in for the
// device.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "gpu_engine/kary.h"
#include "server_runs.h"
#include "emulated_engine.h"

namespace {

using namespace server_test;
using namespace std::chrono_literals;
using gpu_engine::Engine;
using gpu_engine::EngineOptions;
using gpu_engine::make_status;
using gpu_engine::Status;
using gpu_engine::Stream;

gpu_engine::server::Options with_emulated_device(Stand &stand) {
    gpu_engine::server::Options options;
    options.open_device = [&stand](const EngineOptions &, std::unique_ptr<Engine> *engine) {
        while (!stand.may_open) {
            std::this_thread::sleep_for(1ms);
        }
        if (stand.broken) {
            return make_status(StatusCode::unavailable, "no device");
        }
        *engine = std::make_unique<StandIn>(stand);
        ++stand.opened;
        return Status{};
    };
    return options;
}

// Sessions are greeted and served by the host while a device is being opened.
TEST(ServerEngines, DevicesMayTakeTheirTime) {
    Stand stand;
    stand.may_open = false;
    ServerUnderTest server(with_emulated_device(stand));
    Client client;
    ASSERT_TRUE(client.connect(server.path()));
    const protocol::HelloReply hello = client.hello();
    EXPECT_EQ(hello.engines, 1U);
    EXPECT_EQ(hello.opening, 2U);
    const auto device_state = [&client] {
        return static_cast<protocol::EngineState>(client.state().engines[1].state);
    };
    EXPECT_EQ(device_state(), protocol::EngineState::opening);
    EXPECT_EQ(Client::result_of(client.attach(1 << 20)), ReplyResult::done);
    EXPECT_EQ(Client::result_of(client.begin_kary(run_name(1), 10, 64).header), ReplyResult::done);
    client.engine = EngineName::cuda;
    EXPECT_EQ(Client::result_of(client.begin_kary(run_name(1), 10, 64).header), ReplyResult::busy);
    // A limit that is set meanwhile holds afterwards.
    protocol::Configure limits{};
    limits.memory_limit[1] = 123 << 20;
    client.call<protocol::ReplyHeader>(Message::configure, limits);
    EXPECT_EQ(client.list(Message::devices, 0, 4096).rows, 0U);
    stand.may_open = true;
    ASSERT_TRUE(server.has(EngineName::cuda));
    const auto pong = client.call<protocol::HelloReply>(Message::ping, protocol::RequestHeader{});
    EXPECT_EQ(pong.engines, 3U);
    EXPECT_EQ(pong.opening, 0U);
    EXPECT_EQ(device_state(), protocol::EngineState::ready);
    EXPECT_STREQ(client.state().why_no_device, "");
    EXPECT_EQ(pong.start, hello.start);
    EXPECT_EQ(Client::result_of(client.begin_kary(run_name(1), 10, 64).header), ReplyResult::done);
    const auto devices = client.list(Message::devices, 0, 4096);
    EXPECT_EQ(devices.rows, 1U);
    EXPECT_STREQ(client.at<protocol::DeviceRow>(0)->info.name, "emulated");
    EXPECT_EQ(devices.memory_limit[1], 123U << 20);
    // The default: half of what is free.
    limits = {};
    client.call<protocol::ReplyHeader>(Message::configure, limits);
    EXPECT_EQ(client.list(Message::devices, 0, 4096).memory_limit[1], 400U << 20);
}

TEST(ServerEngines, DevicesMayNotCome) {
    Stand stand;
    stand.broken = true;
    ServerUnderTest server(with_emulated_device(stand));
    EXPECT_FALSE(server.has(EngineName::cuda));
    Client client(server.path(), EngineName::cuda);
    EXPECT_EQ(client.begin_kary(run_name(1), 10, 64).header.status.code, StatusCode::unavailable);
    EXPECT_EQ(client.call<protocol::HelloReply>(Message::ping, protocol::RequestHeader{}).engines, 1U);
    const protocol::StateReply state = client.state();
    EXPECT_EQ(state.engines[0].state, static_cast<std::uint32_t>(protocol::EngineState::ready));
    EXPECT_EQ(state.engines[1].state, static_cast<std::uint32_t>(protocol::EngineState::absent));
    EXPECT_STREQ(state.why_no_device, "no device");
    EXPECT_GT(state.started_at, 0);
    EXPECT_EQ(server.given_up(), 0);
}

// PostgreSQL may start before the driver does.
TEST(ServerEngines, OpeningIsTriedAgain) {
    Stand stand;
    stand.broken = true;
    auto options = with_emulated_device(stand);
    options.first_retry_milliseconds = 1;
    options.longest_retry_milliseconds = 4;
    ServerUnderTest server(options);
    EXPECT_FALSE(server.has(EngineName::cuda));
    Client client(server.path(), EngineName::cuda);
    const auto refused = client.begin_kary(run_name(1), 10, 64).header;
    EXPECT_EQ(refused.status.code, StatusCode::unavailable);
    EXPECT_STREQ(refused.status.message, "no cuda engine: no device") << "sessions are told why";
    stand.broken = false;
    while (Client::result_of(client.begin_kary(run_name(1), 10, 64).header) != ReplyResult::done) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(server.given_up(), 0);
}

// Sessions don't wait for an opening that hangs, and have the device if it ends after all.
TEST(ServerEngines, AnOpeningMayHang) {
    Stand stand;
    stand.may_open = false;
    auto options = with_emulated_device(stand);
    options.slow_opening_milliseconds = 1;
    ServerUnderTest server(options);
    Client client(server.path(), EngineName::cuda);
    const auto result = [&] { return Client::result_of(client.begin_kary(run_name(1), 10, 64).header); };
    while (result() != ReplyResult::failed) {
        std::this_thread::sleep_for(10ms);
    }
    stand.may_open = true;
    while (result() != ReplyResult::done) {
        std::this_thread::sleep_for(1ms);
    }
}

// The same while it is being found out what devices there are.
TEST(ServerEngines, FindingDevicesMayHang) {
    Stand stand;
    std::atomic<bool> may_find{false};
    auto options = with_emulated_device(stand);
    options.slow_opening_milliseconds = 1;
    options.identify_devices = [&may_find](std::vector<gpu_engine::DeviceIdentity> *devices) {
        while (!may_find) {
            std::this_thread::sleep_for(1ms);
        }
        devices->push_back({0, "GPU-00000000-0000-0000-0000-00000000000a", "0000:01:00.0"});
        devices->push_back({1, "GPU-00000000-0000-0000-0000-00000000000b", "0000:02:00.0"});
        return Status{};
    };
    ServerUnderTest server(options);
    Client client(server.path(), EngineName::cuda);
    const auto result = [&] { return Client::result_of(client.begin_kary(run_name(1), 10, 64).header); };
    while (result() != ReplyResult::failed) {
        std::this_thread::sleep_for(10ms);
    }
    may_find = true;
    while (result() != ReplyResult::done) {
        std::this_thread::sleep_for(1ms);
    }
    // Both of them are opened, sooner or later.
    while (stand.opened < 2) {
        std::this_thread::sleep_for(1ms);
    }
}

TEST(ServerEngines, LostDevicesEndTheServer) {
    Stand stand;
    ServerUnderTest server(with_emulated_device(stand));
    ASSERT_TRUE(server.has(EngineName::cuda));
    Client client(server.path(), EngineName::cuda);
    EXPECT_EQ(Client::result_of(client.begin_kary(run_name(1), 10, 64).header), ReplyResult::done);
    stand.broken = true;
    Client other(server.path(), EngineName::cuda);
    EXPECT_EQ(other.begin_kary(run_name(2), 10, 64).header.status.code, StatusCode::internal);
    EXPECT_EQ(server.given_up(), 1);
    Client third(server.path(), EngineName::cuda);
    EXPECT_NE(third.begin_kary(run_name(2), 10, 64).header.status.code, StatusCode::ok);
    EXPECT_EQ(server.given_up(), 1) << "once is enough";
    EXPECT_EQ(third.call<protocol::HelloReply>(Message::ping, protocol::RequestHeader{}).engines, 1U);
}

// Buffers are pinned with the first request that computes on the device, once, and let go with their
// connection or when another takes their place.
TEST(ServerEngines, BuffersArePinnedWhenNeeded) {
    Stand stand;
    ServerUnderTest server(with_emulated_device(stand));
    ASSERT_TRUE(server.has(EngineName::cuda));
    Client client(server.path());
    ASSERT_EQ(Client::result_of(client.attach(1 << 20)), ReplyResult::done);
    client.begin_kary(run_name(1), 10, 64);
    EXPECT_EQ(stand.pins, 0);
    client.engine = EngineName::cuda;
    client.begin_kary(run_name(2), 10, 64);
    client.begin_kary(run_name(3), 10, 64);
    EXPECT_EQ(stand.pins, 1);
    EXPECT_EQ(stand.pinned, 1);
    ASSERT_EQ(Client::result_of(client.attach(2 << 20)), ReplyResult::done);
    EXPECT_EQ(stand.pinned, 0);
    client.begin_kary(run_name(4), 10, 64);
    EXPECT_EQ(stand.pins, 2);
    EXPECT_EQ(stand.pinned, 1);
    client.disconnect();
    EXPECT_TRUE(wait_until([&] { return stand.pinned == 0; }));
}

// ---- The watcher -----------------------------------------------------------------------------------------

struct Watched {
    std::atomic<int> cancelled{0};
    std::atomic<int> stuck{0};
    gpu_engine::server::Watcher watcher{[this] { ++cancelled; }, [this] { ++stuck; }, 50ms};
    gpu_engine::server::Activity activity;
    const protocol::RequestHeader request{};
    Stream stream;
    int sockets[2] = {-1, -1};

    Watched() {
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
        watcher.add(activity, sockets[0]);
    }
    ~Watched() {
        watcher.remove(activity, sockets[0]);
        close(sockets[0]);
        if (sockets[1] >= 0) {
            close(sockets[1]);
        }
    }
};

constexpr auto never = std::chrono::steady_clock::time_point::max();

TEST(ServerWatcher, CancelsWhenThePeerEnds) {
    Watched watched;
    watched.watcher.begin(watched.activity, watched.request, never);
    watched.watcher.computes_on(watched.activity, &watched.stream);
    EXPECT_FALSE(watched.watcher.cancelled(watched.activity));
    // Sending something does not end the connection.
    EXPECT_EQ(send(watched.sockets[1], "x", 1, 0), 1);
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(watched.stream.cancelled());
    close(watched.sockets[1]);
    watched.sockets[1] = -1;
    EXPECT_TRUE(wait_until([&] { return watched.stream.cancelled() && watched.cancelled == 1; }));
    EXPECT_FALSE(watched.watcher.too_late(watched.activity));
    watched.watcher.end(watched.activity);
    // The peer is gone for good, so the next request is cancelled from the start.
    watched.watcher.begin(watched.activity, watched.request, never);
    EXPECT_TRUE(watched.watcher.cancelled(watched.activity));
    watched.watcher.computes_on(watched.activity, &watched.stream);
    EXPECT_TRUE(watched.stream.cancelled());
    watched.watcher.end(watched.activity);
}

TEST(ServerWatcher, CancelsWhenTheTimeIsUp) {
    Watched watched;
    watched.watcher.begin(watched.activity, watched.request, std::chrono::steady_clock::now() + 20ms);
    watched.watcher.computes_on(watched.activity, &watched.stream);
    EXPECT_TRUE(wait_until([&] { return watched.stream.cancelled(); }));
    EXPECT_TRUE(watched.watcher.too_late(watched.activity));
    watched.watcher.end(watched.activity);
    // A deadline of an earlier request doesn't end a later one.
    watched.watcher.begin(watched.activity, watched.request, std::chrono::steady_clock::now() + 20ms);
    watched.watcher.end(watched.activity);
    watched.watcher.begin(watched.activity, watched.request, std::chrono::steady_clock::now() + 10s);
    watched.watcher.computes_on(watched.activity, &watched.stream);
    std::this_thread::sleep_for(60ms);
    EXPECT_FALSE(watched.stream.cancelled());
    // A deadline that comes before the one that the watcher waits for.
    watched.watcher.end(watched.activity);
    watched.watcher.begin(watched.activity, watched.request, std::chrono::steady_clock::now() + 20ms);
    watched.watcher.computes_on(watched.activity, &watched.stream);
    EXPECT_TRUE(wait_until([&] { return watched.stream.cancelled(); }));
    watched.watcher.end(watched.activity);
    EXPECT_EQ(watched.stuck, 0);
}

TEST(ServerWatcher, TellsOfRequestsThatGoOn) {
    Watched watched;
    watched.watcher.begin(watched.activity, watched.request, std::chrono::steady_clock::now() + 10ms);
    EXPECT_TRUE(wait_until([&] { return watched.stuck > 0; }));
    watched.watcher.end(watched.activity);
}

}  // namespace
