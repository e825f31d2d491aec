#include "server/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "gpu_engine/guard.h"
#include "gpu_engine/kept_memory.h"
#include "server/net/connection.h"
#include "server/log.h"
#include "server/machine.h"

namespace gpu_engine::server {
namespace {

using protocol::EngineName;

constexpr std::uint64_t transfer_memory_share = 32;
// The server looks so often whether a device is still being opened, and what memory it has no use for.
constexpr int look_milliseconds = 1000;
// A session that doesn't take its answer within this time is given up.
constexpr int send_milliseconds = 10000;
// A session has so long to say hello.
constexpr int hello_milliseconds = 10000;
// The server waits so long after accept failed for want of descriptors or memory.
constexpr int pause_milliseconds = 100;

// A connection has a socket, and a moment long the memory that comes with a message. The rest is for devices
// and the server's own.
std::uint32_t connections_for_descriptors() {
    constexpr std::uint64_t others = 128;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return UINT32_MAX;
    }
    const std::uint64_t most = limit.rlim_cur;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((most - std::min(most / 2, others)) / 2, UINT32_MAX));
}

Status out_of_resources(const char *what) {
    char message[Status::message_capacity];
    std::snprintf(message, sizeof(message), "%s: %s", what, std::strerror(errno));
    return make_status(StatusCode::unavailable, message);
}

}  // namespace

Server::Server(const Options &options, std::function<void(const char *)> give_up)
    : options_(options),
      give_up_(std::move(give_up)),
      connection_limit_(std::min(options.connection_limit, connections_for_descriptors())),
      transfer_memory_(0) {
    set_transfer_limit(options.transfer_limit);
}

Server::~Server() {
    // The arrays must end before their engine does.
    for (EngineId id = 0; id < max_engines; ++id) {
        mirrors_.clear(id);
    }
}

void Server::set_transfer_limit(std::uint64_t bytes) noexcept {
    transfer_memory_.set_limit(bytes > 0 ? bytes : read_machine().memory / transfer_memory_share);
}

Status Server::start() noexcept {
    return guarded([&] {
        if (getrandom(&start_number_, sizeof(start_number_), 0) != sizeof(start_number_)) {
            return out_of_resources("getrandom");
        }
        started_at_ = microseconds_since_1970();
        wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!wake_.valid()) {
            return out_of_resources("eventfd");
        }
        if (options_.parent > 0) {
            // The parent may have ended before prctl asked the kernel to signal its death.
            parent_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, options_.parent, 0)));
            // Old kernels lack the call, and old profiles of containers refuse what they don't know. The
            // signal at the parent's death and the watched descriptor tell as well.
            if (!parent_.valid() && errno != ENOSYS && errno != EPERM) {
                return out_of_resources("the parent process");
            }
        }
        Status status = listening_.lock(options_.socket_path);
        if (!status.ok()) {
            return status;
        }
        watcher_ = std::make_unique<Watcher>(
            [this] {
                for (const EngineId id : engines_->all()) {
                    engines_->queue(id).wake();
                }
            },
            [this] { give_up("a request goes on long after it was cancelled"); },
            std::chrono::milliseconds(options_.stuck_milliseconds));
        engines_ = std::make_unique<Engines>(options_, *watcher_);
        // Not before the engines' threads run: who connects waits no longer than for an answer, and the
        // supervisor waits longer for a server that doesn't listen yet.
        status = listening_.listen(options_.backlog);
        if (!status.ok()) {
            return status;
        }
        const std::uint32_t hosts = engines_->of(EngineName::host).size();
        const std::string times = hosts > 1 ? std::to_string(hosts) + " times engine" : "engine";
        log_line("listening on \"%s\"; %s host: %u threads, limit %llu MiB%s", options_.socket_path.c_str(),
                 times.c_str(), engines_->threads(),
                 static_cast<unsigned long long>(engines_->host().memory().limit() >> 20),
                 engines_->state(EngineName::cuda) == Engines::State::opening
                     ? "; engine cuda is being opened"
                     : "");
        return Status{};
    });
}

void Server::stop() noexcept {
    stopping_ = true;
    const std::uint64_t one = 1;
    static_cast<void>(!write(wake_.get(), &one, sizeof(one)));
}

