// What is known of heap blocks, in device memory.
#pragma once

#include "common/heap_blocks.h"
#include "device/call.h"

namespace gpu_engine::device {

// A copy of the facts, which all questions of a request share.
class DeviceHeapBlocks final : public HeapBlocks {
  public:
    DeviceHeapBlocks(const Call &call, const KnownBlocks &known);

    // As kernels see it.
    const KnownBlocks &known() const noexcept { return known_; }

  private:
    Buffer<BlockGroup> groups_;
    Buffer<std::uint64_t> rows_;
    KnownBlocks known_;
};

// Throws Failure for another engine's.
const KnownBlocks &known_of(const HeapBlocks &blocks);

}  // namespace gpu_engine::device
