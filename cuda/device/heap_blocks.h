// The session's knowledge of heap blocks, in device memory.
#pragma once

#include "common/heap_blocks.h"
#include "device/call.h"

namespace gpu_engine::device {

// A copy of the facts, which all calls of a request share. The pointers of `known` are for kernels.
class DeviceHeapBlocks final : public KeptBlocks<Buffer> {
  public:
    DeviceHeapBlocks(const Call &call, const KnownBlocks &known);

    std::uint64_t all_visible_before() const noexcept { return all_visible_before_; }

  private:
    std::uint64_t all_visible_before_;
};

// Throws Failure for another engine's.
const KnownBlocks &known_of(const HeapBlocks &blocks);

// Returns the number of the first block that isn't all-visible, as far as is known. It is found before the
// blocks go to the device, so that no array of entries must wait for an answer about its own.
std::uint64_t all_visible_before(const HeapBlocks &blocks);

}  // namespace gpu_engine::device
