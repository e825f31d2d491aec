// The server's engines, each with its memory limit and its queue.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gpu_engine/device_list.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/protocol.h"
#include "server/engine_id.h"
#include "server/options.h"
#include "server/queue.h"

namespace gpu_engine::server {

// The engines of a kind: those from `first` to `end` - 1.
class EngineRange {
  public:
    class Iterator {
      public:
        explicit Iterator(EngineId id) noexcept : id_(id) {}
        EngineId operator*() const noexcept { return id_; }
        Iterator &operator++() noexcept {
            ++id_;
            return *this;
        }
        bool operator!=(const Iterator &other) const noexcept { return id_ != other.id_; }

      private:
        EngineId id_;
    };

    EngineRange(EngineId first, EngineId end) noexcept : first_(first), end_(end) {}
    Iterator begin() const noexcept { return Iterator(first_); }
    Iterator end() const noexcept { return Iterator(end_); }
    EngineId first() const noexcept { return first_; }
    std::uint32_t size() const noexcept { return end_ - first_; }

  private:
    EngineId first_;
    EngineId end_;
};

// Host engines are there from the start. A device takes some 100 ms to open, which a thread does, so that
// sessions needn't wait. The thread tries again, less and less often, when the device can't be opened: the
// server may start before the driver does. What devices there are only the driver tells, so until it has
// there is one place for them all.
class Engines {
  public:
    using State = protocol::EngineState;

    // Throws Failure when a host engine can't be opened.
    Engines(const Options &options, Watcher &watcher);
    Engines(const Engines &) = delete;
    Engines &operator=(const Engines &) = delete;
    // Waits until the devices' opening has ended.
    ~Engines();

    // These return the engines of a kind, and all of them. There may be more devices later.
    EngineRange of(protocol::EngineName name) const noexcept {
        return name == protocol::EngineName::host ? EngineRange(0, hosts_) : EngineRange(hosts_, count_);
    }
    EngineRange all() const noexcept { return {0, count_}; }
    // The engine that takes what those of the kind have no room for: the host's, for devices. None: there is
    // none that is ready, or it mustn't.
    std::optional<EngineId> overflow_of(protocol::EngineName name) const noexcept {
        constexpr EngineId host = 0;
        return overflows_ && name == protocol::EngineName::cuda && state(host) == State::ready
                   ? std::optional(host)
                   : std::nullopt;
    }
    protocol::EngineName name_of(EngineId id) const noexcept {
        return id < hosts_ ? protocol::EngineName::host : protocol::EngineName::cuda;
    }

    State state(EngineId id) const noexcept { return places_[id].state.load(); }
    // Returns the best state among the engines of a kind, because one that is ready serves.
    State state(protocol::EngineName name) const noexcept;
    // Notes that a request found no memory to compute with: from now on loads leave a part of the engine's
    // limit free, until the limit is set anew. Returns true only the first time.
    bool note_lack(EngineId id) noexcept { return !places_[id].lacked.exchange(true); }
    std::uint64_t reserved_free(EngineId id) const noexcept;
    // Is a device still being opened?
    bool is_opening() const noexcept;
    // Returns the engine when it is ready or lost, else null.
    Engine *get(EngineId id) noexcept;
    // Returns the engine on whose account requests take memory of the machine.
    Engine &host() noexcept { return *places_[0].engine; }
    Queue &queue(EngineId id) noexcept { return *places_[id].queue; }
    // Returns the number of an engine's device, once it is open, or of the device that a host engine stands
    // for; -1: of none.
    std::int32_t device_of(EngineId id) const noexcept { return places_[id].device; }
    // Returns what is known of the device, also while it is not open.
    DeviceIdentity identity_of(EngineId id);

    // Says why an absent engine could not be opened, or why one is lost; empty when nobody has tried to open
    // it. Of a kind: the first of its engines that has a reason.
    std::string reason(EngineId id);
    std::string reason(protocol::EngineName name);
    // Checks whether opening a device takes too long. If so the engine counts as absent until the opening
    // has ended.
    void notice_slow_openings();

    // Sets the limit of each engine of the kind. 0 stands for the default limit.
    void set_memory_limit(protocol::EngineName name, std::uint64_t bytes);
    void set_queue_limit(std::uint32_t limit);
    // Is called after a call failed through no fault of the request. Returns whether the engine is lost for
    // good, and true only the first time.
    bool lose_if_broken(EngineId id, const char *why) noexcept;
    // Tests call these: from then on the engine counts as broken, or the last one that doesn't yet. A signal
    // handler may call break_last.
    void break_engine(EngineId id) noexcept { places_[id].broken = true; }
    void break_last() noexcept;
    bool is_broken(EngineId id) const noexcept { return places_[id].broken; }

    std::uint32_t threads() const noexcept { return threads_; }

  private:
    struct Place {
        std::unique_ptr<Engine> engine;
        std::unique_ptr<Queue> queue;
        std::atomic<State> state{State::absent};
        std::atomic<bool> broken{false};
        std::atomic<bool> lacked{false};
        bool is_missing = false;  // the first opener's: there is no such device to open
        std::int32_t device = -1;
        DeviceIdentity identity{-1, "", ""};  // the mutex guards it
        std::uint64_t default_limit = 0;
        Clock::time_point opening_since{};
        std::string reason;  // why it is absent or lost; the mutex guards it
    };

    void open_host_engines(const Options &options, std::uint64_t default_memory);
    void use_emulated_devices(std::uint32_t count);
    // Reads the list of devices, and makes a place for each.
    void find_devices();
    void add_place(const DeviceIdentity &identity, const std::string &why_absent);
    void open_devices() noexcept;
    void open_device(Place &place) noexcept;
    bool try_to_open(Place &place);
    void apply_limit(Place &place, protocol::EngineName name);
    void keep_reason(Place &place, const char *reason);
    bool wait_for_retry(std::chrono::milliseconds pause);
    std::unique_ptr<Queue> new_queue(protocol::EngineName name);
    std::uint32_t threads_a_host() const noexcept { return std::max<std::uint32_t>(threads_ / hosts_, 1); }

    Watcher &watcher_;
    const Options options_;
    std::uint32_t threads_ = 0;
    std::function<Status(const EngineOptions &, std::unique_ptr<Engine> *)> open_device_;
    std::function<Status(std::vector<DeviceIdentity> *)> identify_devices_;
    std::uint32_t hosts_ = 0;
    const bool overflows_;
    // A place is set up before it is counted, and its state says when its engine is.
    std::array<Place, max_engines> places_;
    std::atomic<std::uint32_t> count_{0};
    std::array<std::atomic<std::uint64_t>, protocol::engine_count> chosen_limit_{};
    std::mutex mutex_;  // protects the following, and reasons
    std::condition_variable ending_;
    bool stopping_ = false;
    std::uint32_t queue_limit_ = 0;
    // These belong to the first opener, who makes one for each further device.
    bool has_found_devices_ = false;
    std::vector<std::thread> further_openers_;
    std::thread opener_;
};

}  // namespace gpu_engine::server
