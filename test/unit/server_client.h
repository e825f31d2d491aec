// The fixtures of the server's tests: a server within the test's process, and a session's side of the
// protocol.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/kary/load_array.h"
#include "gpu_engine/protocol.h"
#include "server/server.h"

namespace server_test {

namespace protocol = gpu_engine::protocol;
using gpu_engine::Key128;
using gpu_engine::StatusCode;
using gpu_engine::Tid;
using protocol::EngineName;
using protocol::Message;
using protocol::ReplyResult;

// A folder of the test's own, removed with all in it.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    std::string file(const char *name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

// A server on a socket of its own, served by threads of this process.
class ServerUnderTest {
  public:
    explicit ServerUnderTest(gpu_engine::server::Options options = {});
    ~ServerUnderTest();

    gpu_engine::server::Server &operator*() { return *server_; }
    gpu_engine::server::Server *operator->() { return server_.get(); }
    const std::string &path() const { return path_; }
    // How often the server gave itself up.
    int given_up() const { return given_up_; }
    // Waits until a device is open, or known not to be there.
    bool has(EngineName engine);

  private:
    TemporaryFolder folder_;
    std::string path_;
    std::atomic<int> given_up_{0};
    std::unique_ptr<gpu_engine::server::Server> server_;
    std::thread thread_;
};

// A memfd as sessions make it.
int make_memfd(std::uint64_t bytes, int seals);

// A session's connection. Its functions fail the test when the connection breaks where they don't say
// otherwise.
class Client {
  public:
    // Connects and says hello.
    explicit Client(const std::string &path, EngineName engine = EngineName::host);
    // Neither.
    Client() = default;
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    ~Client();

    bool connect(const std::string &path);
    void disconnect();
    int socket() const { return socket_; }
    bool send_bytes(const void *bytes, std::size_t count, const std::vector<int> &descriptors = {});
    // The bytes received; 0 when the server closed the connection.
    std::size_t receive_bytes(void *bytes, std::size_t capacity);

    template <typename Request>
    void fill_header(Message type, Request *request) {
        auto &header = reinterpret_cast<protocol::RequestHeader &>(*request);
        header.magic = protocol::magic;
        header.type = static_cast<std::uint16_t>(type);
        header.engine = static_cast<std::uint16_t>(engine);
        header.bytes = sizeof(Request);
        header.deadline_ms = deadline_ms;
        header.request = ++requests_;
        header.purpose = purpose;
        header.forced = forced ? 1 : 0;
        header.subject = subject;
    }
    template <typename Request>
    bool send_request(Message type, Request *request) {
        fill_header(type, request);
        return send_bytes(request, sizeof(Request));
    }
    // False when the connection has ended.
    template <typename Reply>
    bool receive_reply(Reply *reply) {
        std::memset(static_cast<void *>(reply), 0xee, sizeof(Reply));
        const std::size_t bytes = receive_bytes(reply, sizeof(Reply));
        if (bytes == 0) {
            return false;
        }
        const auto &header = reinterpret_cast<const protocol::ReplyHeader &>(*reply);
        EXPECT_EQ(bytes, sizeof(Reply));
        EXPECT_EQ(header.bytes, sizeof(Reply));
        EXPECT_EQ(header.magic, protocol::magic);
        EXPECT_EQ(header.request, requests_);
        return bytes == sizeof(Reply);
    }
    // Sends a request and waits for its reply.
    template <typename Reply, typename Request>
    Reply call(Message type, Request request) {
        Reply reply;
        EXPECT_TRUE(send_request(type, &request));
        EXPECT_TRUE(receive_reply(&reply)) << "the server closed the connection";
        return reply;
    }

    // ---- requests
    protocol::HelloReply hello();
    // A buffer of so many bytes, sealed; the reply.
    protocol::ReplyHeader attach(std::uint64_t bytes);
    char *buffer() const { return buffer_; }
    std::uint64_t buffer_bytes() const { return buffer_bytes_; }
    template <typename Element>
    Element *at(std::uint64_t offset) const {
        return reinterpret_cast<Element *>(buffer_ + offset);
    }

    protocol::BeginReply begin_kary(const protocol::RunName &name, std::uint64_t entries,
                                    std::uint32_t key_bits, bool pinned = false);
    protocol::HandleReply finish(std::uint64_t handle);
    protocol::ReplyHeader drop(std::uint64_t handle);
    protocol::ReplyHeader set_dead(const protocol::RunName &name, const std::vector<std::uint64_t> &words,
                                   std::uint64_t version);
    protocol::EvictReply evict(const protocol::RunName &name);
    protocol::ReplyHeader inject(std::int64_t refuse_after);
    protocol::StateReply state();
    protocol::ListReply list(Message type, std::uint64_t offset, std::uint64_t capacity, bool reset = false);

