#include "server/net/transport.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "gpu_engine/guard.h"

namespace gpu_engine::server {
namespace {

[[noreturn]] void fail(const char *what, const std::string &path, int error) {
    char message[Status::message_capacity];
    std::snprintf(message, sizeof(message), "%s \"%s\": %s", what, path.c_str(), std::strerror(error));
    throw Failure{make_status(StatusCode::unavailable, message)};
}

}  // namespace

// The socket is bound under this name first, so that nobody meets one that doesn't listen yet.
static std::string early_name(const std::string &path) {
    return path + ".new";
}

Status ListeningSocket::lock(const std::string &path) noexcept {
    return guarded([&] {
        if (early_name(path).size() >= sizeof(sockaddr_un::sun_path)) {
            fail("too long for a socket:", path, ENAMETOOLONG);
        }
        lock_path_ = path + ".lock";
        lock_ = Descriptor(::open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!lock_.valid()) {
            fail("could not open", lock_path_, errno);
        }
        if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) {
                fail("another server holds", lock_path_, EBUSY);
            }
            fail("could not lock", lock_path_, errno);
        }
        path_ = path;
        return Status{};
    });
}

Status ListeningSocket::listen(std::uint32_t backlog) noexcept {
    return guarded([&] {
        const std::string early_path = early_name(path_);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, early_path.c_str(), early_path.size() + 1);
        socket_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!socket_.valid()) {
            fail("could not make a socket for", path_, errno);
        }
        unlink(early_path.c_str());
        const mode_t mask = umask(077);
        const int bound = bind(socket_.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address));
        const int error = errno;
        umask(mask);
        if (bound != 0) {
            fail("could not bind to", early_path, error);
        }
        struct stat file {};
        if (::listen(socket_.get(), static_cast<int>(backlog)) != 0 || stat(early_path.c_str(), &file) != 0 ||
            rename(early_path.c_str(), path_.c_str()) != 0) {
            const int reason = errno;
            unlink(early_path.c_str());
            fail("could not listen on", path_, reason);
        }
        device_ = file.st_dev;
        node_ = file.st_ino;
        return Status{};
    });
}

bool ListeningSocket::holds_lock() const noexcept {
    struct stat own {};
    struct stat named {};
    if (fstat(lock_.get(), &own) != 0 || lstat(lock_path_.c_str(), &named) != 0) {
        return errno != ENOENT;
    }
    return own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

ListeningSocket::~ListeningSocket() {
    struct stat file {};
    if (node_ != 0 && stat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == node_) {
        unlink(path_.c_str());
    }
}

bool peer_is_own_user(int socket, int *process, unsigned *user) noexcept {
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    *process = 0;
    *user = 0;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        return false;
    }
    *process = credentials.pid;
    *user = credentials.uid;
    return credentials.uid == geteuid();
}

Received receive_message(int socket, void *buffer, std::size_t capacity, std::size_t *bytes,
                         Descriptor *passed) noexcept {
    iovec part{buffer, capacity};
    // There is room for some descriptors more than wanted, so that they are seen and closed; the kernel
    // closes those that don't fit.
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    ssize_t received;
    do {
        received = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK ? Received::too_late : Received::closed;
    }
    for (cmsghdr *item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int number;
            std::memcpy(&number, CMSG_DATA(item) + i * sizeof(int), sizeof(int));
            Descriptor descriptor(number);
            if (!passed->valid()) {
                *passed = std::move(descriptor);
            }
        }
    }
    *bytes = static_cast<std::size_t>(received);
    if (received == 0) {
        return Received::closed;
    }
    return (header.msg_flags & MSG_TRUNC) != 0 ? Received::too_long : Received::message;
}

bool send_message(int socket, const void *message, std::size_t bytes) noexcept {
    ssize_t sent;
    do {
        sent = send(socket, message, bytes, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes);
}

void set_timeout(int socket, int option, int milliseconds) noexcept {
    const timeval time{milliseconds / 1000, milliseconds % 1000 * 1000};
    static_cast<void>(setsockopt(socket, SOL_SOCKET, option, &time, sizeof(time)));
}

}  // namespace gpu_engine::server
