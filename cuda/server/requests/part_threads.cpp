#include "server/requests/part_threads.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "gpu_engine/current_request.h"

namespace gpu_engine::server {

PartThreads::~PartThreads() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    for (std::thread &thread : threads_) {
        thread.join();
    }
}

void PartThreads::run(std::size_t parts, const std::function<void(std::size_t)> &body) {
    try {
        while (threads_.size() + 1 < parts) {
            // Part 0 is the calling thread's.
            threads_.emplace_back([this, part = threads_.size() + 1] { serve(part); });
        }
    } catch (const std::system_error &) {
        // The calling thread computes what is left.
    }
    const std::size_t threaded = std::min(parts, threads_.size() + 1);
    {
        const std::lock_guard lock(mutex_);
        body_ = &body;
        request_ = current_request;
        parts_ = threaded;
        running_ = threaded - 1;
        ++round_;
    }
    changed_.notify_all();
    compute(body, 0);
    for (std::size_t part = threaded; part < parts; ++part) {
        compute(body, part);
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0; });
    if (failure_) {
        std::rethrow_exception(std::exchange(failure_, nullptr));
    }
}

// A thread that ends by an exception ends the process, and the others use what is the caller's.
void PartThreads::compute(const std::function<void(std::size_t)> &body, std::size_t part) noexcept {
    try {
        body(part);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
    }
}

void PartThreads::serve(std::size_t part) noexcept {
    std::unique_lock lock(mutex_);
    for (std::uint64_t served = 0;;) {
        changed_.wait(lock, [&] { return ending_ || (round_ != served && part < parts_); });
        if (ending_) {
            return;
        }
        served = round_;
        {
            const std::function<void(std::size_t)> &body = *body_;
            const OnRequest on(request_);
            lock.unlock();
            compute(body, part);
            lock.lock();
        }
        --running_;
        changed_.notify_all();
    }
}

}  // namespace gpu_engine::server
