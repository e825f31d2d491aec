#include "device/wait.h"

#include <sys/prctl.h>

#include <atomic>
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

// What a wait copies behind the work that it waits for. Where several processes share a device a kernel would
// have to wait for their turns.
constexpr std::uint64_t number_count = 16;
__device__ const std::uint64_t numbers[number_count] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// Looks for the end by is_done(), after some microseconds with pauses between. False: it took too long.
template <typename IsDone>
bool look_for(IsDone is_done) noexcept {
    const auto began = steady_clock::now();
    steady_clock::duration waited{};
    do {
        if (is_done()) {
            return true;
        }
        waited = steady_clock::now() - began;
        if (waited >= spin_time) {
            set_timer_slack();
            std::this_thread::sleep_for(pause);
        }
    } while (waited < long_timeout);
    return false;
}

}  // namespace

cudaError_t wait_for(cudaStream_t stream) noexcept {
    cudaError_t error = cudaSuccess;
    const bool is_done = look_for([&] {
        error = cudaStreamQuery(stream);
        if (error != cudaErrorNotReady) {
            return true;
        }
        // The runtime keeps this as the last error, and the next launch would be taken for the one that
        // failed.
        static_cast<void>(cudaGetLastError());
        return false;
    });
    return is_done ? error : cudaStreamSynchronize(stream);
}

cudaError_t wait_for(cudaStream_t stream, std::uint64_t *done, std::uint64_t number) noexcept {
    const std::uint64_t place = number % number_count;
    const cudaError_t error = cudaMemcpyFromSymbolAsync(done, numbers, sizeof(*done), place * sizeof(*done),
                                                        cudaMemcpyDeviceToHost, stream);
    if (error != cudaSuccess) {
        return error;
    }
    const std::atomic_ref<std::uint64_t> told(*done);
    const bool is_done = look_for([&] { return told.load(std::memory_order_acquire) == place; });
    // Behind work that fails nothing is copied, and the driver knows why.
    return is_done ? cudaSuccess : cudaStreamSynchronize(stream);
}

}  // namespace gpu_engine::device
