// Makes the heap refuse requests, for tests: `operator new` of the tests' program counts them.
#pragma once

#include <atomic>
#include <cstdint>

namespace heap_refusal {

// Counts down with each request of a thread that isn't exempt; at 0 the request is refused. Below 0 none is.
extern std::atomic<std::int64_t> allocations_left;
extern std::atomic<bool> one_was_refused;
extern thread_local bool exempt_thread;

}  // namespace heap_refusal
