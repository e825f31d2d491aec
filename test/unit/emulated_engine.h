// A host engine that stands in for a device, as a test controls it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "server/emulated_engine.h"
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

class StandIn final : public gpu_engine::server::EmulatedEngine {
  public:
    explicit StandIn(Stand &stand) : EmulatedEngine(stand.device), stand_(stand) {
        EXPECT_TRUE(open({}).ok());
    }
    gpu_engine::Status open_stream(std::unique_ptr<gpu_engine::Stream> *stream) noexcept override {
        return stand_.broken ? failure() : EmulatedEngine::open_stream(stream);
    }
    gpu_engine::Status pin(void *, std::uint64_t) noexcept override {
        ++stand_.pins;
        ++stand_.pinned;
        return {};
    }
    void unpin(void *) noexcept override { --stand_.pinned; }
    gpu_engine::Status probe() noexcept override { return stand_.broken ? failure() : gpu_engine::Status{}; }

  private:
    static gpu_engine::Status failure() noexcept {
        return gpu_engine::make_status(StatusCode::internal, "an illegal memory access was encountered");
    }

    Stand &stand_;
};

}  // namespace server_test
