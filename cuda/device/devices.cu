#include "gpu_engine/devices.h"

#include "gpu_engine/device_list.h"

#include <cuda_runtime_api.h>

#include <cstdio>

#include "device/cuda_status.h"
#include "device/describe.h"
#include "gpu_engine/guard.h"

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

// Writes a UUID the way nvidia-smi does.
void write_uuid(const cudaUUID_t &uuid, char (&text)[sizeof(DeviceIdentity::uuid)]) {
    constexpr int bytes = 16;
    static_assert(sizeof(uuid.bytes) == bytes);
    int written = std::snprintf(text, sizeof(text), "GPU-");
    for (int i = 0; i < bytes; ++i) {
        const bool begins_group = i == 4 || i == 6 || i == 8 || i == 10;
        written += std::snprintf(text + written, sizeof(text) - static_cast<std::size_t>(written), "%s%02x",
                                 begins_group ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
    }
}

Status identify(int device, DeviceIdentity *identity) {
    *identity = DeviceIdentity{device, "", ""};
    cudaDeviceProp properties;
    Status status = status_of(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    if (status.ok()) {
        write_uuid(properties.uuid, identity->uuid);
        status = status_of(cudaDeviceGetPCIBusId(identity->pci, sizeof(identity->pci), device),
                           "cudaDeviceGetPCIBusId");
    }
    return status;
}

}  // namespace

Status identify_devices(DeviceIdentity *devices, std::size_t capacity, std::size_t *count) noexcept {
    *count = 0;
    return guarded([&] {
        int present = 0;
        Status status = status_of(cudaGetDeviceCount(&present), "cudaGetDeviceCount");
        for (int device = 0; status.ok() && device < present && static_cast<std::size_t>(device) < capacity;
             ++device) {
            status = identify(device, &devices[device]);
        }
        if (status.ok()) {
            *count = static_cast<std::size_t>(present);
        }
        return status;
    });
}

Status list_devices(DeviceInfo *devices, std::size_t capacity, std::size_t *count) noexcept {
    if (count == nullptr || (devices == nullptr && capacity > 0)) {
        return make_status(StatusCode::invalid_argument, "list_devices needs a count, and rows to fill");
    }
    *count = 0;
    return guarded([&] { return describe_all(devices, capacity, count); });
}

}  // namespace gpu_engine::device
