// The first groups in the order of an accumulator: what a question with AggregateTop leaves out.
#pragma once

#include <cstdint>

#include "gpu_engine/both.h"

namespace gpu_engine {

// The first `count` groups in the order of a signed number in their records, of which word `word` is the
// first, counted from the key's on. Who asks sorts them: groups with the last one's number, or with greater
// ones, may come too. 0: all groups are wanted.
struct AggregateTop {
    std::uint64_t count;
    std::uint32_t word;
    std::uint8_t is_wide;     // of 128 bits: its upper half is the next word
    std::uint8_t descending;  // the greatest numbers come first
    std::uint16_t reserved;
};

// The rank of a number: groups with greater ranks come first. All numbers beyond 64 bits share the greatest
// rank or the least.
GPU_ENGINE_BOTH std::int64_t rank_in_order(const AggregateTop &top, std::uint64_t low, std::uint64_t high) {
    auto number = static_cast<std::int64_t>(low);
    if (top.is_wide != 0 && static_cast<std::int64_t>(high) != (number < 0 ? -1 : 0)) {
        number = static_cast<std::int64_t>(high) < 0 ? INT64_MIN : INT64_MAX;
    }
    // ~number is -number - 1, so it turns the order round and can't overflow.
    return top.descending != 0 ? number : ~number;
}

}  // namespace gpu_engine
