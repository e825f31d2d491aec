#include "host/engine.h"

#include "gpu_engine/guard.h"
#include "host/heap_blocks.h"
#include "host/threads.h"

namespace gpu_engine::host {

Status HostEngine::open_stream(std::unique_ptr<Stream> *stream) noexcept {
    return guarded([&] {
        *stream = std::make_unique<Stream>();
        return Status{};
    });
}

Status HostEngine::keep_blocks(Stream &stream, const KnownBlocks &known,
                               std::unique_ptr<HeapBlocks> *blocks) noexcept {
    return guarded([&] {
        check_cancelled(stream);
        check_known_blocks(known);
        *blocks = std::make_unique<HostHeapBlocks>(memory_, known);
        return Status{};
    });
}

Status HostEngine::describe(DeviceInfo *) noexcept {
    return make_status(StatusCode::unavailable, "the host engine computes on no device");
}

Status open_engine(const EngineOptions &options, std::unique_ptr<Engine> *engine) noexcept {
    return guarded([&] {
        const auto threads = static_cast<std::uint32_t>(
            options.threads > 0 ? options.threads : tbb::this_task_arena::max_concurrency());
        start_helpers(threads - 1);
        *engine = std::make_unique<HostEngine>(options, threads);
        return Status{};
    });
}

}  // namespace gpu_engine::host
