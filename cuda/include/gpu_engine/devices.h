// The devices an engine computes on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu_engine/status.h"

namespace gpu_engine {

struct DeviceInfo {
    static constexpr std::size_t name_capacity = 256;

    std::int32_t device;
    char name[name_capacity];
    std::int32_t compute_capability_major;
    std::int32_t compute_capability_minor;
    std::uint64_t memory_total;
    std::uint64_t memory_free;
};

// Both fill at most `capacity` rows and set `count` to how many devices there are; `devices` may be null when
// `capacity` is 0. On a status that isn't ok `count` is 0.
namespace host {
// The processor is no device, so there are no rows.
Status list_devices(DeviceInfo *devices, std::size_t capacity, std::size_t *count) noexcept;
}  // namespace host

// These functions exist only in builds with PG_GPU_HAVE_CUDA.
namespace device {
// Makes a context on each device it describes, which costs device memory: for the server process only.
// Without a driver the status is `unavailable`.
Status list_devices(DeviceInfo *devices, std::size_t capacity, std::size_t *count) noexcept;
}  // namespace device

}  // namespace gpu_engine
