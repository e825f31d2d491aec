// Who computes on an engine now, and who waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>

#include "server/watcher.h"

namespace gpu_engine::server {

// First come, first served. All functions may be called by any thread.
class Queue {
  public:
    enum class Result { admitted, full, cancelled };

    // Admits at most `places` at a time.
    Queue(Watcher &watcher, std::uint32_t places) : watcher_(watcher), places_(places) {}

    // Waits for a place. When admitted, `leave` must follow.
    Result enter(const Activity &activity);
    void leave();
    // Those who wait look whether they are cancelled.
    void wake();

    std::uint32_t waiting();
    void set_limit(std::uint32_t limit);

  private:
    Watcher &watcher_;
    const std::uint32_t places_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<bool *> waiting_;  // in order; set when admitted. Empty while there are free places
    std::uint32_t running_ = 0;
    std::uint32_t limit_ = 0;
};

}  // namespace gpu_engine::server
