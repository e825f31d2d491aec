// Codes of a few bits each, packed without gaps.
#pragma once

#include <cstdint>

#include "gpu_engine/both.h"
#include "studies/column/histogram.h"

namespace gpu_engine {

GPU_ENGINE_BOTH std::uint32_t code_at(const std::uint32_t *words, std::uint64_t i, std::uint32_t bits) {
    if (bits == 0) {
        return 0;
    }
    const std::uint64_t bit = i * bits;
    const std::uint64_t word = bit / 32;
    const auto offset = static_cast<std::uint32_t>(bit % 32);
    // Where the code doesn't reach into the next word, that word need not exist. There is no branch, for the
    // sake of devices.
    const std::uint64_t next = offset + bits > 32 ? word + 1 : word;
    const std::uint64_t window = static_cast<std::uint64_t>(words[next]) << 32 | words[word];
    return static_cast<std::uint32_t>(window >> offset) &
           static_cast<std::uint32_t>((std::uint64_t(1) << bits) - 1);
}

}  // namespace gpu_engine
