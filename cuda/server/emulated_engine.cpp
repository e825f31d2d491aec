#include "server/emulated_engine.h"

#include <cstdio>

namespace gpu_engine::server {

Status EmulatedEngine::open(const EngineOptions &options) noexcept {
    return host::open_engine(options, &host_);
}

Status EmulatedEngine::describe(DeviceInfo *info) noexcept {
    *info = DeviceInfo{};
    info->device = device_;
    std::snprintf(info->name, sizeof(info->name), "emulated");
    info->memory_total = free_bytes + free_bytes / 4;
    info->memory_free = free_bytes;
    return {};
}

}  // namespace gpu_engine::server
