#include "device/cuda_status.h"

#include <cstdio>

namespace gpu_engine::device {

Status status_of(cudaError_t error, const char *call) noexcept {
    if (error == cudaSuccess) {
        return {};
    }
    StatusCode code = StatusCode::internal;
    switch (error) {
        case cudaErrorMemoryAllocation:
            code = StatusCode::out_of_memory;
            break;
        case cudaErrorInsufficientDriver:  // also where there is no driver at all
        case cudaErrorNoDevice:
        case cudaErrorDevicesUnavailable:
        case cudaErrorDeviceUninitialized:
        case cudaErrorSystemNotReady:
        case cudaErrorSystemDriverMismatch:
            code = StatusCode::unavailable;
            break;
        default:
            break;
    }
    char message[Status::message_capacity];
    std::snprintf(message, sizeof(message), "%s: %s", call, cudaGetErrorString(error));
    // The runtime keeps the last error; it is taken here, so that the next call doesn't find it.
    static_cast<void>(cudaGetLastError());
    return make_status(code, message);
}

}  // namespace gpu_engine::device
