// Leaving out groups that aren't among the first ones.
#pragma once

#include "device/call.h"
#include "gpu_engine/aggregate_top.h"

namespace gpu_engine::device {

// Of `*groups` records of `words` words each those that can be among the first top.count: all with the rank
// of the last of these, and better ones. *groups becomes their number. Throws Failure.
Buffer<std::uint64_t> keep_top(const Call &call, const AggregateTop &top, std::uint32_t words,
                               Buffer<std::uint64_t> records, std::uint64_t *groups);

}  // namespace gpu_engine::device
