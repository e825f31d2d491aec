#include "table/visible_count.h"

#include <algorithm>

#include "table/row_visibility.h"

namespace pg_gpu::table {

static constexpr int kTriesBeforeLock = 8;

bool is_table_all_visible(Relation heap) {
    BlockNumber all_visible;
    visibilitymap_count(heap, &all_visible, nullptr);
    return all_visible >= RelationGetNumberOfBlocks(heap);
}

void reset_count(VisibleCount *count) {
    renew_visibility(&count->visibility);
    count->trusted = 0;
    count->doubtful_count = 0;
}

void add_entries(VisibleCount *count, const ItemPointerData *tids, uint32 tid_count) {
    if (count->doubtful_count + tid_count > count->doubtful_room) {
        count->doubtful_room = (count->doubtful_count + tid_count) * 2;
        count->doubtful = reallocate(count->doubtful, count->doubtful_room);
    }
    for (uint32 i = 0; i < tid_count; i++) {
        if (is_all_visible(&count->visibility, ItemPointerGetBlockNumberNoCheck(&tids[i])))
            count->trusted++;
        else
            count->doubtful[count->doubtful_count++] = tids[i];
    }
}

int64 count_by_tid(Relation heap, Relation index, const storage::RunKind *kind, Snapshot snapshot,
                   void (*collect)(void *context, VisibleCount *count), void *context, uint64 *heap_fetches) {
    VisibleCount count = {};
    open_visibility(&count.visibility, heap);
    count.doubtful_room = 1024;
    count.doubtful = allocate<ItemPointerData>(count.doubtful_room);
    uint64 before;
    int tries = 0;
    bool locked = false;
    do {
        CHECK_FOR_INTERRUPTS();
        // A stream of VACUUMs must not keep the count from ending (R11).
        if (++tries > kTriesBeforeLock && !locked && !RecoveryInProgress())
            locked = storage::lock_runs(index, storage::RunLock::OldRuns, ShareLock, false);
        reset_count(&count);
        before = storage::read_vacuum_seq(index, kind);
        collect(context, &count);
        // A VACUUM that ended meanwhile may have made blocks all-visible whose entries were dead when read
        // (R4).
    } while (storage::read_vacuum_seq(index, kind) != before);
    if (locked)
        storage::unlock_runs(index, storage::RunLock::OldRuns, ShareLock);
    close_visibility(&count.visibility);

    RowVisibility rows;
    open_row_visibility(&rows, heap, snapshot);
    auto *visible = allocate_zeroed<bool>(count.doubtful_count + 1);
    find_visible(&rows, count.doubtful, count.doubtful_count, visible);
    count.trusted += std::count(visible, visible + count.doubtful_count, true);
    *heap_fetches = rows.fetches;
    close_row_visibility(&rows);
    pfree(visible);
    pfree(count.doubtful);
    return count.trusted;
}

}  // namespace pg_gpu::table
