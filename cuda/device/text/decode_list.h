// All postings of a list, decoded into global memory.
#pragma once

#include <cstdint>
#include <optional>

#include "device/call.h"
#include "device/text/index.h"

namespace gpu_engine::device {

// A warp decodes a block at a time in a fraction of the time that a lane takes; 32 lanes with a block each
// take far fewer instructions for all of them, once there are blocks enough to keep the device busy.
enum class DecodeForm { warp_a_block, lane_a_block };

// Decodes all postings' ordinals. A list that contradicts itself sets *damaged. By default the form is the
// faster one for the list; Bitpack and Rice have the first only.
void decode_list(const Call &call, const TextView &text, const ListView &list, std::uint32_t *ordinals,
                 std::uint32_t *damaged, std::optional<DecodeForm> form = {});

}  // namespace gpu_engine::device
