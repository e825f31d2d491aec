// Expectations of the server process that tests of mirrors of several kinds share.
#pragma once

#include <gtest/gtest.h>

#include "server_client.h"

namespace server_test {

// Requests about sorted keys are refused where run 1 has a mirror of another kind.
inline void expect_lookups_refused(Client &client, std::uint64_t results) {
    protocol::LookupKary lookup{};
    lookup.runs = 1;
    lookup.run[0].name = run_name(1);
    lookup.count = 1;
    lookup.results = results;
    lookup.capacity = client.buffer_bytes() - results;
    for (const std::uint32_t bits : {0U, 1U, 32U, 64U, 128U}) {
        lookup.key_bits = bits;
        EXPECT_EQ(client.call<protocol::ResultReply>(Message::lookup_kary, lookup).header.status.code,
                  StatusCode::invalid_argument)
            << bits;
    }
}

// Begins a mirror of grid_test::small_points.
inline protocol::BeginGrid begin_of_small_points(const protocol::RunName &name, std::uint64_t count) {
    protocol::BeginGrid begin{};
    begin.name = name;
    begin.entries = count;
    begin.columns = 2;
    begin.bucket = 8;
    begin.key_bytes[0] = 4;
    begin.key_bytes[1] = 8;
    begin.null_bit[1] = 1;
    return begin;
}

// The request is about two runs. Only run 1 is there, and without the dead bitmap that the request needs.
template <typename Request>
void expect_absent_and_stale(Client &client, Message message, Request request) {
    const auto call = [&] { return client.call<protocol::ResultReply>(message, request); };
    auto reply = call();
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::not_resident);
    EXPECT_EQ(reply.header.lacking, 2U);
    request.runs = 1;
    reply = call();
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::stale);
    EXPECT_EQ(reply.header.lacking, 1U);
    client.set_dead(run_name(1), {}, 1);
    EXPECT_EQ(Client::result_of(call().header), ReplyResult::done);
}

inline void limit_memory(Client &client, EngineName engine, std::uint64_t bytes) {
    protocol::Configure configure{};
    configure.memory_limit[static_cast<std::size_t>(engine)] = bytes;
    EXPECT_EQ(Client::result_of(client.call<protocol::ReplyHeader>(Message::configure, configure)),
              ReplyResult::done);
}

// Fewer than `rows` mirrors are left, within the limit, and that of run 1, which was loaded first, is not
// among them.
inline void expect_first_made_room(Client &client, EngineName engine, std::uint64_t rows,
                                   std::uint64_t limit) {
    const auto reply = client.list(Message::mirrors, 0, client.buffer_bytes());
    EXPECT_LT(reply.rows, rows);
    EXPECT_LE(reply.memory_used[static_cast<std::size_t>(engine)], limit);
    for (std::uint64_t i = 0; i < reply.rows; ++i) {
        EXPECT_NE(client.at<protocol::MirrorRow>(0)[i].name.run, 1U);
    }
}

}  // namespace server_test
