#include "server_client.h"

#include "emulated_engine.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>

namespace server_test {

using gpu_engine::server::Options;
using gpu_engine::server::Server;

TemporaryFolder::TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "pg_gpu_server.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
        ADD_FAILURE() << "mkdtemp: " << std::strerror(errno);
    }
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
}

namespace {

constexpr int emulated_devices = 3;

// Without CUDA, three host engines stand for devices.
[[maybe_unused]] void emulate_devices(Options *options) {
    options->identify_devices = [](std::vector<gpu_engine::DeviceIdentity> *devices) {
        for (int i = 0; i < emulated_devices; ++i) {
            devices->push_back({i, "", "emulated"});
        }
        return gpu_engine::Status{};
    };
    options->open_device = [](const gpu_engine::EngineOptions &wanted,
                              std::unique_ptr<gpu_engine::Engine> *engine) {
        static Stand valid[emulated_devices];
        valid[wanted.device].device = wanted.device;
        *engine = std::make_unique<StandIn>(valid[wanted.device]);
        return gpu_engine::Status{};
    };
}

}  // namespace

ServerUnderTest::ServerUnderTest(Options options) : path_(folder_.file("socket")) {
    options.socket_path = path_;
    // If there are several devices, an index's runs are shared out among them, and each that can be is
    // divided.
    if (options.colocated_bytes == Options().colocated_bytes) {
        options.colocated_bytes = 0;
    }
    options.divides_all = options.host_engines == 1 && options.emulated_devices == 0;
    // Tests of a kind's limits are for that kind alone.
    options.overflows = options.overflows && options.emulated_devices > 0;
#ifndef PG_GPU_HAVE_CUDA
    if (!options.open_device && options.emulated_devices == 0) {
        emulate_devices(&options);
    }
#endif
    server_ = std::make_unique<Server>(options, [this](const char *) { ++given_up_; });
    const gpu_engine::Status status = server_->start();
    EXPECT_TRUE(status.ok()) << status.message;
    if (status.ok()) {
        thread_ = std::thread([this] { server_->run(); });
    }
}

ServerUnderTest::~ServerUnderTest() {
    if (thread_.joinable()) {
        server_->stop();
        thread_.join();
        // Every connection has given back what it held.
        EXPECT_EQ(server_->transfer_memory().used(), 0U);
        EXPECT_EQ(server_->connections(), 0U);
    }
}

