// The base of all stores in the host's memory.
#pragma once

#include <cstdint>
#include <memory>

#include "common/cancel.h"
#include "common/dead.h"
#include "host/engine.h"
#include "host/kary/dead.h"

namespace gpu_engine::host {

template <typename StoreInterface>
class HostStore : public StoreWithDead<StoreInterface, DeadBitmap> {
  public:
    HostStore(HostEngine &engine, std::uint64_t entries) : engine_(engine), entries_(entries) {}

    HostEngine &engine() const noexcept { return engine_; }
    std::uint64_t entries() const noexcept final { return entries_; }
    Status set_dead(Stream &stream, const std::uint64_t *bitmap, std::uint64_t version) noexcept override {
        return guarded([&] {
            check_cancelled(stream);
            std::shared_ptr<const DeadBitmap> dead;
            if (bitmap != nullptr) {
                dead = std::make_shared<const DeadBitmap>(engine_.memory(), bitmap, entries_);
            }
            return this->replace_dead(std::move(dead), version);
        });
    }

  protected:
    HostEngine &engine_;
    const std::uint64_t entries_;
};

}  // namespace gpu_engine::host
