// Ends requests whose session is gone or whose time is up, while their thread computes or waits.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "gpu_engine/engine.h"
#include "gpu_engine/protocol_common.h"
#include "server/net/descriptor.h"

namespace gpu_engine::server {

using Clock = std::chrono::steady_clock;

// The activity of a connection's thread. Only the watcher reads and writes it, under its mutex.
class Activity {
  public:
    Activity() = default;
    Activity(const Activity &) = delete;
    Activity &operator=(const Activity &) = delete;

  private:
    friend class Watcher;
    bool running_ = false;    // a request runs
    bool peer_gone_ = false;  // for good
    bool too_late_ = false;   // the running request's deadline has passed
    const protocol::RequestHeader *request_ = nullptr;
    std::vector<Stream *> streams_;  // the running request's, to be cancelled: one an engine
    Clock::time_point deadline_ = Clock::time_point::max();
    Clock::time_point cancelled_at_ = Clock::time_point::max();
};

class Watcher {
  public:
    // `cancelled` is called, without the mutex held, when a request was cancelled, and `stuck`, with the
    // request as the current one, when it still runs `timeout` later. Throws what std::thread throws, and
    // Failure where the kernel refuses something.
    Watcher(std::function<void()> cancelled, std::function<void()> stuck, std::chrono::milliseconds timeout);
    Watcher(const Watcher &) = delete;
    Watcher &operator=(const Watcher &) = delete;
    ~Watcher();

    // The watcher looks from `add` to `remove` whether the socket's peer is gone. Throws Failure.
    void add(Activity &activity, int socket);
    void remove(Activity &activity, int socket) noexcept;

    // Notes that a request begins, which has time until `deadline`. It may be cancelled already. The header
    // stays until `end`.
    void begin(Activity &activity, const protocol::RequestHeader &request, Clock::time_point deadline);
    // Cancelling the request cancels this stream from `computes_on` to `leaves`. The parts of a request that
    // compute on several engines at a time have one each.
    void computes_on(Activity &activity, Stream *stream);
    void leaves(Activity &activity, Stream *stream) noexcept;
    void end(Activity &activity) noexcept;

    bool cancelled(const Activity &activity);
    // Returns whether the request was cancelled because its time was up.
    bool too_late(const Activity &activity);
    // Ends all requests, for the server's stop.
    void cancel_all();

  private:
    void run() noexcept;
    // The following are called with the mutex held.
    void cancel(Activity &activity);
    void look_at_clocks();
    void arm(Clock::time_point time);

    std::function<void()> cancelled_;
    std::function<void()> stuck_;
    std::chrono::milliseconds timeout_;
    Descriptor epoll_;
    Descriptor timer_;
    Descriptor wake_;
    std::mutex mutex_;
    std::unordered_map<int, Activity *> activities_;  // by socket
    Clock::time_point armed_ = Clock::time_point::max();
    bool stopping_ = false;
    bool any_cancelled_ = false;
    std::optional<protocol::RequestHeader> stuck_request_;
    std::thread thread_;
};

}  // namespace gpu_engine::server
