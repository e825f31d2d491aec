#include "host/engine.h"

#include "gpu_engine/guard.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::host {

Status HostEngine::open_stream(std::unique_ptr<Stream> *stream) noexcept {
    return guarded([&] {
        *stream = std::make_unique<Stream>();
        return Status{};
    });
}

Status HostEngine::describe(DeviceInfo *) noexcept {
    return make_status(StatusCode::unavailable, "the host engine computes on no device");
}

Status open_engine(const EngineOptions &options, std::unique_ptr<Engine> *engine) noexcept {
    return guarded([&] {
        *engine = std::make_unique<HostEngine>(options);
        return Status{};
    });
}

}  // namespace gpu_engine::host
