// A part of an array that is replaced as a whole while others read it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "gpu_engine/status.h"

namespace gpu_engine {

// Readers keep the part that they took, however often it is replaced. The version never falls.
template <typename Part>
class Versioned {
  public:
    std::shared_ptr<const Part> get() const noexcept {
        const std::lock_guard lock(mutex_);
        return part_;
    }
    std::uint64_t version() const noexcept {
        const std::lock_guard lock(mutex_);
        return version_;
    }
    Status replace(std::shared_ptr<const Part> part, std::uint64_t version) noexcept {
        const std::lock_guard lock(mutex_);
        if (version < version_) {
            return make_status(StatusCode::invalid_argument, "the dead bitmap is older than the present one");
        }
        part_.swap(part);
        version_ = version;
        return {};
    }

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<const Part> part_;
    std::uint64_t version_ = 0;
};

}  // namespace gpu_engine
