// The server: accepts connections, gives each a thread, and ends with its parent.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "gpu_engine/memory.h"
#include "server/engines.h"
#include "server/log.h"
#include "server/residency/mirrors.h"
#include "server/resident.h"
#include "server/options.h"
#include "server/statistics.h"
#include "server/net/transport.h"
#include "server/net/watcher.h"

namespace gpu_engine::server {

// The server: what all connections share.
class Server {
  public:
    // `give_up` is called with a reason when only a new process can help: a device is lost, or a request
    // can't be stopped. It should end the process.
    Server(const Options &options, std::function<void(const char *reason)> give_up);
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server();

    // Makes the socket and opens the engines. When the status isn't ok, nothing was started.
    Status start() noexcept;
    // Serves until it is stopped, then ends all connections.
    void run();
    // Ends `run`. A signal handler may call it.
    void stop() noexcept;

    const Options &options() const noexcept { return options_; }
    Engines &engines() noexcept { return *engines_; }
    Watcher &watcher() noexcept { return *watcher_; }
    Mirrors &mirrors() noexcept { return mirrors_; }
    Statistics &statistics() noexcept { return statistics_; }
    MemoryBudget &transfer_memory() noexcept { return transfer_memory_; }
    // Returns microseconds since 1970.
    std::int64_t started_at() const noexcept { return started_at_; }
    std::uint64_t start_number() const noexcept { return start_number_; }
    std::uint32_t connections();
    // Returns another number each time.
    std::uint64_t number_connection() noexcept { return ++connections_made_; }
    void give_up(const char *reason) { give_up_(reason); }

    // Sets the limit of transfer memory; with 0 the default limit applies again.
    void set_transfer_limit(std::uint64_t bytes) noexcept;

  private:
    struct Session {
        std::thread thread;
        int socket = -1;  // -1: the connection has ended
    };

    // Returns false when the system is short of something, and the caller should pause before the next try.
    bool accept_connections();
    // Closes a connection, and says why where the session waits for the reply to its hello.
    void refuse(const Descriptor &socket, int process);
    void serve(Session &session, Descriptor socket, int process) noexcept;
    void join_ended(bool all);
    void give_back_memory();

    const Options options_;
    const std::function<void(const char *)> give_up_;
    std::uint32_t connection_limit_;
    MemoryBudget transfer_memory_;
    Mirrors mirrors_;
    Statistics statistics_;
    ListeningSocket listening_;
    Descriptor wake_;
    Descriptor parent_;
    std::uint64_t start_number_ = 0;
    std::int64_t started_at_ = 0;
    LogPace refusals_;
    FreedMemory freed_memory_;
    std::atomic<bool> stopping_{false};
    std::atomic<std::uint64_t> connections_made_{0};
    // The order matters: the engines use the watcher, and both outlive all connections.
    std::unique_ptr<Watcher> watcher_;
    std::unique_ptr<Engines> engines_;
    std::mutex sessions_mutex_;
    std::list<Session> sessions_;
};

}  // namespace gpu_engine::server
