// Dead entries in the stores of all engines. A bitmap says which entries are dead, and is replaced as a whole
// while others read it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "gpu_engine/status.h"

namespace gpu_engine {

// Readers keep the bitmap that they took, however often it is replaced. The version never falls.
template <typename StoreInterface, typename Bitmap>
class StoreWithDead : public StoreInterface {
  public:
    std::uint64_t dead_version() const noexcept final {
        const std::lock_guard lock(mutex_);
        return version_;
    }
    std::uint64_t dead_entries() const noexcept final {
        const std::shared_ptr<const Bitmap> bitmap = dead();
        return bitmap ? bitmap->dead : 0;
    }
    // Null when no entry is dead.
    std::shared_ptr<const Bitmap> dead() const noexcept {
        const std::lock_guard lock(mutex_);
        return bitmap_;
    }

  protected:
    std::uint64_t dead_bytes() const noexcept {
        const std::shared_ptr<const Bitmap> bitmap = dead();
        return bitmap ? bitmap->bytes() : 0;
    }
    // `bitmap` may be null.
    Status replace_dead(std::shared_ptr<const Bitmap> bitmap, std::uint64_t version) noexcept {
        if (bitmap && bitmap->dead == 0) {
            bitmap.reset();
        }
        const std::lock_guard lock(mutex_);
        if (version < version_) {
            return make_status(StatusCode::invalid_argument, "the dead bitmap is older than the present one");
        }
        bitmap_.swap(bitmap);
        version_ = version;
        return {};
    }

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<const Bitmap> bitmap_;
    std::uint64_t version_ = 0;
};

}  // namespace gpu_engine