void Server::run() {
    const char *cause = nullptr;
    bool accepting = true;
    Clock::time_point look_at{};
    while (cause == nullptr) {
        pollfd watched[4] = {{wake_.get(), POLLIN, 0},
                             {accepting ? listening_.descriptor() : -1, POLLIN, 0},
                             {parent_.get(), POLLIN, 0},
                             {options_.watch_descriptor, POLLIN, 0}};
        if (poll(watched, 4, accepting ? look_milliseconds : pause_milliseconds) < 0) {
            continue;
        }
        engines_->notice_slow_openings();
        if (Clock::now() >= look_at) {
            look_at = Clock::now() + std::chrono::milliseconds(look_milliseconds);
            give_back_memory();
            if (!listening_.holds_lock()) {
                cause = "its lock file was removed";
            }
        }
        accepting = true;
        if (watched[0].revents != 0) {
            std::uint64_t times;
            static_cast<void>(!read(wake_.get(), &times, sizeof(times)));
            join_ended(false);
        }
        if (stopping_) {
            cause = "asked to stop";
        } else if (watched[2].revents != 0) {
            cause = "the parent process has ended";
        } else if (watched[3].revents != 0) {
            char bytes[64];
            if (read(options_.watch_descriptor, bytes, sizeof(bytes)) == 0 ||
                (watched[3].revents & (POLLERR | POLLNVAL)) != 0) {
                cause = "the watched descriptor has met its end";
            }
        }
        if (cause == nullptr && watched[1].revents != 0) {
            accepting = accept_connections();
        }
    }
    log_line("stopping: %s", cause);
    stopping_ = true;
    {
        const std::lock_guard lock(sessions_mutex_);
        for (const Session &session : sessions_) {
            if (session.socket >= 0) {
                shutdown(session.socket, SHUT_RDWR);
            }
        }
    }
    watcher_->cancel_all();
    join_ended(true);
}

bool Server::accept_connections() {
    for (;;) {
        Descriptor socket(accept4(listening_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!socket.valid()) {
            if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNABORTED) {
                return true;
            }
            const int error = errno;
            if (refusals_.due()) {
                log_warning("could not accept a connection: %s", std::strerror(error));
            }
            return false;
        }
        int process;
        unsigned user;
        if (!peer_is_own_user(socket.get(), &process, &user)) {
            if (refusals_.due()) {
                log_warning("refused a connection of user %u, process %d", user, process);
            }
            continue;
        }
        set_timeout(socket.get(), SO_SNDTIMEO, send_milliseconds);
        set_timeout(socket.get(), SO_RCVTIMEO, hello_milliseconds);
        const std::lock_guard lock(sessions_mutex_);
        // The supervisor must get through even when sessions have taken all connections; otherwise it would
        // take the server for dead.
        if (sessions_.size() >= connection_limit_ && process != options_.parent) {
            refuse(socket, process);
            continue;
        }
        try {
            Session &session = sessions_.emplace_back();
            session.socket = socket.get();
            try {
                // The thread has its own copy of the descriptor, which it closes, so its number is read
                // first.
                session.thread = std::thread([this, &session, number = socket.get(), process] {
                    serve(session, Descriptor(number), process);
                });
                socket.release();
            } catch (...) {
                sessions_.pop_back();
                throw;
            }
        } catch (const std::exception &exception) {
            if (refusals_.due()) {
                log_warning("could not serve process %d: %s", process, exception.what());
            }
            return false;
        }
    }
}

void Server::refuse(const Descriptor &socket, int process) {
    if (refusals_.due()) {
        log_warning("refused a connection of process %d: there are %u already", process, connection_limit_);
    }
    protocol::ReplyHeader reply{};
    reply.magic = protocol::magic;
    reply.type = static_cast<std::uint16_t>(protocol::Message::hello);
    reply.bytes = sizeof(reply);
    reply.result = static_cast<std::uint32_t>(protocol::ReplyResult::busy);
    reply.request = 1;  // with which each connection begins
    std::snprintf(reply.status.message, sizeof(reply.status.message),
                  "the server process has %u connections already", connection_limit_);
    static_cast<void>(send_message(socket.get(), &reply, sizeof(reply)));
}

void Server::serve(Session &session, Descriptor socket, int process) noexcept {
    serve_connection(*this, socket.get(), process);
    {
        // The descriptor is still open here, so that its number isn't another's when `run` shuts it down.
        const std::lock_guard lock(sessions_mutex_);
        session.socket = -1;
    }
    socket = {};
    const std::uint64_t one = 1;
    static_cast<void>(!write(wake_.get(), &one, sizeof(one)));
}

void Server::join_ended(bool all) {
    std::list<Session> ended;
    {
        const std::lock_guard lock(sessions_mutex_);
        for (auto i = sessions_.begin(); i != sessions_.end();) {
            const auto session = i++;
            if (all || session->socket < 0) {
                ended.splice(ended.end(), sessions_, session);
            }
        }
    }
    for (Session &session : ended) {
        session.thread.join();
    }
}

void Server::give_back_memory() {
    std::uint64_t counted = host::give_back_kept_memory();
    for (const EngineId id : engines_->of(EngineName::host)) {
        counted += engines_->get(id)->memory().used();
    }
    freed_memory_.look(counted);
}

std::uint32_t Server::connections() {
    const std::lock_guard lock(sessions_mutex_);
    return static_cast<std::uint32_t>(sessions_.size());
}

}  // namespace gpu_engine::server
