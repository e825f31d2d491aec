#include "device/wait.h"

#include <sys/prctl.h>

#include <chrono>
#include <thread>

namespace gpu_engine::device {
namespace {

using std::chrono::steady_clock;

// Work that ends within this time is looked for without a pause.
constexpr std::chrono::microseconds spin_time{50};
// Being woken by the driver takes some 150 microseconds, and a short request a few hundred. So a thread looks
// again after short pauses for as long as this, and then lets itself be woken.
constexpr std::chrono::microseconds pause{15};
constexpr std::chrono::milliseconds long_timeout{5};

// The kernel may add 50 microseconds to a thread's pauses unless it is told otherwise.
void set_timer_slack() {
    thread_local const int slack = prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
    static_cast<void>(slack);
}

}  // namespace

cudaError_t wait_for(cudaStream_t stream) noexcept {
    const auto began = steady_clock::now();
    steady_clock::duration waited{};
    do {
        const cudaError_t error = cudaStreamQuery(stream);
        if (error != cudaErrorNotReady) {
            return error;
        }
        // The runtime keeps this as the last error, and the next launch would be taken for the one that
        // failed.
        static_cast<void>(cudaGetLastError());
        waited = steady_clock::now() - began;
        if (waited >= spin_time) {
            set_timer_slack();
            std::this_thread::sleep_for(pause);
        }
    } while (waited < long_timeout);
    return cudaStreamSynchronize(stream);
}

}  // namespace gpu_engine::device
