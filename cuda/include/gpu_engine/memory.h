// The memory an engine may use: one count and one limit for all its callers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>

namespace gpu_engine {

// All functions may be called by any thread at any time.
class MemoryBudget {
  public:
    explicit MemoryBudget(std::uint64_t limit) noexcept : limit_(limit) {}

    // Returns false when `bytes` more would pass the limit; then nothing was counted.
    bool reserve(std::uint64_t bytes) noexcept {
        if (refuse_after_.load(std::memory_order_relaxed) >= 0 &&
            refuse_after_.fetch_sub(1, std::memory_order_relaxed) == 0) {
            return false;
        }
        const std::uint64_t limit = limit_.load(std::memory_order_relaxed);
        std::uint64_t used = used_.load(std::memory_order_relaxed);
        do {
            if (used > limit || bytes > limit - used) {
                refused_.store(bytes, std::memory_order_relaxed);
                return false;
            }
        } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
        return true;
    }
    void release(std::uint64_t bytes) noexcept {
        [[maybe_unused]] const std::uint64_t used = used_.fetch_sub(bytes, std::memory_order_relaxed);
        assert(used >= bytes);
    }

    std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    std::uint64_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
    // Returns how many bytes could be taken.
    std::uint64_t free_bytes() const noexcept {
        const std::uint64_t all = limit();
        return all - std::min(all, used());
    }
    // A limit below what is in use frees nothing; it only refuses further memory.
    void set_limit(std::uint64_t limit) noexcept { limit_.store(limit, std::memory_order_relaxed); }

    // Returns how many bytes the limit refused last, to whichever caller, and forgets them; 0 when it hasn't
    // refused any since the last call. A caller that makes room after a refusal frees so much. Where the
    // number is another caller's that is too little or too much, and the next attempt tells.
    std::uint64_t take_refused() noexcept { return refused_.exchange(0, std::memory_order_relaxed); }

    // Tests call it: after `requests` more requests the next one is refused, once.
    void refuse_after(std::int64_t requests) noexcept {
        refuse_after_.store(requests, std::memory_order_relaxed);
    }

  private:
    std::atomic<std::uint64_t> limit_;
    std::atomic<std::uint64_t> used_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::int64_t> refuse_after_{-1};
};

}  // namespace gpu_engine
