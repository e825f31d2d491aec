#include "table/visible_count.h"

#include <algorithm>

#include "table/row_visibility.h"

namespace pg_gpu::table {

// A stream of VACUUMs must not keep a count from ending: after so many the heap is asked about every entry.
static constexpr int kTriesWithTrust = 4;

// The last block tells of a table that rows are added to, without a look at the whole map.
static bool is_last_block_visible(Relation heap, BlockNumber blocks) {
    Buffer map = InvalidBuffer;
    const bool visible = (visibilitymap_get_status(heap, blocks - 1, &map) & VISIBILITYMAP_ALL_VISIBLE) != 0;
    if (BufferIsValid(map))
        ReleaseBuffer(map);
    return visible;
}

bool is_table_all_visible(Relation heap) {
    // The visibility map of another access method's table has a meaning of its own.
    if (!is_heap_table(heap))
        return false;
    const BlockNumber blocks = RelationGetNumberOfBlocks(heap);
    if (blocks > 0 && !is_last_block_visible(heap, blocks))
        return false;
    // Blocks that were added meanwhile aren't known to be all-visible.
    return are_all_visible_before(heap, blocks) && RelationGetNumberOfBlocks(heap) <= blocks;
}

void reset_count(VisibleCount *count) {
    renew_visibility(&count->visibility);
    count->trusted = 0;
    count->unresolved_count = 0;
}

void add_entries(VisibleCount *count, const ItemPointerData *tids, uint32 tid_count) {
    if (count->unresolved_count + tid_count > count->unresolved_room) {
        count->unresolved_room = (count->unresolved_count + tid_count) * 2;
        count->unresolved = reallocate(count->unresolved, count->unresolved_room);
    }
    ItemPointerData *unresolved = count->unresolved + count->unresolved_count;
    const bool trusts = count->trusts;
    for (uint32 i = 0; i < tid_count; i++) {
        const bool is_trusted =
            trusts && is_all_visible(&count->visibility, ItemPointerGetBlockNumberNoCheck(&tids[i]));
        *unresolved = tids[i];
        unresolved += is_trusted ? 0 : 1;
    }
    const auto unresolved_count = static_cast<uint64>(unresolved - count->unresolved);
    count->trusted += tid_count - (unresolved_count - count->unresolved_count);
    count->unresolved_count = unresolved_count;
}

int64 count_by_tid(Relation heap, Relation index, const storage::RunKind *kind, Snapshot snapshot,
                   void (*collect)(void *context, VisibleCount *count), void *context, uint64 *heap_fetches) {
    VisibleCount count = {};
    open_visibility(&count.visibility, heap);
    count.unresolved_room = 1024;
    count.unresolved = allocate<ItemPointerData>(count.unresolved_room);
    int tries = 0;
    do {
        CHECK_FOR_INTERRUPTS();
        count.trusts = ++tries <= kTriesWithTrust;
        reset_count(&count);
        count.vacuum_seq = storage::read_vacuum_seq(index, kind);
        collect(context, &count);
        // A VACUUM that ended meanwhile may have made blocks all-visible whose entries were dead when read
        // (rule "Trust").
    } while (count.trusts && storage::read_vacuum_seq(index, kind) != count.vacuum_seq);
    close_visibility(&count.visibility);

    RowVisibility rows;
    open_row_visibility(&rows, heap, snapshot);
    auto *visible = allocate_zeroed<bool>(count.unresolved_count + 1);
    find_visible(&rows, count.unresolved, count.unresolved_count, visible);
    count.trusted += std::count(visible, visible + count.unresolved_count, true);
    *heap_fetches = rows.fetches;
    close_row_visibility(&rows);
    pfree(visible);
    pfree(count.unresolved);
    return count.trusted;
}

}  // namespace pg_gpu::table
