// The host engine has the runs that devices have no room for, and the same request reads them there. The
// devices are emulated.
#include "server_several_engines.h"

namespace {

using namespace server_test;

class ServerOverflow : public ServerOfSeveralEngines {
  protected:
    static gpu_engine::server::Options with_emulated_devices(std::uint32_t count) {
        gpu_engine::server::Options options;
        options.emulated_devices = count;
        options.testing = true;
        return options;
    }

    explicit ServerOverflow(std::uint32_t devices = 2)
        : ServerOfSeveralEngines(with_emulated_devices(devices), EngineName::cuda) {
        load_runs(1);
        run_bytes_ = memory_used(EngineName::cuda);
        client_.evict(run_name(1));
    }

    void limit(std::uint64_t device, std::uint64_t host) {
        protocol::Configure request{};
        request.memory_limit[static_cast<std::size_t>(EngineName::cuda)] = device;
        request.memory_limit[static_cast<std::size_t>(EngineName::host)] = host;
        EXPECT_EQ(Client::result_of(client_.call<protocol::ReplyHeader>(Message::configure, request)),
                  ReplyResult::done);
    }
    std::uint64_t memory_used(EngineName kind) {
        return client_.list(Message::mirrors, 0, 65536).memory_used[static_cast<std::size_t>(kind)];
    }
    std::uint64_t mirrors() { return client_.list(Message::mirrors, 0, 65536).rows; }
    std::uint64_t evictions() {
        return client_.state().engines[0].evictions + client_.state().engines[1].evictions;
    }
    void expect_counted(std::uint64_t runs) {
        const protocol::ResultReply reply = count_runs(runs);
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        EXPECT_EQ(counted(), runs * 100);
    }
    StatusCode begin(std::uint64_t run) {
        return client_.begin_kary(run_name(run), entries, 64).header.status.code;
    }

