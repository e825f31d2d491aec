// What devices have no room for and an engine goes over as a whole is streamed from the machine's memory. A
// stand-in is the engine that streams.
#include "column_run.h"
#include "server_several_engines.h"

namespace {

using namespace server_test;
using column_test::ColumnRun;
using gpu_engine::MemoryBudget;
using gpu_engine::TestKind;
using gpu_engine::ValueRange;
using gpu_engine::server::EngineId;
using gpu_engine::server::Engines;
using gpu_engine::server::Options;
using gpu_engine::server::streaming_engine;

TEST(MemoryBudget, WhatIsTakenCountsInTheOneThatItIsWithin) {
    MemoryBudget all(100);
    MemoryBudget part(80, &all);
    ASSERT_TRUE(part.reserve(50));
    EXPECT_EQ(all.used(), 50U);
    ASSERT_TRUE(all.reserve(30));
    EXPECT_EQ(part.free_bytes(), 20U);
    EXPECT_EQ(part.taken(), 60U) << "ten of its own can't be had";
    EXPECT_FALSE(part.reserve(21)) << "the other one is full";
    EXPECT_EQ(part.take_refused(), 21U);
    EXPECT_EQ(part.used(), 50U);
    EXPECT_EQ(all.used(), 80U);
    all.release(30);
    EXPECT_FALSE(part.reserve(31)) << "it is full itself";
    EXPECT_EQ(all.used(), 50U) << "and nothing is counted";
    part.release(50);
    EXPECT_EQ(all.used(), 0U);
}

class ServerStreaming : public ServerOfSeveralEngines {
  protected:
    static Options options_of(Options::Streams streams) {
        Options options;
        options.stand_ins = 2;
        options.testing = true;
        options.kept_together = 0;
        options.streams = streams;
        return options;
    }
    explicit ServerStreaming(Options::Streams streams = Options::Streams::always)
        : ServerOfSeveralEngines(options_of(streams), EngineName::cuda),
          run_(column_test::make_run(30000, random_)),
          pages_(column_test::make_pages(run_)) {
        for (int i = 0; i < 1000 && (server_->engines().is_opening() || is_streaming_awaited(streams)); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    bool is_streaming_awaited(Options::Streams streams) {
        return streams == Options::Streams::always &&
               server_->engines().state(streaming_engine) != Engines::State::ready;
    }

    void limit(std::uint64_t device, std::uint64_t host) {
        protocol::Configure request{};
        request.memory_limit[static_cast<std::size_t>(EngineName::cuda)] = device;
        request.memory_limit[static_cast<std::size_t>(EngineName::host)] = host;
        EXPECT_EQ(Client::answer_of(client_.ask<protocol::ReplyHeader>(Message::configure, request)),
                  Answer::done);
    }
    Answer load_columns(std::uint64_t run) {
        protocol::BeginColumn begin{};
        begin.name = run_name(run);
        begin.layout = pages_.layout;
        const auto begun = client_.ask<protocol::BeginReply>(Message::begin_column, begin);
        if (Client::answer_of(begun.header) != Answer::done || begun.handle == 0) {
            return Client::answer_of(begun.header);
        }
        protocol::AppendPages append{};
        append.handle = begun.handle;
        append.pages = 1;
        append.layout.page_bytes = column_test::page_bytes;
        for (std::size_t page = 0; page < pages_.count(); ++page) {
            std::memcpy(client_.buffer(), pages_.images.data() + page * column_test::page_bytes,
                        column_test::page_bytes);
            EXPECT_EQ(Client::answer_of(client_.ask<protocol::ReplyHeader>(Message::append_pages, append)),
                      Answer::done);
        }
        return Client::answer_of(client_.finish(begun.handle).header);
    }
    // Asks runs 1 to `count` for the rows with a value of column 0 from 1100 to 1400.
    protocol::ColumnReply ask(std::uint32_t count) {
        protocol::AskColumn request{};
        request.blocks.all_visible = 1;
        request.results = 1 << 20;
        request.capacity = 3 << 20;
        request.starts = 2048;
        request.runs = count;
        for (std::uint32_t i = 0; i < count; ++i) {
            request.run[i].name = run_name(i + 1);
        }
        request.test_count = 1;
        *client_.at<protocol::ColumnTestPlace>(0) = {
            static_cast<std::uint32_t>(TestKind::ranges), 0, protocol::all_runs, 0, 1024, 1};
        *client_.at<ValueRange>(1024) = {1100, 1400};
        return client_.ask<protocol::ColumnReply>(Message::match_column, request);
    }
    void expect_found(std::uint32_t count) {
        std::vector<std::uint64_t> expected;
        for (std::size_t row = 0; row < run_.rows(); ++row) {
            const auto &value = run_.columns[0].values[row];
            if (!run_.is_dead(row) && value && *value >= 1100 && *value <= 1400) {
                expected.push_back(run_.places[row]);
            }
        }
        ASSERT_GT(expected.size(), 100U);
        const protocol::ColumnReply reply = ask(count);
        ASSERT_EQ(Client::answer_of(reply.header), Answer::done) << reply.header.status.message;
        for (std::uint32_t run = 0; run < count; ++run) {
            std::vector<std::uint64_t> places;
            for (std::uint64_t i = 0; i < reply.found[run]; ++i) {
                places.push_back(column_test::place_of(client_.at<Tid>(reply.found_at[run])[i]));
            }
            std::sort(places.begin(), places.end());
            EXPECT_EQ(places, expected);
        }
    }
    std::vector<EngineId> held_by(std::uint64_t run) {
        return server_->mirrors().holders_of(EngineName::cuda, run_name(run));
    }
    std::uint64_t used(EngineId id) { return server_->engines().get(id)->memory().used(); }

    static constexpr EngineId host = 0;
    static constexpr std::uint64_t plenty = std::uint64_t(1) << 30;

    std::mt19937_64 random_{20261128};
    ColumnRun run_;
    column_test::Pages pages_;
};

class ServerThatNeverStreams : public ServerStreaming {
  protected:
    ServerThatNeverStreams() : ServerStreaming(Options::Streams::never) {}
};
class ServerThatStreamsWhereItIsQuicker : public ServerStreaming {
  protected:
    ServerThatStreamsWhereItIsQuicker() : ServerStreaming(Options::Streams::where_it_is_quicker) {}
};

TEST_F(ServerStreaming, ColumnsThatDevicesHaveNoRoomForAreStreamed) {
    limit(4096, plenty);
    ASSERT_EQ(load_columns(1), Answer::done);
    ASSERT_EQ(load_columns(2), Answer::done);
    EXPECT_EQ(held_by(1), std::vector<EngineId>{streaming_engine});
    EXPECT_EQ(held_by(2), std::vector<EngineId>{streaming_engine});
    EXPECT_GT(used(streaming_engine), 0U);
    EXPECT_EQ(used(host), used(streaming_engine)) << "it counts toward the host's limit";
    EXPECT_EQ(parts_of(1).front().device, -1) << "it lies in the machine's memory";
    expect_found(2);
    std::vector<std::uint64_t> dead((run_.rows() + 63) / 64);
    run_.dead.assign(run_.rows(), false);
    for (std::size_t row = 0; row < run_.rows(); row += 3) {
        run_.dead[row] = true;
        dead[row / 64] |= std::uint64_t(1) << row % 64;
    }
    for (const std::uint64_t run : {1, 2}) {
        ASSERT_EQ(Client::answer_of(client_.set_dead(run_name(run), dead, 2)), Answer::done);
    }
    expect_found(2);
    EXPECT_EQ(client_.state().engines[static_cast<std::size_t>(EngineName::host)].loads, 2U);
    client_.evict(run_name(1));
    client_.evict(run_name(2));
    EXPECT_EQ(used(host), 0U);
    // Keys, of which few are looked at, lie with the host.
    ASSERT_EQ(client_.load(run_name(3), keys_, tids_), Answer::done);
    EXPECT_EQ(held_by(3), std::vector<EngineId>{host});
}

TEST_F(ServerStreaming, ARunIsDividedBetweenDevicesAndWhatTheyStream) {
    limit(plenty, plenty);
    ASSERT_EQ(load_columns(1), Answer::done);
    const std::uint64_t bytes = parts_of(1).front().bytes;
    client_.evict(run_name(1));
    limit(bytes / 2, plenty);
    // What is larger is divided also where the host has room for all of it.
    ASSERT_EQ(load_columns(1), Answer::done);
    const std::vector<EngineId> held = held_by(1);
    expect_found(1);
    ASSERT_EQ(held.size(), 3U);
    EXPECT_EQ(held.back(), streaming_engine);
}

TEST_F(ServerStreaming, TheHostsLimitHoldsForBoth) {
    limit(4096, plenty);
    ASSERT_EQ(load_columns(1), Answer::done);
    const std::uint64_t bytes = used(streaming_engine);
    ASSERT_EQ(client_.load(run_name(2), keys_, tids_), Answer::done);
    ASSERT_GT(used(host), bytes);
    // A lower limit makes leave what streams, and no more than must.
    limit(4096, used(host) - 1);
    EXPECT_EQ(used(streaming_engine), 0U);
    EXPECT_EQ(held_by(2), std::vector<EngineId>{host});
    limit(4096, bytes / 2);
    EXPECT_NE(load_columns(1), Answer::done) << "it has no room";
    EXPECT_LE(used(host), bytes / 2);
    // An eighth is left for what questions take.
    client_.evict(run_name(2));
    limit(4096, bytes + bytes / 10);
    EXPECT_NE(load_columns(1), Answer::done);
    limit(4096, bytes * 3 / 2);
    EXPECT_EQ(load_columns(1), Answer::done);
    expect_found(1);
}

TEST_F(ServerStreaming, ALostDeviceTakesAlongWhatItStreams) {
    limit(4096, plenty);
    ASSERT_EQ(load_columns(1), Answer::done);
    const EngineId lender = server_->engines().computes_in(streaming_engine);
    ASSERT_NE(lender, streaming_engine);
    // It is told by a request of its own.
    limit(plenty, plenty);
    for (std::uint64_t run = 2; run <= 3; ++run) {
        ASSERT_EQ(load_columns(run), Answer::done);
    }
    lose(lender - server_->engines().of(EngineName::cuda).first());
    EXPECT_EQ(Client::answer_of(ask(3).header), Answer::not_resident);
    EXPECT_EQ(server_.given_up(), 0);
    EXPECT_EQ(server_->engines().state(streaming_engine), Engines::State::lost);
    EXPECT_TRUE(held_by(1).empty());
    limit(4096, plenty);
    for (std::uint64_t run = 1; run <= 3; ++run) {
        client_.evict(run_name(run));
    }
    ASSERT_EQ(load_columns(1), Answer::done);
    EXPECT_EQ(held_by(1), std::vector<EngineId>{host}) << "the processors compute";
    expect_found(1);
}

TEST_F(ServerThatNeverStreams, TheHostComputes) {
    limit(4096, plenty);
    ASSERT_EQ(load_columns(1), Answer::done);
    EXPECT_EQ(held_by(1), std::vector<EngineId>{host});
    expect_found(1);
}

// A stand-in's bus carries nothing.
TEST_F(ServerThatStreamsWhereItIsQuicker, TheHostComputes) {
    EXPECT_NE(server_->engines().state(streaming_engine), Engines::State::ready);
    limit(4096, plenty);
    ASSERT_EQ(load_columns(1), Answer::done);
    EXPECT_EQ(held_by(1), std::vector<EngineId>{host});
}

}  // namespace