bool ServerUnderTest::has(EngineName engine) {
    using State = gpu_engine::server::Engines::State;
    while (server_->engines().state(engine) == State::opening || server_->engines().is_opening()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return server_->engines().state(engine) == State::ready;
}

int make_memfd(std::uint64_t bytes, int seals) {
    const int memfd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_GE(memfd, 0);
    EXPECT_EQ(ftruncate(memfd, static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(fcntl(memfd, F_ADD_SEALS, seals), 0);
    return memfd;
}

Client::Client(const std::string &path, EngineName its_engine) : engine(its_engine) {
    EXPECT_TRUE(connect(path));
    EXPECT_EQ(result_of(hello().header), ReplyResult::done);
}

Client::~Client() {
    disconnect();
    if (buffer_ != nullptr) {
        munmap(buffer_, buffer_bytes_);
    }
}

bool Client::connect(const std::string &path) {
    disconnect();
    socket_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return ::connect(socket_, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
}

void Client::disconnect() {
    if (socket_ >= 0) {
        close(socket_);
        socket_ = -1;
    }
}

bool Client::send_bytes(const void *bytes, std::size_t count, const std::vector<int> &descriptors) {
    iovec part{const_cast<void *>(bytes), count};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
    if (!descriptors.empty()) {
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        cmsghdr *item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
        std::memcpy(CMSG_DATA(item), descriptors.data(), descriptors.size() * sizeof(int));
    }
    return sendmsg(socket_, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
}

std::size_t Client::receive_bytes(void *bytes, std::size_t capacity) {
    const ssize_t received = recv(socket_, bytes, capacity, 0);
    return received > 0 ? static_cast<std::size_t>(received) : 0;
}

protocol::HelloReply Client::hello() {
    protocol::Hello request{};
    request.version = protocol::version;
    request.layout = protocol::message_layout;
    request.process = getpid();
    request.user = 10;
    return call<protocol::HelloReply>(Message::hello, request);
}

protocol::ReplyHeader Client::attach(std::uint64_t bytes) {
    if (buffer_ != nullptr) {
        munmap(buffer_, buffer_bytes_);
        buffer_ = nullptr;
    }
    const int memfd = make_memfd(bytes, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    buffer_ = static_cast<char *>(mapped);
    buffer_bytes_ = bytes;
    protocol::Attach request{};
    request.bytes = bytes;
    fill_header(Message::attach, &request);
    EXPECT_TRUE(send_bytes(&request, sizeof(request), {memfd}));
    close(memfd);
    protocol::ReplyHeader reply{};
    EXPECT_TRUE(receive_reply(&reply));
    return reply;
}

protocol::BeginReply Client::begin_kary(const protocol::RunName &name, std::uint64_t entries,
                                        std::uint32_t key_bits, bool pinned) {
    protocol::BeginKary request{};
    request.name = name;
    request.entries = entries;
    request.key_bits = key_bits;
    request.holder = holder;
    request.holder.pinned = pinned ? 1 : 0;
    return call<protocol::BeginReply>(Message::begin_kary, request);
}

protocol::HandleReply Client::finish(std::uint64_t handle) {
    protocol::HandleRequest request{};
    request.handle = handle;
    return call<protocol::HandleReply>(Message::finish, request);
}

protocol::ReplyHeader Client::drop(std::uint64_t handle) {
    protocol::HandleRequest request{};
    request.handle = handle;
    return call<protocol::ReplyHeader>(Message::drop, request);
}

protocol::ReplyHeader Client::set_dead(const protocol::RunName &name, const std::vector<std::uint64_t> &words,
                                       std::uint64_t version) {
    protocol::SetDead request{};
    request.name = name;
    request.version = version;
    request.words = words.size();
    if (!words.empty()) {
        std::memcpy(buffer_, words.data(), words.size() * sizeof(std::uint64_t));
    }
    return call<protocol::ReplyHeader>(Message::set_dead, request);
}

protocol::EvictReply Client::evict(const protocol::RunName &name) {
    protocol::Evict request{};
    request.name = name;
    return call<protocol::EvictReply>(Message::evict, request);
}

protocol::ReplyHeader Client::inject(std::int64_t refuse_after) {
    protocol::Inject request{};
    request.refuse_after = refuse_after;
    return call<protocol::ReplyHeader>(Message::inject, request);
}

protocol::StateReply Client::state() {
    return call<protocol::StateReply>(Message::state, protocol::RequestHeader{});
}

protocol::ListReply Client::list(Message type, std::uint64_t offset, std::uint64_t capacity, bool reset) {
    protocol::List request{};
    request.offset = offset;
    request.capacity = capacity;
    request.reset = reset ? 1 : 0;
    return call<protocol::ListReply>(type, request);
}

void ServerTest::skip_on_several_engines() {
    if (!IsSkipped() && has_several_engines()) {
        GTEST_SKIP() << "the test is of one engine";
    }
}

void ServerTest::SetUp() {
    if (!server_.has(engine_)) {
        GTEST_SKIP() << "no such engine here";
    }
    client_ = std::make_unique<Client>(server_.path(), engine_);
    ASSERT_EQ(Client::result_of(client_->attach(first_buffer_bytes_)), ReplyResult::done);
}

gpu_engine::server::Options ServerTestOfEngine::for_testing() {
    gpu_engine::server::Options options;
    options.testing = true;
    // No thread tries to open a device again while a test lets memory run out.
    options.first_retry_milliseconds = 3600000;
    return options;
}

std::string engine_of(const testing::TestParamInfo<EngineName> &test) {
    return test.param == EngineName::host ? "host" : "cuda";
}

bool wait_until(const std::function<bool()> &condition) {
    for (int i = 0; i < 60000; ++i) {
        if (condition()) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        ++count;
    }
    return count;
}

}  // namespace server_test
