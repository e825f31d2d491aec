// Messages through a Unix socket.
#pragma once

#include <cstddef>
#include <string>

#include "gpu_engine/status.h"
#include "server/descriptor.h"

namespace gpu_engine::server {

// A socket that listens under a name in the file system, which only the server's own user can open. A lock on
// "NAME.lock" keeps a second server away as long as this one lives.
class ListeningSocket {
  public:
    ListeningSocket() = default;
    ListeningSocket(const ListeningSocket &) = delete;
    ListeningSocket &operator=(const ListeningSocket &) = delete;
    // Removes the name if it still is this socket's.
    ~ListeningSocket();

    Status open(const std::string &path) noexcept;
    int descriptor() const noexcept { return socket_.get(); }

  private:
    std::string path_;
    Descriptor lock_;
    Descriptor socket_;
    unsigned long device_ = 0;  // of the socket's file
    unsigned long node_ = 0;
};

// Whether the process at the other end is this one's user's. `*process` and `*user` are told in any case,
// when they are known.
bool peer_is_own_user(int socket, int *process, unsigned *user) noexcept;

enum class Received {
    message,
    closed,    // or broken
    too_late,  // SO_RCVTIMEO
    too_long,  // longer than the buffer
};

// Waits for a message. A descriptor that comes with it goes to `passed`; when several do, the others are
// closed.
Received receive_message(int socket, void *buffer, std::size_t capacity, std::size_t *bytes,
                         Descriptor *passed) noexcept;

// False when the peer is gone, or didn't make room within SO_SNDTIMEO.
bool send_message(int socket, const void *message, std::size_t bytes) noexcept;

// 0 ms: waits for ever.
void set_timeout(int socket, int option, int milliseconds) noexcept;

}  // namespace gpu_engine::server
