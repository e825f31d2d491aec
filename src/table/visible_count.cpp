#include "table/visible_count.h"

#include "sort.h"

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

static bool tid_less(const ItemPointerData &a, const ItemPointerData &b) {
    return ItemPointerCompare(const_cast<ItemPointer>(&a), const_cast<ItemPointer>(&b)) < 0;
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

    sort_interruptibly(count.doubtful, count.doubtful + count.doubtful_count, tid_less);
    HeapProbe probe;
    open_heap_probe(&probe, heap, snapshot);
    for (uint64 i = 0; i < count.doubtful_count; i++) {
        CHECK_FOR_INTERRUPTS();
        count.trusted += is_visible(&probe, count.doubtful[i]) ? 1 : 0;
    }
    close_heap_probe(&probe);
    pfree(count.doubtful);
    *heap_fetches = count.doubtful_count;
    return count.trusted;
}

}  // namespace pg_gpu::table
