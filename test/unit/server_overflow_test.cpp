// What devices have no room for lies with the host engine, and is asked in the same question. Stand-ins are
// the devices.
#include <chrono>
#include <thread>

#include "server_several_engines.h"
#include "stand_in.h"

namespace {

using namespace server_test;

class ServerOverflow : public ServerOfSeveralEngines {
  protected:
    static gpu_engine::server::Options with_stand_ins(std::uint32_t count) {
        gpu_engine::server::Options options;
        options.stand_ins = count;
        options.testing = true;
        options.move_microseconds = 0;
        return options;
    }

    explicit ServerOverflow(std::uint32_t devices = 2)
        : ServerOfSeveralEngines(with_stand_ins(devices), EngineName::cuda) {
        load_runs(1);
        run_bytes_ = memory_used(EngineName::cuda);
        client_.evict(run_name(1));
    }

    void limit(std::uint64_t device, std::uint64_t host) {
        protocol::Configure request{};
        request.memory_limit[static_cast<std::size_t>(EngineName::cuda)] = device;
        request.memory_limit[static_cast<std::size_t>(EngineName::host)] = host;
        EXPECT_EQ(Client::answer_of(client_.ask<protocol::ReplyHeader>(Message::configure, request)),
                  Answer::done);
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
        ASSERT_EQ(Client::answer_of(reply.header), Answer::done) << reply.header.status.message;
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
    // Where nobody has room, nothing goes for what the same question needs.
    EXPECT_EQ(begin(5), StatusCode::out_of_memory);
    EXPECT_EQ(mirrors(), 4U);
    expect_counted(4);
    EXPECT_EQ(evictions(), 0U);
    // For another purpose the one goes that was used longest ago.
    client_.purpose = 8;
    EXPECT_EQ(client_.load(run_name(5), keys_, tids_), Answer::done);
    EXPECT_EQ(evictions(), 1U);
}

TEST_F(ServerOverflow, WhatIsUsedStaysWhereTheHostHasRoom) {
    limit(run_bytes_ * 7 / 5, run_bytes_ * 20);
    for (std::uint64_t run = 1; run <= 10; ++run) {
        client_.purpose = static_cast<std::uint32_t>(run);
        ASSERT_EQ(client_.load(run_name(run), keys_, tids_), Answer::done);
    }
    EXPECT_EQ(evictions(), 0U);
    expect_counted(10);
    EXPECT_EQ(memory_used(EngineName::host), 8 * run_bytes_);
}

TEST_F(ServerOverflow, ARunLargerThanTheDevicesIsDividedWithTheHost) {
    limit(run_bytes_ * 2 / 5, run_bytes_ * 3 / 5);
    load_runs(1);
    const std::vector<protocol::MirrorRow> parts = parts_of(1);
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[2].device, on_host);
    EXPECT_EQ(parts[0].entries + parts[1].entries + parts[2].entries, entries);
    EXPECT_LT(memory_used(EngineName::cuda), 2 * (run_bytes_ * 2 / 5) * 9 / 10)
        << "questions take memory, too";
    expect_counted(1);
    std::vector<std::uint64_t> dead((entries + 63) / 64);
    for (std::size_t i = 0; i < entries; i += 2) {
        dead[i / 64] |= std::uint64_t(1) << (i % 64);
    }
    ASSERT_EQ(Client::answer_of(client_.set_dead(run_name(1), dead, 3)), Answer::done);
    ASSERT_EQ(Client::answer_of(count_runs(1).header), Answer::done);
    EXPECT_EQ(counted(), 50U);
    EXPECT_EQ(client_.evict(run_name(1)).mirrors, 1U);
    EXPECT_EQ(memory_used(EngineName::cuda) + memory_used(EngineName::host), 0U);
    // Not even all of them together.
    limit(run_bytes_ / 4, run_bytes_ / 4);
    EXPECT_EQ(begin(1), StatusCode::out_of_memory);
    EXPECT_EQ(mirrors(), 0U);
}

// A device that is the only one takes requests without a look at who has what, as long as it has all.
TEST_F(ServerOverflowOfOne, ASingleDeviceHasAnOverflowToo) {
    limit(run_bytes_ * 3 / 2, 0);
    load_runs(1);
    expect_counted(1);
    load_runs(4);
    EXPECT_EQ(holders(4), (std::vector<std::int32_t>{0, on_host, on_host, on_host}));
    expect_counted(4);
    // Handles of what lies with the host are found there.
    protocol::MergeKary merge{};
    merge.key_bits = 64;
    merge.runs = 3;
    for (std::uint32_t i = 0; i < merge.runs; ++i) {
        merge.run[i].name = run_name(i + 2);
    }
    const auto merged = client_.ask<protocol::HandleReply>(Message::merge_kary, merge);
    ASSERT_EQ(Client::answer_of(merged.header), Answer::done) << merged.header.status.message;
    EXPECT_EQ(merged.entries, 3 * entries);
    protocol::ReadKary read{};
    read.handle = merged.handle;
    read.count = 6;
    read.tids_offset = 1024;
    ASSERT_EQ(Client::answer_of(client_.ask<protocol::ReplyHeader>(Message::read_kary, read)), Answer::done);
    EXPECT_EQ(client_.at<std::uint64_t>(0)[5], 1U);
    protocol::NameKary name{};
    name.handle = merged.handle;
    name.name = run_name(5);
    ASSERT_EQ(Client::answer_of(client_.ask<protocol::HandleReply>(Message::name_kary, name).header),
              Answer::done);
    EXPECT_EQ(holders(5)[4], on_host);
    for (std::uint64_t run = 2; run <= 4; ++run) {
        client_.evict(run_name(run));
    }
    protocol::CountKary request{};
    request.key_bits = 64;
    request.runs = 2;
    request.run[0].name = run_name(1);
    request.run[1].name = run_name(5);
    request.count = 1;
    request.high = 64;
    *client_.at<std::uint64_t>(request.low) = 100;
    *client_.at<std::uint64_t>(request.high) = 199;
    request.blocks.all_visible = 1;
    request.results = 4096;
    request.capacity = 65536;
    ASSERT_EQ(Client::answer_of(client_.ask<protocol::ResultReply>(Message::count_kary, request).header),
              Answer::done);
    EXPECT_EQ(counted(), 400U);
    client_.evict(run_name(5));
    EXPECT_FALSE(server_->mirrors().has_overflow());
    expect_counted(1);
}

// A question by the host's own name doesn't find what lies there for devices, and each kind has its quotas;
// but what makes room in the host's memory is decided among all that lies there.
TEST_F(ServerOverflow, MirrorsOfBothKindsShareTheHostsMemory) {
    limit(run_bytes_ * 7 / 5, run_bytes_ * 5 / 2);
    load_runs(4);
    ASSERT_EQ(memory_used(EngineName::host), 2 * run_bytes_);
    Client other(server_.path(), EngineName::host);
    ASSERT_EQ(Client::answer_of(other.attach(4 << 20)), Answer::done);
    protocol::CountKary request{};
    request.key_bits = 64;
    request.runs = 1;
    request.run[0].name = run_name(4);
    EXPECT_EQ(Client::answer_of(other.ask<protocol::ResultReply>(Message::count_kary, request).header),
              Answer::not_resident);
    other.holder.role_quota = run_bytes_;
    ASSERT_EQ(other.load(run_name(4), keys_, tids_), Answer::done);
    EXPECT_EQ(memory_used(EngineName::host), 2 * run_bytes_);
    EXPECT_EQ(mirrors(), 4U) << "one went";
    EXPECT_EQ(client_.state().engines[1].evictions + client_.state().engines[0].evictions, 1U);
}

TEST_F(ServerOverflow, ALostDeviceLeavesItsRunsToTheHost) {
    limit(run_bytes_ * 3 / 2, 0);
    load_runs(2);
    lose(1);
    EXPECT_EQ(Client::answer_of(count_runs(2).header), Answer::not_resident);
    EXPECT_EQ(server_.given_up(), 0);
    load_runs(2);
    std::vector<std::int32_t> held = holders(2);
    std::sort(held.begin(), held.end());
    EXPECT_EQ(held, (std::vector<std::int32_t>{on_host, 0}));
    expect_counted(2);
}

// Part of an answer is never left out because the engine that has it is gone.
TEST_F(ServerOverflow, WithoutTheHostTheServerEnds) {
    limit(run_bytes_ * 7 / 5, 0);
    load_runs(3);
    client_.engine = EngineName::host;
    lose(0);
    client_.engine = EngineName::cuda;
    EXPECT_NE(Client::answer_of(count_runs(3).header), Answer::done);
    EXPECT_EQ(server_.given_up(), 1);
}

// A device is full of what a question asks, which finds no memory to compute with.
TEST_F(ServerOverflow, AQuestionWithoutMemoryHasOneOfItsRunsGo) {
    limit(run_bytes_ * 21 / 20, 0);
    client_.purpose = 7;
    load_runs(1);
    const auto count_without_memory = [&](std::uint32_t device) {
        protocol::Inject inject{};
        inject.number = device;
        EXPECT_EQ(Client::answer_of(client_.ask<protocol::ReplyHeader>(Message::inject, inject)),
                  Answer::done);
        protocol::CountKary request{};
        request.key_bits = 64;
        request.runs = 1;
        request.run[0].name = run_name(1);
        request.results = 4096;
        request.capacity = 65536;
        const protocol::ReplyHeader reply =
            client_.ask<protocol::ResultReply>(Message::count_kary, request).header;
        inject.refuse_after = -1;
        client_.ask<protocol::ReplyHeader>(Message::inject, inject);
        return reply;
    };
    std::vector<std::int32_t> places;
    for (int round = 0; round < 2; ++round) {
        places.push_back(holders(1)[0]);
        ASSERT_NE(places.back(), on_host);
        const auto reply = count_without_memory(static_cast<std::uint32_t>(places.back()));
        ASSERT_EQ(Client::answer_of(reply), Answer::not_resident) << reply.status.message;
        EXPECT_EQ(reply.lacking, 1U);
        EXPECT_EQ(mirrors(), 0U);
        load_runs(1);
    }
    EXPECT_NE(places[0], places[1]);
    EXPECT_EQ(parts_of(1).size(), 2U) << "both keep room now, and have it together";
    expect_counted(1);
    // Another limit begins anew. Where a device keeps room and a question lacks memory all the same, it
    // fails, and nothing goes.
    client_.evict(run_name(1));
    limit(run_bytes_ * 3, 0);
    load_runs(1);
    protocol::ReplyHeader reply{};
    int gone = 0;
    for (; gone < 3; ++gone) {
        reply = count_without_memory(static_cast<std::uint32_t>(holders(1)[0]));
        if (Client::answer_of(reply) != Answer::not_resident) {
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

// ---- moving -----------------------------------------------------------------------------------------------

class ServerMoving : public ServerOverflow {
  protected:
    ServerMoving() { client_.holder.user = 12; }

    static constexpr std::uint64_t plenty = std::uint64_t(1) << 30;
};

TEST_F(ServerMoving, WhatTheHostHasGoesToTheDevicesOnceTheyHaveRoom) {
    limit(run_bytes_ * 7 / 5, 0);
    load_runs(2);
    ASSERT_EQ(client_.load(run_name(3), keys_, tids_, true), Answer::done);
    ASSERT_EQ(holders(3)[2], on_host);
    std::vector<std::uint64_t> dead((entries + 63) / 64);
    dead[2] = ~std::uint64_t(0);
    ASSERT_EQ(Client::answer_of(client_.set_dead(run_name(3), dead, 4)), Answer::done);
    // There is no room yet, so nothing is told, and nothing happens.
    EXPECT_EQ(count_runs(3).header.lacking, 0U);
    EXPECT_EQ(client_.begin_kary(run_name(3), entries, 64).handle, 0U);
    limit(plenty, 0);
    const protocol::ResultReply reply = count_runs(3);
    ASSERT_EQ(Client::answer_of(reply.header), Answer::done);
    EXPECT_EQ(reply.header.lacking, 4U);
    EXPECT_EQ(counted(), 300U - 64);
    // While it is loaded once more it is asked where it is, and nobody else loads it.
    client_.holder.user = 13;
    const protocol::BeginReply begun = client_.begin_kary(run_name(3), entries, 64);
    ASSERT_EQ(Client::answer_of(begun.header), Answer::done);
    ASSERT_NE(begun.handle, 0U);
    EXPECT_EQ(Client::answer_of(client_.begin_kary(run_name(3), entries, 64).header), Answer::loading);
    ASSERT_EQ(Client::answer_of(client_.append(begun.handle, keys_, tids_)), Answer::done);
    ASSERT_EQ(Client::answer_of(count_runs(3).header), Answer::done);
    EXPECT_EQ(counted(), 300U - 64);
    ASSERT_EQ(Client::answer_of(client_.finish(begun.handle).header), Answer::done);
    EXPECT_NE(holders(3)[2], on_host);
    EXPECT_EQ(memory_used(EngineName::host), 0U);
    EXPECT_FALSE(server_->mirrors().has_overflow());
    // It stays whose it was, and pinned.
    EXPECT_EQ(parts_of(3).front().user, 12U);
    EXPECT_EQ(parts_of(3).front().pinned, 1U);
    EXPECT_EQ(mirrors(), 3U);
    // It knows no dead entries yet, which is told to those who know of some.
    protocol::CountKary request{};
    request.key_bits = 64;
    request.runs = 1;
    request.run[0] = {run_name(3), 4};
    request.results = 4096;
    request.capacity = 65536;
    EXPECT_EQ(Client::answer_of(client_.ask<protocol::ResultReply>(Message::count_kary, request).header),
              Answer::stale);
    ASSERT_EQ(Client::answer_of(client_.set_dead(run_name(3), dead, 4)), Answer::done);
    ASSERT_EQ(Client::answer_of(count_runs(3).header), Answer::done);
    EXPECT_EQ(counted(), 300U - 64);
    // Where it is it is well off.
    EXPECT_EQ(count_runs(3).header.lacking, 0U);
    EXPECT_EQ(client_.begin_kary(run_name(3), entries, 64).handle, 0U);
}

TEST_F(ServerMoving, AMoveThatEndsEarlyLeavesTheRunWhereItWas) {
    limit(run_bytes_ * 7 / 5, 0);
    load_runs(3);
    limit(plenty, 0);
    ASSERT_EQ(count_runs(3).header.lacking, 4U);
    const protocol::BeginReply begun = client_.begin_kary(run_name(3), entries, 64);
    ASSERT_NE(begun.handle, 0U);
    EXPECT_EQ(Client::answer_of(client_.drop(begun.handle)), Answer::done);
    expect_counted(3);
    // One that leaves while it moves is there anew.
    const protocol::BeginReply again = client_.begin_kary(run_name(3), entries, 64);
    ASSERT_NE(again.handle, 0U);
    EXPECT_EQ(client_.evict(run_name(3)).mirrors, 1U);
    ASSERT_EQ(Client::answer_of(client_.append(again.handle, keys_, tids_)), Answer::done);
    ASSERT_EQ(Client::answer_of(client_.finish(again.handle).header), Answer::done);
    expect_counted(3);
    EXPECT_FALSE(server_->mirrors().has_overflow());
}

// A run is in a request's hands when it moves: the request goes on with what it has.
TEST_F(ServerMoving, WhoAsksKeepsWhatHeFound) {
    limit(run_bytes_ * 7 / 5, 0);
    load_runs(3);
    const auto found = server_->mirrors().find(EngineName::cuda, run_name(3), {});
    limit(plenty, 0);
    load_runs(3);
    EXPECT_NE(holders(3)[2], on_host);
    EXPECT_TRUE(found->is_overflow);
    EXPECT_EQ(entries_of(*found), entries);
    EXPECT_GT(memory_used(EngineName::host), 0U);
}

// A device that comes late gets its share.
TEST(ServerLateDevice, GetsPartsOfWhatIsThere) {
    static std::vector<Stand> stands(2);
    stands[1].may_open = false;
    gpu_engine::server::Options options;
    options.identify_devices = [](std::vector<gpu_engine::DeviceIdentity> *devices) {
        devices->push_back({0, "", "first"});
        devices->push_back({1, "", "second"});
        return gpu_engine::Status{};
    };
    options.open_device = [](const gpu_engine::EngineOptions &wanted,
                             std::unique_ptr<gpu_engine::Engine> *engine) {
        Stand &stand = stands[static_cast<std::size_t>(wanted.device)];
        while (!stand.may_open) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        stand.device = wanted.device;
        *engine = std::make_unique<StandIn>(stand);
        return gpu_engine::Status{};
    };
    ServerUnderTest server(options);
    Client client(server.path(), EngineName::cuda);
    ASSERT_EQ(Client::answer_of(client.attach(4 << 20)), Answer::done);
    std::vector<std::uint64_t> keys(10000);
    std::vector<Tid> tids;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = i;
        tids.push_back(make_tid(i / 100, static_cast<std::uint16_t>(i % 100 + 1)));
    }
    ASSERT_TRUE(wait_until([&] { return client.load(run_name(1), keys, tids) == Answer::done; }));
    protocol::CountKary request{};
    request.key_bits = 64;
    request.runs = 1;
    request.run[0].name = run_name(1);
    request.count = 1;
    request.high = 64;
    request.blocks.all_visible = 1;
    request.results = 4096;
    request.capacity = 65536;
    const auto count = [&] {
        *client.at<std::uint64_t>(request.low) = 100;
        *client.at<std::uint64_t>(request.high) = 8999;
        const auto reply = client.ask<protocol::ResultReply>(Message::count_kary, request);
        EXPECT_EQ(Client::answer_of(reply.header), Answer::done);
        EXPECT_EQ(*client.at<std::uint64_t>(4096), 8900U);
        return reply.header.lacking;
    };
    EXPECT_EQ(count(), 0U);
    EXPECT_EQ(client.begin_kary(run_name(1), keys.size(), 64).handle, 0U);
    stands[1].may_open = true;
    // Nobody has to wait for some time to pass: an engine that has come is noticed at once.
    EXPECT_TRUE(wait_until([&] { return count() == 1; }));
    EXPECT_EQ(client.list(Message::mirrors, 0, 65536).rows, 1U);
    ASSERT_EQ(client.load(run_name(1), keys, tids), Answer::done);
    EXPECT_EQ(client.list(Message::mirrors, 0, 65536).rows, 2U);
    EXPECT_EQ(count(), 0U);
    EXPECT_EQ(client.begin_kary(run_name(1), keys.size(), 64).handle, 0U);
}

}  // namespace
