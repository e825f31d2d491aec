// Waiting for a stream's work.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gpu_engine::device {

// These flags say how threads wait for the device; the engine sets them before the device's context is made.
constexpr unsigned int device_flags = cudaDeviceScheduleBlockingSync;

// Returns when the stream has done what it was given. The thread looks for the end, after some microseconds
// with pauses between, and after some milliseconds it sleeps, so that the processors are the sessions' while
// the device computes.
cudaError_t wait_for(cudaStream_t stream) noexcept;

// The same by a word in pinned memory, which the device sets behind that work. Nobody else changes it
// meanwhile. `number` is one more than in the wait before by that word, which began as 0.
cudaError_t wait_for(cudaStream_t stream, std::uint64_t *done, std::uint64_t number) noexcept;

}  // namespace gpu_engine::device
