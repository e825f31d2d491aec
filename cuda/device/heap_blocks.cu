#include "device/heap_blocks.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {

DeviceHeapBlocks::DeviceHeapBlocks(const Call &call, const KnownBlocks &known)
    : KeptBlocks(call.buffer<BlockGroup>(known.group_count),
                 call.buffer<std::uint64_t>(known.slots * known.row_words), known) {
    call.copy(groups_.data(), known.groups, groups_.size());
    call.copy(rows_.data(), known.rows, rows_.size());
    call.wait();
    groups_.set_stream(call.engine().release_stream());
    rows_.set_stream(call.engine().release_stream());
}

const KnownBlocks &known_of(const HeapBlocks &blocks) {
    return known_by<DeviceHeapBlocks>(blocks);
}

}  // namespace gpu_engine::device
