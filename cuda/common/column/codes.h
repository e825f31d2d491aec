// Codes of a few bits each, packed without gaps.
#pragma once

#include <cstdint>

#include "common/both.h"
#include "gpu_engine/histogram.h"

namespace gpu_engine {

GPU_ENGINE_BOTH std::uint32_t code_at(const std::uint32_t *words, std::uint64_t i, std::uint32_t bits) {
    if (bits == 0) {
        return 0;
    }
    const std::uint64_t bit = i * bits;
    const std::uint64_t word = bit / 32;
    const auto offset = static_cast<std::uint32_t>(bit % 32);
    std::uint64_t window = words[word];
    // The next word need not exist where the code doesn't reach into it.
    if (offset + bits > 32) {
        window |= static_cast<std::uint64_t>(words[word + 1]) << 32;
    }
    return static_cast<std::uint32_t>(window >> offset) &
           static_cast<std::uint32_t>((std::uint64_t(1) << bits) - 1);
}

}  // namespace gpu_engine
