// Makes the engine's statuses of CUDA's errors.
#pragma once

#include <cuda_runtime_api.h>

#include "gpu_engine/guard.h"
#include "gpu_engine/status.h"

namespace gpu_engine::device {

// Returns the status for an error; `call` names in its message what failed.
Status status_of(cudaError_t error, const char *call) noexcept;

// Throws Failure.
inline void check(cudaError_t error, const char *call) {
    if (error != cudaSuccess) {
        throw Failure{status_of(error, call)};
    }
}

// Throws Failure when the launch of a kernel has just failed.
inline void check_launch(const char *kernel) {
    check(cudaGetLastError(), kernel);
}

}  // namespace gpu_engine::device
