// The base of all stores in a device's memory.
#pragma once

#include <cstdint>
#include <memory>

#include "common/dead.h"
#include "device/call.h"
#include "device/kary/dead.h"

namespace gpu_engine::device {

template <typename StoreInterface>
class DeviceStore : public StoreWithDead<StoreInterface, DeadBitmap> {
  public:
    DeviceStore(DeviceEngine &engine, std::uint64_t entries) : engine_(engine), entries_(entries) {}

    DeviceEngine &engine() const noexcept { return engine_; }
    std::uint64_t entries() const noexcept final { return entries_; }
    Status set_dead(Stream &stream, const std::uint64_t *bitmap, std::uint64_t version) noexcept override {
        return guarded([&] {
            const Call call(engine_, stream);
            std::shared_ptr<const DeadBitmap> dead;
            if (bitmap != nullptr) {
                dead = std::make_shared<const DeadBitmap>(make_dead_bitmap(call, bitmap, entries_));
            }
            return this->replace_dead(std::move(dead), version);
        });
    }
    // The dead entries as kernels see them until the device has finished the call.
    DeadView dead_view(const Call &call) const {
        const DeadBitmap *kept = call.keep(this->dead());
        return kept != nullptr ? kept->view() : DeadView{};
    }

  protected:
    DeviceEngine &engine_;
    const std::uint64_t entries_;
};

}  // namespace gpu_engine::device
