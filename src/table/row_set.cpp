#include "table/row_set.h"

#include <algorithm>

#include "memory.h"

namespace pg_gpu::table {

RowSet *make_row_set(TIDBitmap *bitmap) {
    auto *set = allocate_zeroed<RowSet>(1);
    uint32 block_room = 64;
    uint64 offset_room = 1024;
    uint64 offsets = 0;
    set->blocks = allocate<RowSetBlock>(block_room);
    set->offsets = allocate<OffsetNumber>(offset_room);
    set->is_exact = true;
    for_each_bitmap_block(bitmap, [&](BlockNumber block, const OffsetNumber *found, int count, bool recheck) {
        set->is_exact = set->is_exact && count >= 0 && !recheck;
        if (set->block_count == block_room) {
            CHECK_FOR_INTERRUPTS();
            block_room *= 2;
            set->blocks = reallocate(set->blocks, block_room);
        }
        set->blocks[set->block_count++] = {block, count, offsets};
        if (count < 0) {
            set->rows += MaxHeapTuplesPerPage;
            return;
        }
        const auto added = static_cast<uint64>(count);
        if (offsets + added > offset_room) {
            offset_room = Max(offset_room * 2, offsets + added);
            set->offsets = reallocate(set->offsets, offset_room);
        }
        std::copy_n(found, count, set->offsets + offsets);
        offsets += added;
        set->rows += added;
    });
    return set;
}

bool contains(const RowSet &set, const ItemPointerData &tid) {
    const BlockNumber block = ItemPointerGetBlockNumber(&tid);
    const RowSetBlock *first = set.blocks;
    const RowSetBlock *end = first + set.block_count;
    const RowSetBlock *found = std::lower_bound(
        first, end, block, [](const RowSetBlock &entry, BlockNumber number) { return entry.block < number; });
    if (found == end || found->block != block)
        return false;
    if (found->count < 0)
        return true;
    const OffsetNumber *offsets = set.offsets + found->offset;
    return std::binary_search(offsets, offsets + found->count, ItemPointerGetOffsetNumber(&tid));
}

}  // namespace pg_gpu::table
