// The engines that tests of the interface run with.
#pragma once

#include <memory>

#include "gpu_engine/engine.h"

struct HostEngineUnderTest {
    static constexpr const char *name = "host";
    static gpu_engine::Status open(const gpu_engine::EngineOptions &options,
                                   std::unique_ptr<gpu_engine::Engine> *engine) {
        return gpu_engine::host::open_engine(options, engine);
    }
};
struct CudaEngineUnderTest {
    static constexpr const char *name = "cuda";
    static gpu_engine::Status open([[maybe_unused]] const gpu_engine::EngineOptions &options,
                                   [[maybe_unused]] std::unique_ptr<gpu_engine::Engine> *engine) {
#ifdef PG_GPU_HAVE_CUDA
        return gpu_engine::device::open_engine(options, engine);
#else
        return gpu_engine::make_status(gpu_engine::StatusCode::unavailable, "built without CUDA");
#endif
    }
};
