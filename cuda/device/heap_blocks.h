// What is known of heap blocks, in device memory.
#pragma once

#include "common/heap_blocks.h"
#include "device/call.h"

namespace gpu_engine::device {

// A copy of the facts, which all questions of a request share. The pointers of `known` are for kernels.
class DeviceHeapBlocks final : public KeptBlocks<Buffer> {
  public:
    DeviceHeapBlocks(const Call &call, const KnownBlocks &known);
};

// Throws Failure for another engine's.
const KnownBlocks &known_of(const HeapBlocks &blocks);

}  // namespace gpu_engine::device
