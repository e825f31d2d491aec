// Messages through a Unix socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu_engine/status.h"
#include "server/net/descriptor.h"

namespace gpu_engine::server {

// A socket that listens under a name in the file system, which only the server's own user can open. A lock on
// "NAME.lock" keeps a second server away while this object lives.
class ListeningSocket {
  public:
    ListeningSocket() = default;
    ListeningSocket(const ListeningSocket &) = delete;
    ListeningSocket &operator=(const ListeningSocket &) = delete;
    // Removes the name if it still belongs to this socket.
    ~ListeningSocket();

    // Takes the name, which fails while another server holds it.
    Status lock(const std::string &path) noexcept;
    // Listens under the locked name. `backlog`: so many connections wait until they are accepted.
    Status listen(std::uint32_t backlog) noexcept;
    int descriptor() const noexcept { return socket_.get(); }
    // Returns whether the lock is still that of the name: with another file, or none, a second server may
    // take it.
    bool holds_lock() const noexcept;

  private:
    std::string path_;
    std::string lock_path_;
    Descriptor lock_;
    Descriptor socket_;
    unsigned long device_ = 0;  // device number of the socket's file
    unsigned long node_ = 0;
};

// Returns whether the process at the other end belongs to the user that this process runs as. `*process` and
// `*user` are set in any case where they are known.
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

// Returns false when the peer is gone, or didn't make room within SO_SNDTIMEO.
bool send_message(int socket, const void *message, std::size_t bytes) noexcept;

// Sets SO_RCVTIMEO or SO_SNDTIMEO. With 0 milliseconds the socket waits for ever.
void set_timeout(int socket, int option, int milliseconds) noexcept;

}  // namespace gpu_engine::server
