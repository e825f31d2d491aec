#include "device/heap_blocks.h"

#include <bit>

namespace gpu_engine::device {
namespace {

std::uint64_t count_all_visible(const KnownBlocks &known) {
    std::uint64_t group = 0;
    while (group < known.group_count && ~known.groups[group].all_visible == 0) {
        ++group;
    }
    if (group == known.group_count) {
        return group * 64;
    }
    const std::uint64_t all_visible = known.groups[group].all_visible;
    return group * 64 + static_cast<std::uint64_t>(std::countr_one(all_visible));
}

}  // namespace

DeviceHeapBlocks::DeviceHeapBlocks(const Call &call, const KnownBlocks &known)
    : KeptBlocks(call.buffer<BlockGroup>(known.group_count),
                 call.buffer<std::uint64_t>(known.slots * known.row_words), known),
      all_visible_before_(count_all_visible(known)) {
    call.copy(groups_.data(), known.groups, groups_.size());
    call.copy(rows_.data(), known.rows, rows_.size());
    call.wait();
    groups_.set_stream(call.engine().release_stream());
    rows_.set_stream(call.engine().release_stream());
}

const KnownBlocks &known_of(const HeapBlocks &blocks) {
    return known_by<DeviceHeapBlocks>(blocks);
}

std::uint64_t all_visible_before(const HeapBlocks &blocks) {
    return dynamic_cast<const DeviceHeapBlocks &>(blocks).all_visible_before();
}

}  // namespace gpu_engine::device
