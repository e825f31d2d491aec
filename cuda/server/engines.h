// The server's engines, each with its memory limit and its queue.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "gpu_engine/engine.h"
#include "gpu_engine/protocol.h"
#include "server/options.h"
#include "server/queue.h"

namespace gpu_engine::server {

// The host engine is there from the start. A device takes some 100 ms to open, which a thread does, so that
// sessions needn't wait. The thread tries again, less and less often, when the device can't be opened: the
// server may start before the driver does.
class Engines {
  public:
    using State = protocol::EngineState;

    // Throws Failure when the host engine can't be opened. `give_up` is called by a thread when a new process
    // could open the device and this one can't.
    Engines(const Options &options, Watcher &watcher, std::function<void(const char *)> give_up);
    Engines(const Engines &) = delete;
    Engines &operator=(const Engines &) = delete;
    // Waits until the device's opening has ended.
    ~Engines();

    State state(protocol::EngineName name) const noexcept;
    // Returns the engine when it is ready or lost, else null.
    Engine *get(protocol::EngineName name) noexcept;
    Engine &host() noexcept { return *places_[0].engine; }
    Queue &queue(protocol::EngineName name) noexcept { return *places_[index(name)].queue; }

    // Says why an absent engine could not be opened; empty when nobody has tried to open it.
    std::string why_absent(protocol::EngineName name);
    // Checks whether opening the device takes too long. If so the engine counts as absent until the opening
    // has ended. Returns true only the first time.
    bool notice_slow_opening();

    // 0 stands for the default limit.
    void set_memory_limit(protocol::EngineName name, std::uint64_t bytes) noexcept;
    void set_queue_limit(std::uint32_t limit);
    // Called after a call failed through no fault of the request. Returns whether the engine is lost for
    // good, and true only the first time.
    bool lose_if_broken(protocol::EngineName name) noexcept;

    std::uint32_t threads() const noexcept { return threads_; }
    std::int32_t device() const noexcept { return device_; }

  private:
    struct Place {
        std::unique_ptr<Engine> engine;
        std::unique_ptr<Queue> queue;
        std::atomic<State> state{State::absent};
        std::uint64_t default_limit = 0;
        std::atomic<std::uint64_t> chosen_limit{0};
    };

    static std::size_t index(protocol::EngineName name) noexcept { return static_cast<std::size_t>(name); }
    void open_device() noexcept;
    bool try_to_open();
    void keep_reason(const char *reason);
    bool wait_for_retry(std::chrono::milliseconds pause);

    std::array<Place, protocol::engine_count> places_;
    std::uint32_t threads_ = 0;
    std::int32_t device_ = -1;
    std::function<Status(const EngineOptions &, std::unique_ptr<Engine> *)> open_device_;
    std::function<bool()> probe_device_;
    std::function<void(const char *)> give_up_;
    std::chrono::milliseconds first_retry_{};
    std::chrono::milliseconds longest_retry_{};
    std::chrono::milliseconds slow_opening_{};
    Clock::time_point opening_since_{};
    std::mutex mutex_;  // of the following
    std::condition_variable ending_;
    bool stopping_ = false;
    std::string reason_;  // why there is no device
    std::thread opener_;
};

}  // namespace gpu_engine::server
