// Intersections by Parallel Merge Find (Ding et al., WWW 2009): where the shortest list's documents can lie
// in another is found among the heads of its blocks, in levels: every n-th document first, then those between
// them, each between what its neighbours found. Only blocks in which documents can lie are decoded.
#pragma once

#include <cstdint>

#include "device/text/damage.h"
#include "device/text/index.h"

namespace gpu_engine::device {

inline constexpr std::uint32_t max_find_levels = 4;

// Makes blocks[i] the first block of the list that reaches ordinals[i]; ordinals ascend.
void find_blocks(const Call &call, const TextView &text, const ListView &list, const std::uint32_t *ordinals,
                 std::uint32_t count, std::uint32_t levels, std::uint32_t *blocks);

// Keeps of ordinals that ascend those that the list has too; *kept, which is on the device, is their number.
// `blocks` is scratch memory for `count` words, `flags` for as many bytes.
void keep_common(const Call &call, const TextView &text, const ListView &list, const std::uint32_t *ordinals,
                 std::uint32_t count, std::uint32_t levels, std::uint32_t *blocks, std::uint8_t *flags,
                 std::uint32_t *common, std::uint32_t *kept, std::uint32_t *damaged);

}  // namespace gpu_engine::device