    std::uint64_t run_bytes_ = 0;
};

class ServerOverflowOfOne : public ServerOverflow {
  protected:
    ServerOverflowOfOne() : ServerOverflow(1) {}
};

constexpr std::int32_t on_host = -1;

TEST_F(ServerOverflow, TheRestLiesWithTheHostAndIsAskedToo) {
    limit(run_bytes_ * 7 / 5, run_bytes_ * 12 / 5);
    client_.purpose = 7;
    load_runs(4);
    std::vector<std::int32_t> held = holders(4);
    std::sort(held.begin(), held.end());
    EXPECT_EQ(held, (std::vector<std::int32_t>{on_host, on_host, 0, 1}));
    expect_counted(4);
    // Those of the host alone take the way without parts.
    for (std::uint64_t run = 1; run <= 4; ++run) {
        EXPECT_EQ(parts_of(run).front().engine, static_cast<std::uint32_t>(EngineName::cuda));
    }
    // If no engine has room, runs that the same request needs aren't evicted.
    EXPECT_EQ(begin(5), StatusCode::out_of_memory);
    EXPECT_EQ(mirrors(), 4U);
    expect_counted(4);
    EXPECT_EQ(evictions(), 0U);
    // For another purpose the one goes that was used longest ago.
    client_.purpose = 8;
    EXPECT_EQ(client_.load(run_name(5), keys_, tids_), ReplyResult::done);
    EXPECT_EQ(evictions(), 1U);
}

TEST_F(ServerOverflow, WhatIsUsedStaysWhereTheHostHasRoom) {
    limit(run_bytes_ * 7 / 5, run_bytes_ * 20);
    for (std::uint64_t run = 1; run <= 10; ++run) {
        client_.purpose = static_cast<std::uint32_t>(run);
        ASSERT_EQ(client_.load(run_name(run), keys_, tids_), ReplyResult::done);
    }
    EXPECT_EQ(evictions(), 0U);
    expect_counted(10);
    EXPECT_EQ(memory_used(EngineName::host), 8 * run_bytes_);
}

// A device that is the only one takes requests without a look at who has what, as long as it has all.
TEST_F(ServerOverflowOfOne, ASingleDeviceHasAnOverflowToo) {
    limit(run_bytes_ * 3 / 2, 0);
    load_runs(1);
    expect_counted(1);
    load_runs(4);
    EXPECT_EQ(holders(4), (std::vector<std::int32_t>{0, on_host, on_host, on_host}));
    expect_counted(4);
    for (std::uint64_t run = 2; run <= 4; ++run) {
        client_.evict(run_name(run));
    }
    EXPECT_FALSE(server_->mirrors().has_overflow());
    expect_counted(1);
}

// A request by the host's own name doesn't find what lies there for devices, and each kind has its quotas;
// but what makes room in the host's memory is decided among all that lies there.
TEST_F(ServerOverflow, MirrorsOfBothKindsShareTheHostsMemory) {
    limit(run_bytes_ * 7 / 5, run_bytes_ * 5 / 2);
    load_runs(4);
    ASSERT_EQ(memory_used(EngineName::host), 2 * run_bytes_);
    Client other(server_.path(), EngineName::host);
    ASSERT_EQ(Client::result_of(other.attach(4 << 20)), ReplyResult::done);
    auto request = about_runs<protocol::CountKary>(64, {4});
    EXPECT_EQ(Client::result_of(other.call<protocol::ResultReply>(Message::count_kary, request).header),
              ReplyResult::not_resident);
    other.holder.role_quota = run_bytes_;
    ASSERT_EQ(other.load(run_name(4), keys_, tids_), ReplyResult::done);
    EXPECT_EQ(memory_used(EngineName::host), 2 * run_bytes_);
    EXPECT_EQ(mirrors(), 4U) << "one went";
    EXPECT_EQ(client_.state().engines[1].evictions + client_.state().engines[0].evictions, 1U);
}

TEST_F(ServerOverflow, ALostDeviceLeavesItsRunsToTheHost) {
    limit(run_bytes_ * 3 / 2, 0);
    load_runs(2);
    lose(1);
    EXPECT_EQ(Client::result_of(count_runs(2).header), ReplyResult::not_resident);
    EXPECT_EQ(server_.given_up(), 0);
    load_runs(2);
    std::vector<std::int32_t> held = holders(2);
    std::sort(held.begin(), held.end());
    EXPECT_EQ(held, (std::vector<std::int32_t>{on_host, 0}));
    expect_counted(2);
}

// Part of a result is never left out because the engine that has it is gone.
TEST_F(ServerOverflow, WithoutTheHostTheServerEnds) {
    limit(run_bytes_ * 7 / 5, 0);
    load_runs(3);
    client_.engine = EngineName::host;
    lose(0);
    client_.engine = EngineName::cuda;
    EXPECT_NE(Client::result_of(count_runs(3).header), ReplyResult::done);
    EXPECT_EQ(server_.given_up(), 1);
}

// A device is full of what a request asks, which finds no memory to compute with.
TEST_F(ServerOverflow, ARequestWithoutMemoryHasOneOfItsRunsGo) {
    limit(run_bytes_ * 21 / 20, 0);
    client_.purpose = 7;
    load_runs(1);
    const auto count_without_memory = [&](std::uint32_t device) {
        protocol::Inject inject{};
        inject.number = device;
        EXPECT_EQ(Client::result_of(client_.call<protocol::ReplyHeader>(Message::inject, inject)),
                  ReplyResult::done);
        auto request = about_runs<protocol::CountKary>(64, {1});
        request.results = 4096;
        request.capacity = 65536;
        const protocol::ReplyHeader reply =
            client_.call<protocol::ResultReply>(Message::count_kary, request).header;
        inject.refuse_after = -1;
        client_.call<protocol::ReplyHeader>(Message::inject, inject);
        return reply;
    };
    std::vector<std::int32_t> places;
    for (int round = 0; round < 2; ++round) {
        places.push_back(holders(1)[0]);
        ASSERT_NE(places.back(), on_host);
        const auto reply = count_without_memory(static_cast<std::uint32_t>(places.back()));
        ASSERT_EQ(Client::result_of(reply), ReplyResult::not_resident) << reply.status.message;
        EXPECT_EQ(reply.lacking, 1U);
        EXPECT_EQ(mirrors(), 0U);
        load_runs(1);
    }
    EXPECT_NE(places[0], places[1]);
    EXPECT_EQ(holders(1)[0], on_host) << "both keep room now";
    expect_counted(1);
    // Another limit begins anew. Where a device keeps room and a request lacks memory all the same, it
    // fails, and nothing goes.
    client_.evict(run_name(1));
    limit(run_bytes_ * 3, 0);
    load_runs(1);
    protocol::ReplyHeader reply{};
    int gone = 0;
    for (; gone < 3; ++gone) {
        reply = count_without_memory(static_cast<std::uint32_t>(holders(1)[0]));
        if (Client::result_of(reply) != ReplyResult::not_resident) {
            break;
        }
        load_runs(1);
        ASSERT_NE(holders(1)[0], on_host);
    }
    EXPECT_EQ(gone, 2);
    EXPECT_EQ(reply.status.code, StatusCode::out_of_memory);
    EXPECT_EQ(mirrors(), 1U);
    expect_counted(1);
}

}  // namespace
