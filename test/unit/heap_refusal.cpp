#include "heap_refusal.h"

#include <cstdlib>
#include <new>

namespace heap_refusal {

std::atomic<std::int64_t> allocations_left{-1};
std::atomic<bool> one_was_refused{false};
thread_local bool exempt_thread = false;

}  // namespace heap_refusal

using namespace heap_refusal;

// The standard's own, but for the refusals.
void *operator new(std::size_t bytes) {
    if (allocations_left.load(std::memory_order_relaxed) >= 0 && !exempt_thread &&
        allocations_left.fetch_sub(1, std::memory_order_relaxed) == 0) {
        one_was_refused = true;
        throw std::bad_alloc();
    }
    if (void *memory = std::malloc(bytes > 0 ? bytes : 1)) {
        return memory;
    }
    throw std::bad_alloc();
}
// As the standard library's own does; AddressSanitizer's would take memory of its own, which the operators
// below may not give back.
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept {
    try {
        return operator new(bytes);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
void operator delete(void *memory) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}
