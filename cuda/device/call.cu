#include "device/call.h"

namespace gpu_engine::device {

void *device_address(const void *array, bool direct_pinned) {
    cudaPointerAttributes attributes;
    check(cudaPointerGetAttributes(&attributes, array), "cudaPointerGetAttributes");
    switch (attributes.type) {
        case cudaMemoryTypeDevice:
        case cudaMemoryTypeManaged:
            return attributes.devicePointer;
        case cudaMemoryTypeHost:
            return direct_pinned ? attributes.devicePointer : nullptr;
        default:
            return nullptr;
    }
}

}  // namespace gpu_engine::device