    // Appends all of an array's entries through the buffer, as many pages at a time as fit into it, but no
    // more than `pages_at_once`: a device has them beside the array, within its limit of memory.
    template <typename Key>
    protocol::ReplyHeader append(std::uint64_t handle, const std::vector<Key> &keys,
                                 const std::vector<Tid> &tids) {
        const std::vector<char> images =
            gpu_engine::bench::page_images(keys.data(), tids.data(), keys.size());
        protocol::AppendPages request{};
        request.handle = handle;
        request.run_entries = keys.size();
        request.layout = gpu_engine::bench::array_layout<Key>;
        const std::uint64_t page_bytes = request.layout.page_bytes;
        const auto pages = static_cast<std::uint32_t>(images.size() / page_bytes);
        const auto most =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(pages_at_once, buffer_bytes_ / page_bytes));
        protocol::ReplyHeader reply{};
        while (request.first_page < pages && result_of(reply) == ReplyResult::done) {
            request.pages = std::min(most, pages - request.first_page);
            std::memcpy(buffer_, images.data() + request.first_page * page_bytes, request.pages * page_bytes);
            reply = call<protocol::ReplyHeader>(Message::append_pages, request);
            request.first_page += request.pages;
        }
        return reply;
    }
    // Makes a mirror of sorted entries.
    template <typename Key>
    ReplyResult load(const protocol::RunName &name, const std::vector<Key> &keys,
                     const std::vector<Tid> &tids, bool pinned = false) {
        const protocol::BeginReply begun = begin_kary(name, keys.size(), sizeof(Key) * 8, pinned);
        if (result_of(begun.header) != ReplyResult::done || begun.handle == 0) {
            return result_of(begun.header);
        }
        const ReplyResult appended = result_of(append(begun.handle, keys, tids));
        if (appended != ReplyResult::done) {
            return appended;
        }
        return result_of(finish(begun.handle).header);
    }

    static ReplyResult result_of(const protocol::ReplyHeader &header) {
        return static_cast<ReplyResult>(header.result);
    }

    EngineName engine = EngineName::host;
    // The next requests have these (protocol::RequestHeader).
    std::uint32_t purpose = 0;
    bool forced = false;
    std::uint32_t pages_at_once = UINT32_MAX;
    std::uint32_t deadline_ms = 0;
    protocol::Subject subject{};
    // The next arrays of kary have this holder.
    protocol::Holder holder{10, 0, 0, 0};

  private:
    int socket_ = -1;
    std::uint64_t requests_ = 0;
    char *buffer_ = nullptr;
    std::uint64_t buffer_bytes_ = 0;
};

// A server of the test's own, and a session with a transfer buffer that asks one of its engines. The test is
// skipped where there is no such engine.
class ServerTest : public testing::Test {
  protected:
    ServerTest(EngineName engine, std::uint64_t buffer_bytes, const gpu_engine::server::Options &options = {})
        : server_(options), engine_(engine), first_buffer_bytes_(buffer_bytes) {}

    void SetUp() override;
    // Skips, from SetUp, tests of what a single engine does, where several stand for devices.
    void skip_on_several_engines();
    bool has_several_engines() { return server_->engines().of(engine_).size() > 1; }

    ServerUnderTest server_;
    std::unique_ptr<Client> client_;
    std::mt19937_64 random_{20261121};

  private:
    const EngineName engine_;
    const std::uint64_t first_buffer_bytes_;
};

// The same for each engine.
class ServerTestOfEngine : public ServerTest, public testing::WithParamInterface<EngineName> {
  protected:
    explicit ServerTestOfEngine(std::uint64_t buffer_bytes, const gpu_engine::server::Options &options = {})
        : ServerTest(GetParam(), buffer_bytes, options) {}

    // Refusals may be injected.
    static gpu_engine::server::Options for_testing();
};

// The values of INSTANTIATE_TEST_SUITE_P.
inline auto every_engine() {
    return testing::Values(EngineName::host, EngineName::cuda);
}
std::string engine_of(const testing::TestParamInfo<EngineName> &test);

inline protocol::RunName run_name(std::uint64_t run, std::uint32_t relation = 1) {
    return protocol::RunName{1663, 5, relation, -1, run, 700, 0};
}

// A request about runs of keys of so many bits.
template <typename Request>
Request about_runs(std::uint32_t key_bits, std::initializer_list<std::uint64_t> runs) {
    Request request{};
    request.key_bits = key_bits;
    for (const std::uint64_t run : runs) {
        request.run[request.runs++].name = run_name(run);
    }
    return request;
}

inline Tid make_tid(std::uint64_t block, std::uint16_t offset) {
    return Tid{static_cast<std::uint16_t>(block >> 16), static_cast<std::uint16_t>(block), offset};
}

// Whether the condition came true within some seconds.
bool wait_until(const std::function<bool()> &condition);

// How many descriptors this process has open.
std::size_t open_descriptors();

}  // namespace server_test
