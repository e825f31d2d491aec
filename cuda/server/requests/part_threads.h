// Threads that compute parts of a connection's request beside its own.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gpu_engine::server {

// They are made when first needed, and wait for the next request. Only the connection's thread calls this.
class PartThreads {
  public:
    PartThreads() = default;
    PartThreads(const PartThreads &) = delete;
    PartThreads &operator=(const PartThreads &) = delete;
    ~PartThreads();

    // Calls body(0) to body(parts - 1) at the same time, the first in the calling thread, and returns when
    // all have ended. Throws what one of them has thrown. Where there are no more threads to be had, the
    // calling thread computes those parts, too.
    void run(std::size_t parts, const std::function<void(std::size_t)> &body);

  private:
    void serve(std::size_t part) noexcept;
    void compute(const std::function<void(std::size_t)> &body, std::size_t part) noexcept;

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void(std::size_t)> *body_ = nullptr;
    const void *request_ = nullptr;
    std::uint64_t round_ = 0;
    std::size_t parts_ = 0;       // number of parts in the round that threads compute
    std::size_t running_ = 0;     // threads that haven't ended their part
    std::exception_ptr failure_;  // of the round
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace gpu_engine::server
