// Runs of columns that a server loads from pages.
#pragma once

#include "column_run.h"
#include "server_client.h"

namespace server_test {

class ServerColumnsTest : public ServerTestOfEngine {
  protected:
    using Pages = column_test::Pages;

    explicit ServerColumnsTest(std::uint64_t buffer_bytes) : ServerTestOfEngine(buffer_bytes) {}

    static protocol::BeginColumn beginning(std::uint64_t run, const Pages &pages) {
        protocol::BeginColumn begin{};
        begin.name = run_name(run);
        begin.holder.user = 10;
        begin.layout = pages.layout;
        return begin;
    }
    protocol::BeginReply begin(const protocol::BeginColumn &request) {
        return client_->call<protocol::BeginReply>(Message::begin_column, request);
    }
    protocol::ReplyHeader append(std::uint64_t handle, const Pages &pages, std::size_t first,
                                 std::size_t count) {
        protocol::AppendPages message{};
        message.handle = handle;
        message.pages = static_cast<std::uint32_t>(count);
        message.layout.page_bytes = column_test::page_bytes;
        std::memcpy(client_->buffer(), pages.images.data() + first * column_test::page_bytes,
                    count * column_test::page_bytes);
        return client_->call<protocol::ReplyHeader>(Message::append_pages, message);
    }
    void load(std::uint64_t run, const Pages &pages) {
        const auto begun = begin(beginning(run, pages));
        ASSERT_EQ(Client::result_of(begun.header), ReplyResult::done) << begun.header.status.message;
        ASSERT_NE(begun.handle, 0U);
        for (std::size_t page = 0; page < pages.count();) {
            const std::size_t count = std::min(1 + random_() % 40, pages.count() - page);
            const protocol::ReplyHeader reply = append(begun.handle, pages, page, count);
            ASSERT_EQ(Client::result_of(reply), ReplyResult::done) << reply.status.message;
            page += count;
        }
        const protocol::HandleReply finished = client_->finish(begun.handle);
        ASSERT_EQ(Client::result_of(finished.header), ReplyResult::done) << finished.header.status.message;
        EXPECT_EQ(finished.entries, pages.layout.rows);
    }
};

}  // namespace server_test
