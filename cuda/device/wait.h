// Waiting for a stream's work.
#pragma once

#include <cuda_runtime_api.h>

namespace gpu_engine::device {

// These flags say how threads wait for the device; the engine sets them before the device's context is made.
constexpr unsigned int device_flags = cudaDeviceScheduleBlockingSync;

// Returns when the stream has done what it was given. The thread looks for the end, after some microseconds
// with pauses between, and after some milliseconds it sleeps, so that the processors are the sessions' while
// the device computes.
cudaError_t wait_for(cudaStream_t stream) noexcept;

}  // namespace gpu_engine::device
