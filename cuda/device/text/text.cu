#include "device/engine.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {

std::uint64_t DeviceText::index_bytes(const TextShape &) const noexcept {
    return 0;
}

Status DeviceText::open_loader(Stream &, const TextShape &, std::unique_ptr<TextLoader> *) noexcept {
    return make_status(StatusCode::unavailable, "the cuda engine has no inverted lists");
}

}  // namespace gpu_engine::device
