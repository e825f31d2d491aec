#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "bench/kary/load_array.h"
#include "gpu_engine/entry.h"
#include "gpu_engine/protocol.h"
#include "server/net/connection.h"
#include "server/requests/request.h"
#include "server/server.h"

#include "targets.h"

namespace fuzz {
namespace {

using namespace gpu_engine;
using gpu_engine::protocol::Message;
using gpu_engine::protocol::ReplyHeader;
using gpu_engine::protocol::ReplyResult;
using gpu_engine::protocol::RequestHeader;
using gpu_engine::server::Server;

constexpr std::uint64_t buffer_bytes = 64 << 10;
constexpr std::uint64_t max_messages = 24;
constexpr std::uint64_t mirror_entries = 512;
constexpr protocol::RunName mirror{1663, 5, 1, -1, 1, 0, 0};

// A server without a device, whose connections are served by the calling thread.
class Session {
  public:
    Session() {
        char folder[] = "/tmp/pg_gpu-fuzz.XXXXXX";
        require(mkdtemp(folder) != nullptr, "no folder");
        server::Options options;
        options.socket_path = std::string(folder) + "/socket";
        options.uses_devices = false;
        options.threads = 1;
        options.testing = true;
        options.memory_limit[0] = 64 << 20;
        options.transfer_limit = 1 << 20;
        server_ = std::make_unique<Server>(options, [](const char *why) { contradiction(why); });
        require(server_->start().ok(), "the server doesn't start");
        // Nobody connects by name.
        unlink(options.socket_path.c_str());
        unlink((options.socket_path + ".lock").c_str());
        rmdir(folder);
        memfd_ = memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC);
        require(memfd_ >= 0 && ftruncate(memfd_, buffer_bytes) == 0 &&
                    fcntl(memfd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0,
                "no memfd");
        void *mapped = mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd_, 0);
        require(mapped != MAP_FAILED, "no mapping");
        buffer_ = static_cast<char *>(mapped);
    }

    char *buffer() { return buffer_; }

    void begin() {
        int sockets[2];
        require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0, "no sockets");
        socket_ = sockets[0];
        servers_socket_ = sockets[1];
        sent_ = 0;
    }
    // False when the socket is full.
    bool send(const void *message, std::size_t bytes, int descriptor = -1) {
        iovec part{const_cast<void *>(message), bytes};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        msghdr header{};
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        if (descriptor >= 0) {
            header.msg_control = control;
            header.msg_controllen = sizeof(control);
            cmsghdr *passed = CMSG_FIRSTHDR(&header);
            passed->cmsg_level = SOL_SOCKET;
            passed->cmsg_type = SCM_RIGHTS;
            passed->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(passed), &descriptor, sizeof(int));
        }
        const bool done = sendmsg(socket_, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
        sent_ += done ? 1 : 0;
        return done;
    }
    template <typename Request>
    void request(Message type, Request message, int descriptor = -1) {
        message.header = header(type, sizeof(message));
        require(send(&message, sizeof(message), descriptor), "the socket is full");
    }
    RequestHeader header(Message type, std::size_t bytes) {
        RequestHeader result{};
        result.magic = protocol::magic;
        result.type = static_cast<std::uint16_t>(type);
        result.bytes = static_cast<std::uint32_t>(bytes);
        result.deadline_ms = 1000;
        result.request = sent_ + 1;
        return result;
    }
    // Sends messages that make those after them worth reading: a buffer, a mirror, an array in the making
    // (handle 2).
    void greet() {
        protocol::Hello hello{};
        hello.version = protocol::version;
        hello.layout = protocol::message_layout;
        request(Message::hello, hello);
        protocol::Attach attach{};
        attach.bytes = buffer_bytes;
        request(Message::attach, attach, memfd_);
        protocol::BeginKary begin{};
        begin.name = mirror;
        begin.entries = mirror_entries;
        begin.key_bits = 64;
        request(Message::begin_kary, begin);
        // All keys are 0, and so are all TIDs: in order.
        protocol::AppendPages append{};
        append.handle = 1;
        append.offset = buffer_bytes / 2;
        append.run_entries = mirror_entries;
        append.layout = gpu_engine::bench::array_layout<std::uint64_t>;
        append.pages = static_cast<std::uint32_t>((mirror_entries + append.layout.per_page - 1) /
                                                  append.layout.per_page);
        request(Message::append_pages, append);
        protocol::HandleRequest finish{};
        finish.handle = 1;
        request(Message::finish, finish);
        begin.name.run = mirror.run + 1;
        begin.entries = 64;
        request(Message::begin_kary, begin);
    }
    // Has everything answered, and looks at the answers.
    void serve() {
        protocol::Evict evict{};
        evict.name.database = mirror.database;
        evict.header = header(Message::evict, sizeof(evict));
        static_cast<void>(send(&evict, sizeof(evict)));
        // An empty packet reads like the end.
        while (!send("", 0)) {
            ReplyHeader dropped;
            static_cast<void>(recv(servers_socket_, &dropped, sizeof(dropped), MSG_DONTWAIT));
        }
        server::serve_connection(*server_, servers_socket_, 1);
        close(servers_socket_);
        alignas(16) char reply[protocol::max_message];
        for (;;) {
            const ssize_t bytes = recv(socket_, reply, sizeof(reply), MSG_DONTWAIT);
            if (bytes <= 0) {
                break;
            }
            const auto *its_header = reinterpret_cast<const ReplyHeader *>(reply);
            require(static_cast<std::size_t>(bytes) >= sizeof(ReplyHeader), "a reply without a header");
            require(its_header->bytes == static_cast<std::size_t>(bytes), "a reply of another size");
            require(its_header->status.code != StatusCode::internal, its_header->status.message);
        }
        close(socket_);
        require(server_->transfer_memory().used() == 0, "a buffer stays after its connection");
    }

