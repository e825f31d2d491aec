// The host engine that targets share: one thread, little memory.
#pragma once

#include <memory>

#include "gpu_engine/engine.h"

#include "targets.h"

namespace fuzz {

inline gpu_engine::Engine &host_engine() {
    static const std::unique_ptr<gpu_engine::Engine> engine = [] {
        gpu_engine::EngineOptions options;
        options.memory_limit = 64 << 20;
        options.threads = 1;
        std::unique_ptr<gpu_engine::Engine> opened;
        require(gpu_engine::host::open_engine(options, &opened).ok(), "no engine");
        return opened;
    }();
    return *engine;
}

inline std::unique_ptr<gpu_engine::Stream> host_stream() {
    std::unique_ptr<gpu_engine::Stream> stream;
    require(host_engine().open_stream(&stream).ok(), "no stream");
    return stream;
}

}  // namespace fuzz
