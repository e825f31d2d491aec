// The properties that a device tells of itself.
#pragma once

#include "gpu_engine/devices.h"

namespace gpu_engine::device {

// Leaves the calling thread on that device.
Status describe_device(int device, DeviceInfo *info) noexcept;

}  // namespace gpu_engine::device
