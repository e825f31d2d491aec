#include "host/heap_blocks.h"

#include <algorithm>

#include "gpu_engine/guard.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::host {

HostHeapBlocks::HostHeapBlocks(MemoryBudget &budget, const KnownBlocks &known)
    : groups_(budget, known.group_count), rows_(budget, known.slots * known.row_words), known_(known) {
    std::copy_n(known.groups, known.group_count, groups_.data());
    std::copy_n(known.rows, known.slots * known.row_words, rows_.data());
    known_.groups = groups_.data();
    known_.rows = rows_.data();
}

const KnownBlocks &known_of(const HeapBlocks &blocks) {
    const auto *own = dynamic_cast<const HostHeapBlocks *>(&blocks);
    if (own == nullptr) {
        throw Failure{make_status(StatusCode::invalid_argument, "the heap blocks are another engine's")};
    }
    return own->known();
}

}  // namespace gpu_engine::host
