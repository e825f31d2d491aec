#include "gpu_engine/devices.h"

namespace gpu_engine::host {

Status list_devices(DeviceInfo *devices, std::size_t capacity, std::size_t *count) noexcept {
    if (count == nullptr || (devices == nullptr && capacity > 0)) {
        return make_status(StatusCode::invalid_argument, "list_devices needs a count, and rows to fill");
    }
    *count = 0;
    return {};
}

}  // namespace gpu_engine::host
