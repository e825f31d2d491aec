#include "device/wait.h"

#include <chrono>

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {
namespace {

// To be woken takes about as long. A session looks for its answer for as long before it sleeps, too.
constexpr std::chrono::microseconds patience{50};

}  // namespace

cudaError_t wait_for(cudaStream_t stream) noexcept {
    const auto until = std::chrono::steady_clock::now() + patience;
    do {
        const cudaError_t error = cudaStreamQuery(stream);
        if (error != cudaErrorNotReady) {
            return error;
        }
        // The runtime keeps this as the last error, and the next launch would be taken for the one that
        // failed.
        static_cast<void>(cudaGetLastError());
    } while (std::chrono::steady_clock::now() < until);
    return cudaStreamSynchronize(stream);
}

}  // namespace gpu_engine::device
