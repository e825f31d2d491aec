// The session's knowledge of heap blocks, in the host's memory.
#pragma once

#include "common/heap_blocks.h"
#include "host/buffer.h"

namespace gpu_engine::host {

// A copy of the facts. The caller's may change meanwhile, and each look must find places that exist.
class HostHeapBlocks final : public KeptBlocks<Buffer> {
  public:
    HostHeapBlocks(MemoryBudget &budget, const KnownBlocks &known);
};

// Throws Failure for another engine's.
const KnownBlocks &known_of(const HeapBlocks &blocks);

}  // namespace gpu_engine::host
