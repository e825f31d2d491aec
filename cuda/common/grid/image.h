// How grid files lie in the machine's memory on their way from an engine to another one of the same kind: a
// head, which each kind has of its own, and then the arrays, each on a boundary.
#pragma once

#include <cstdint>

#include "gpu_engine/status.h"

namespace gpu_engine {

inline constexpr std::uint64_t image_alignment = 64;

// Gives arrays their places, one after the other.
class ImagePlaces {
  public:
    explicit ImagePlaces(std::uint64_t head_bytes) { take(head_bytes); }

    std::uint64_t take(std::uint64_t bytes) noexcept {
        const std::uint64_t at = end_;
        end_ += (bytes + image_alignment - 1) / image_alignment * image_alignment;
        return at;
    }
    std::uint64_t end() const noexcept { return end_; }

  private:
    std::uint64_t end_ = 0;
};

// The words of a dead bitmap, for which an image always has room: entries may die while it is written.
inline std::uint64_t dead_words(std::uint64_t entries) noexcept {
    return (entries + 63) / 64;
}

inline Status no_image() noexcept {
    return make_status(StatusCode::invalid_argument, "no engine of this kind has written the grid's image");
}

}  // namespace gpu_engine
