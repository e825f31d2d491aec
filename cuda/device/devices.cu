#include "gpu_engine/devices.h"

#include <cuda_runtime_api.h>

#include <cstdio>

#include "device/cuda_status.h"
#include "device/describe.h"
#include "gpu_engine/guard.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {

Status describe_device(int device, DeviceInfo *info) noexcept {
    cudaDeviceProp properties;
    Status status = status_of(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    if (!status.ok()) {
        return status;
    }
    status = status_of(cudaSetDevice(device), "cudaSetDevice");
    if (!status.ok()) {
        return status;
    }
    std::size_t memory_free = 0;
    std::size_t memory_total = 0;
    status = status_of(cudaMemGetInfo(&memory_free, &memory_total), "cudaMemGetInfo");
    if (!status.ok()) {
        return status;
    }
    *info = DeviceInfo{};
    info->device = device;
    std::snprintf(info->name, sizeof(info->name), "%s", properties.name);
    info->compute_capability_major = properties.major;
    info->compute_capability_minor = properties.minor;
    info->memory_total = memory_total;
    info->memory_free = memory_free;
    return {};
}

namespace {

// Puts the calling thread back on the device it had.
class DeviceRestorer {
  public:
    Status save() noexcept { return status_of(cudaGetDevice(&device_), "cudaGetDevice"); }
    ~DeviceRestorer() {
        if (device_ >= 0) {
            static_cast<void>(cudaSetDevice(device_));
        }
    }

  private:
    int device_ = -1;
};

Status describe_all(DeviceInfo *devices, std::size_t capacity, std::size_t *count) {
    int present = 0;
    Status status = status_of(cudaGetDeviceCount(&present), "cudaGetDeviceCount");
    if (!status.ok()) {
        return status;
    }
    DeviceRestorer restorer;
    if (capacity > 0 && present > 0) {
        status = restorer.save();
    }
    for (int device = 0; status.ok() && device < present && static_cast<std::size_t>(device) < capacity;
         ++device) {
        status = describe_device(device, &devices[device]);
    }
    if (status.ok()) {
        *count = static_cast<std::size_t>(present);
    }
    return status;
}

}  // namespace

Status list_devices(DeviceInfo *devices, std::size_t capacity, std::size_t *count) noexcept {
    if (count == nullptr || (devices == nullptr && capacity > 0)) {
        return make_status(StatusCode::invalid_argument, "list_devices needs a count, and rows to fill");
    }
    *count = 0;
    return guarded([&] { return describe_all(devices, capacity, count); });
}

}  // namespace gpu_engine::device
