// A host engine that stands in for a device.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>

#include "gpu_engine/engine.h"
#include "gpu_engine/kary.h"
#include "server_client.h"

namespace server_test {

// How a test controls its device, and what it counts there.
struct Stand {
    std::atomic<bool> may_open{true};
    std::atomic<bool> broken{false};
    std::atomic<int> opened{0};
    std::atomic<int> pinned{0};
    std::atomic<int> pins{0};
    int device = 0;
};

class StandIn final : public gpu_engine::Engine {
  public:
    explicit StandIn(Stand &stand) : stand_(stand) {
        EXPECT_TRUE(gpu_engine::host::open_engine({}, &host_).ok());
    }
    const char *name() const noexcept override { return "cuda"; }
    gpu_engine::MemoryBudget &memory() noexcept override { return host_->memory(); }
    gpu_engine::Status open_stream(std::unique_ptr<gpu_engine::Stream> *stream) noexcept override {
        if (stand_.broken) {
            return gpu_engine::make_status(StatusCode::internal, "an illegal memory access was encountered");
        }
        return host_->open_stream(stream);
    }
    gpu_engine::Status pin(void *, std::uint64_t) noexcept override {
        ++stand_.pins;
        ++stand_.pinned;
        return {};
    }
    void unpin(void *) noexcept override { --stand_.pinned; }
    gpu_engine::Status keep_blocks(gpu_engine::Stream &stream, const gpu_engine::KnownBlocks &known,
                                   std::unique_ptr<gpu_engine::HeapBlocks> *blocks) noexcept override {
        return host_->keep_blocks(stream, known, blocks);
    }
    gpu_engine::Status describe(gpu_engine::DeviceInfo *info) noexcept override {
        *info = gpu_engine::DeviceInfo{};
        info->device = stand_.device;
        std::strcpy(info->name, "stand-in");
        info->memory_total = 1000 << 20;
        info->memory_free = 800 << 20;
        return {};
    }
    gpu_engine::Status probe() noexcept override {
        return stand_.broken
                   ? gpu_engine::make_status(StatusCode::internal, "an illegal memory access was encountered")
                   : gpu_engine::Status{};
    }
    gpu_engine::Kary<std::uint32_t> &kary32() noexcept override { return host_->kary32(); }
    gpu_engine::Kary<std::uint64_t> &kary64() noexcept override { return host_->kary64(); }
    gpu_engine::Grid &grid() noexcept override { return host_->grid(); }
    gpu_engine::Kary<Key128> &kary128() noexcept override { return host_->kary128(); }
    gpu_engine::Column &column() noexcept override { return host_->column(); }
    gpu_engine::Text &text() noexcept override { return host_->text(); }

  private:
    Stand &stand_;
    std::unique_ptr<gpu_engine::Engine> host_;
};

}  // namespace server_test
