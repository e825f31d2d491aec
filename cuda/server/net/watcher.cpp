#include "server/net/watcher.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <utility>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "gpu_engine/current_request.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::server {
namespace {

[[noreturn]] void fail(const char *call) {
    char message[Status::message_capacity];
    std::snprintf(message, sizeof(message), "%s: %s", call, std::strerror(errno));
    throw Failure{make_status(StatusCode::unavailable, message)};
}

void watch(int epoll, int descriptor, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = descriptor;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        fail("epoll_ctl");
    }
}

}  // namespace

Watcher::Watcher(std::function<void()> cancelled, std::function<void()> stuck,
                 std::chrono::milliseconds timeout)
    : cancelled_(std::move(cancelled)),
      stuck_(std::move(stuck)),
      timeout_(timeout),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!epoll_.valid() || !timer_.valid() || !wake_.valid()) {
        fail("epoll, timerfd or eventfd");
    }
    watch(epoll_.get(), timer_.get(), EPOLLIN);
    watch(epoll_.get(), wake_.get(), EPOLLIN);
    thread_ = std::thread([this] { run(); });
}

Watcher::~Watcher() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    const std::uint64_t one = 1;
    static_cast<void>(!write(wake_.get(), &one, sizeof(one)));
    thread_.join();
}

void Watcher::add(Activity &activity, int socket) {
    const std::lock_guard lock(mutex_);
    activities_.emplace(socket, &activity);
    try {
        // The watcher waits only for the peer's end, of which it is told once. What the peer sends is read by
        // its connection's thread.
        watch(epoll_.get(), socket, EPOLLRDHUP | EPOLLET);
    } catch (...) {
        activities_.erase(socket);
        throw;
    }
}

void Watcher::remove(Activity &, int socket) noexcept {
    const std::lock_guard lock(mutex_);
    static_cast<void>(epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr));
    activities_.erase(socket);
}

void Watcher::begin(Activity &activity, const protocol::RequestHeader &request, Clock::time_point deadline) {
    const std::lock_guard lock(mutex_);
    activity.request_ = &request;
    activity.running_ = true;
    activity.too_late_ = false;
    activity.streams_.clear();
    activity.deadline_ = deadline;
    activity.cancelled_at_ = activity.peer_gone_ ? Clock::now() : Clock::time_point::max();
    if (deadline < armed_) {
        arm(deadline);
    }
}

void Watcher::computes_on(Activity &activity, Stream *stream) {
    const std::lock_guard lock(mutex_);
    activity.streams_.push_back(stream);
    // This is done under the mutex, so that neither of the two undoes a cancellation that comes meanwhile.
    stream->resume();
    if (activity.cancelled_at_ != Clock::time_point::max()) {
        stream->cancel();
    }
}

void Watcher::leaves(Activity &activity, Stream *stream) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(activity.streams_, stream);
}

void Watcher::end(Activity &activity) noexcept {
    const std::lock_guard lock(mutex_);
    activity.running_ = false;
    activity.streams_.clear();
    activity.deadline_ = Clock::time_point::max();
}

bool Watcher::cancelled(const Activity &activity) {
    const std::lock_guard lock(mutex_);
    return activity.cancelled_at_ != Clock::time_point::max();
}

bool Watcher::too_late(const Activity &activity) {
    const std::lock_guard lock(mutex_);
    return activity.too_late_;
}

void Watcher::cancel_all() {
    {
        const std::lock_guard lock(mutex_);
        for (const auto &[socket, activity] : activities_) {
            activity->peer_gone_ = true;
            cancel(*activity);
        }
        any_cancelled_ = false;
    }
    cancelled_();
}

void Watcher::cancel(Activity &activity) {
    if (!activity.running_ || activity.cancelled_at_ != Clock::time_point::max()) {
        return;
    }
    activity.cancelled_at_ = Clock::now();
    any_cancelled_ = true;
    for (Stream *stream : activity.streams_) {
        stream->cancel();
    }
    if (activity.cancelled_at_ + timeout_ < armed_) {
        arm(activity.cancelled_at_ + timeout_);
    }
}

void Watcher::look_at_clocks() {
    const Clock::time_point now = Clock::now();
    armed_ = Clock::time_point::max();
    Clock::time_point next = armed_;
    for (const auto &[socket, activity] : activities_) {
        if (!activity->running_) {
            continue;
        }
        if (activity->cancelled_at_ == Clock::time_point::max() && activity->deadline_ <= now) {
            activity->too_late_ = true;
            cancel(*activity);
        }
        if (activity->cancelled_at_ == Clock::time_point::max()) {
            next = std::min(next, activity->deadline_);
        } else if (activity->cancelled_at_ + timeout_ <= now) {
            stuck_request_ = *activity->request_;
        } else {
            next = std::min(next, activity->cancelled_at_ + timeout_);
        }
    }
    if (next < armed_) {
        arm(next);
    }
}

void Watcher::arm(Clock::time_point time) {
    armed_ = time;
    // The steady clock is CLOCK_MONOTONIC. 0 would disarm the timer.
    const auto nanoseconds = std::max<std::int64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count(), 1);
    itimerspec setting{};
    setting.it_value.tv_sec = nanoseconds / 1000000000;
    setting.it_value.tv_nsec = nanoseconds % 1000000000;
    static_cast<void>(timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &setting, nullptr));
}

void Watcher::run() noexcept {
    for (;;) {
        epoll_event events[64];
        const int count = epoll_wait(epoll_.get(), events, 64, -1);
        bool any_cancelled = false;
        std::optional<protocol::RequestHeader> stuck_request;
        {
            const std::lock_guard lock(mutex_);
            if (stopping_) {
                return;
            }
            for (int i = 0; i < count; ++i) {
                const int descriptor = events[i].data.fd;
                if (descriptor == timer_.get()) {
                    std::uint64_t times;
                    static_cast<void>(!read(timer_.get(), &times, sizeof(times)));
                    look_at_clocks();
                } else if (const auto found = activities_.find(descriptor); found != activities_.end()) {
                    // The event may belong to an earlier connection that had the same descriptor.
                    pollfd state{descriptor, POLLRDHUP, 0};
                    if (poll(&state, 1, 0) <= 0 || state.revents == 0) {
                        continue;
                    }
                    found->second->peer_gone_ = true;
                    cancel(*found->second);
                }
            }
            any_cancelled = std::exchange(any_cancelled_, false);
            stuck_request = std::exchange(stuck_request_, std::nullopt);
        }
        if (any_cancelled) {
            cancelled_();
        }
        if (stuck_request) {
            const OnRequest on(&*stuck_request);
            stuck_();
        }
    }
}

}  // namespace gpu_engine::server
