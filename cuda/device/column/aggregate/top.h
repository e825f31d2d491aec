// Leaving out groups that aren't among the first ones.
#pragma once

#include "device/call.h"
#include "gpu_engine/aggregate_top.h"

namespace gpu_engine::device {

// Keeps those of `*groups` records of `words` words each that can be among the first top.count: those with
// the last one's rank or a better one. *groups becomes their number. Throws Failure.
Buffer<std::uint64_t> keep_top(const Call &call, const AggregateTop &top, std::uint32_t words,
                               Buffer<std::uint64_t> records, std::uint64_t *groups);

}  // namespace gpu_engine::device
