// A server with several engines, and runs of the same entries to be shared out among them.
#pragma once

#include <algorithm>
#include <vector>

#include "server_client.h"

namespace server_test {

class ServerOfSeveralEngines : public testing::Test {
  protected:
    static constexpr std::size_t entries = 10000;

    // `kind` is asked.
    ServerOfSeveralEngines(const gpu_engine::server::Options &options, EngineName kind) : server_(options) {
        EXPECT_TRUE(server_.has(kind));
        EXPECT_TRUE(client_.connect(server_.path()));
        client_.engine = kind;
        EXPECT_EQ(Client::result_of(client_.hello().header), ReplyResult::done);
        EXPECT_EQ(Client::result_of(client_.attach(4 << 20)), ReplyResult::done);
        for (std::size_t i = 0; i < entries; ++i) {
            keys_.push_back(i);
            tids_.push_back(make_tid(i / 100, static_cast<std::uint16_t>(i % 100 + 1)));
        }
    }

    void load_runs(std::uint64_t count) {
        for (std::uint64_t run = 1; run <= count; ++run) {
            ASSERT_EQ(client_.load(run_name(run), keys_, tids_), ReplyResult::done);
        }
    }
    // The device of each run's mirror, by run; -1: there is none.
    std::vector<std::int32_t> holders(std::uint64_t count) {
        std::vector<std::int32_t> result(count, -1);
        const auto reply = client_.list(Message::mirrors, 0, 65536);
        for (std::uint64_t i = 0; i < reply.rows; ++i) {
            const auto &row = client_.at<protocol::MirrorRow>(0)[i];
            result[row.name.run - 1] = row.device;
        }
        return result;
    }
    // The rows of a run's mirror, in the order of its parts.
    std::vector<protocol::MirrorRow> parts_of(std::uint64_t run) {
        std::vector<protocol::MirrorRow> parts;
        const auto reply = client_.list(Message::mirrors, 0, 65536);
        for (std::uint64_t i = 0; i < reply.rows; ++i) {
            const auto &row = client_.at<protocol::MirrorRow>(0)[i];
            if (row.name.run == run) {
                parts.push_back(row);
            }
        }
        return parts;
    }
    protocol::ResultReply count_runs(std::uint64_t count) {
        protocol::CountKary request{};
        request.key_bits = 64;
        request.runs = static_cast<std::uint32_t>(count);
        for (std::uint64_t run = 1; run <= count; ++run) {
            request.run[run - 1].name = run_name(run);
        }
        request.count = 1;
        request.high = 64;
        *client_.at<std::uint64_t>(request.low) = 100;
        *client_.at<std::uint64_t>(request.high) = 199;
        request.blocks.all_visible = 1;
        request.results = 4096;
        request.capacity = 65536;
        return client_.call<protocol::ResultReply>(Message::count_kary, request);
    }
    std::uint64_t counted() { return *client_.at<std::uint64_t>(4096); }
    void lose(std::uint32_t number) {
        protocol::Inject request{};
        request.number = number;
        request.loses = protocol::lose_engine;
        EXPECT_EQ(Client::result_of(client_.call<protocol::ReplyHeader>(Message::inject, request)),
                  ReplyResult::done);
    }
    std::vector<protocol::DeviceRow> devices() {
        const auto reply = client_.list(Message::devices, 0, 65536);
        const auto *rows = client_.at<protocol::DeviceRow>(0);
        return {rows, rows + reply.rows};
    }

    ServerUnderTest server_;
    Client client_;
    std::vector<std::uint64_t> keys_;
    std::vector<Tid> tids_;
};

}  // namespace server_test
