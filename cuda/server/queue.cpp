#include "server/queue.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {

Queue::Result Queue::enter(const Activity &activity) {
    std::unique_lock lock(mutex_);
    if (running_ < places_ && waiting_.empty()) {
        ++running_;
        return Result::admitted;
    }
    if (waiting_.size() >= limit_) {
        return Result::full;
    }
    bool admitted = false;
    const auto own = waiting_.insert(waiting_.end(), &admitted);
    // Looking at the activity takes the watcher's mutex within this one; the watcher never does the reverse.
    changed_.wait(lock, [&] { return admitted || watcher_.cancelled(activity); });
    if (!admitted) {
        waiting_.erase(own);
        return Result::cancelled;
    }
    return Result::admitted;
}

void Queue::leave() {
    {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) {
            --running_;
            return;
        }
        // The place goes on to the next.
        *waiting_.front() = true;
        waiting_.pop_front();
    }
    changed_.notify_all();
}

void Queue::wake() {
    // With the mutex, so that nobody is between looking and waiting.
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

std::uint32_t Queue::waiting() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(waiting_.size());
}

void Queue::set_limit(std::uint32_t limit) {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
}

}  // namespace gpu_engine::server
