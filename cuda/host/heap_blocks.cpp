#include "host/heap_blocks.h"

#include <algorithm>

namespace gpu_engine::host {

HostHeapBlocks::HostHeapBlocks(MemoryBudget &budget, const KnownBlocks &known)
    : KeptBlocks(Buffer<BlockGroup>(budget, known.group_count),
                 Buffer<std::uint64_t>(budget, known.slots * known.row_words), known) {
    std::copy_n(known.groups, known.group_count, groups_.data());
    std::copy_n(known.rows, known.slots * known.row_words, rows_.data());
}

const KnownBlocks &known_of(const HeapBlocks &blocks) {
    return known_by<HostHeapBlocks>(blocks);
}

}  // namespace gpu_engine::host