  private:
    std::unique_ptr<Server> server_;
    int memfd_ = -1;
    char *buffer_ = nullptr;
    int socket_ = -1;
    int servers_socket_ = -1;
    std::uint64_t sent_ = 0;
};

// Changes a number of a message, by a byte that says how.
std::uint64_t number(Input &input, std::uint8_t how) {
    if (how < 128) {
        return how;
    }
    if (how < 224) {
        return std::uint64_t(how - 128U) * 512;  // an offset
    }
    switch (how % 6) {
        case 0:
            return UINT64_MAX;
        case 1:
            return buffer_bytes - input.take<std::uint8_t>();
        case 2:
            return std::uint64_t(1) << input.take<std::uint8_t>() % 64;
        case 3:
            return input.take<std::uint16_t>();
        default:
            return input.take<std::uint64_t>();
    }
}

// A message of any kind with some of its numbers changed. Words of 4 bytes begin behind the header.
std::size_t compose(Input &input, Session &session, char *message) {
    const auto type = static_cast<std::uint16_t>(1 + input.take<std::uint8_t>() % 48);
    const server::Handler *handler = server::find_handler(type);
    // Limits stay those of this program.
    if (handler == nullptr || static_cast<Message>(type) == Message::configure) {
        const std::size_t bytes = 1 + input.take<std::uint8_t>();
        input.take_bytes(message, bytes);
        return bytes;
    }
    const std::size_t bytes = handler->request_bytes;
    const std::size_t words = (bytes - sizeof(RequestHeader)) / 4;
    const std::size_t edits = words == 0 ? 0 : input.take<std::uint8_t>() % 24;
    for (std::size_t edit = 0; edit < edits; ++edit) {
        const std::size_t at = sizeof(RequestHeader) + input.take<std::uint8_t>() % words * 4;
        const auto how = input.take<std::uint8_t>();
        if (how == 255 && at + sizeof(protocol::RunUse) <= bytes) {
            const protocol::RunUse use{mirror, 0};
            std::memcpy(message + at, &use, sizeof(use));
            continue;
        }
        const std::uint64_t value = number(input, how);
        std::memcpy(message + at, &value, at + 8 <= bytes ? 8 : 4);
    }
    const RequestHeader header = session.header(static_cast<Message>(type), bytes);
    std::memcpy(message, &header, sizeof(header));
    return bytes;
}

}  // namespace

// The first two bytes say how many bytes make messages; the others fill the first half of the buffer.
void protocol(const std::uint8_t *data, std::size_t size) {
    static Session session;
    Input input(data, size);
    const std::size_t script_bytes = input.take<std::uint16_t>();
    const std::uint8_t *script = data + (size - input.left());
    const std::size_t script_size = script_bytes < input.left() ? script_bytes : input.left();
    Input messages(script, script_size);
    Input content(script + script_size, input.left() - script_size);
    std::memset(session.buffer(), 0, buffer_bytes);
    content.take_bytes(session.buffer(), buffer_bytes / 2);

    session.begin();
    session.greet();
    for (std::uint64_t i = 0; i < max_messages && messages.left() > 0; ++i) {
        alignas(16) char message[gpu_engine::protocol::max_message] = {};
        const std::size_t bytes = compose(messages, session, message);
        if (!session.send(message, bytes)) {
            break;
        }
    }
    session.serve();
}

}  // namespace fuzz
