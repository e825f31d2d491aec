#include "device/heap_blocks.h"

#include "gpu_engine/guard.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {

DeviceHeapBlocks::DeviceHeapBlocks(const Call &call, const KnownBlocks &known)
    : groups_(call.buffer<BlockGroup>(known.group_count)),
      rows_(call.buffer<std::uint64_t>(known.slots * known.row_words)),
      known_(known) {
    call.copy(groups_.data(), known.groups, groups_.size());
    call.copy(rows_.data(), known.rows, rows_.size());
    call.wait();
    groups_.set_stream(call.engine().release_stream());
    rows_.set_stream(call.engine().release_stream());
    known_.groups = groups_.data();
    known_.rows = rows_.data();
}

const KnownBlocks &known_of(const HeapBlocks &blocks) {
    const auto *own = dynamic_cast<const DeviceHeapBlocks *>(&blocks);
    if (own == nullptr) {
        throw Failure{make_status(StatusCode::invalid_argument, "the heap blocks are another engine's")};
    }
    return own->known();
}

}  // namespace gpu_engine::device
