// A host engine that stands for a device.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_engine/engine.h"

namespace gpu_engine::server {

// Tests without a device have the server offer its sessions an engine of the device's kind all the same. It
// computes on the processors.
class EmulatedEngine : public Engine {
  public:
    // It reports so much device memory, of which half is the default limit.
    static constexpr std::uint64_t free_bytes = std::uint64_t(800) << 20;

    explicit EmulatedEngine(std::int32_t device) noexcept : device_(device) {}
    // The caller opens the engine once, before it calls anything else.
    Status open(const EngineOptions &options) noexcept;

    const char *name() const noexcept override { return "cuda"; }
    MemoryBudget &memory() noexcept override { return host_->memory(); }
    Status open_stream(std::unique_ptr<Stream> *stream) noexcept override {
        return host_->open_stream(stream);
    }
    Status pin(void *memory, std::uint64_t bytes) noexcept override { return host_->pin(memory, bytes); }
    void unpin(void *memory) noexcept override { host_->unpin(memory); }
    Status keep_blocks(Stream &stream, const KnownBlocks &known,
                       std::unique_ptr<HeapBlocks> *blocks) noexcept override {
        return host_->keep_blocks(stream, known, blocks);
    }
    Status describe(DeviceInfo *info) noexcept override;
    Status probe() noexcept override { return host_->probe(); }
    Kary<std::uint32_t> &kary32() noexcept override { return host_->kary32(); }
    Kary<std::uint64_t> &kary64() noexcept override { return host_->kary64(); }
    Kary<Key128> &kary128() noexcept override { return host_->kary128(); }
    Grid &grid() noexcept override { return host_->grid(); }
    Column &column() noexcept override { return host_->column(); }
    Text &text() noexcept override { return host_->text(); }
    query::Queries &queries() noexcept override { return host_->queries(); }

  private:
    const std::int32_t device_;
    std::unique_ptr<Engine> host_;
};

}  // namespace gpu_engine::server
