// Counting: where the whole table is all-visible cells inside a box are counted by the directory and the
// others by their codes; elsewhere by TIDs.
#include <algorithm>

#include "grid/grid.h"
#include "grid/scan.h"

namespace pg_gpu::grid {

static bool is_table_all_visible(Relation heap) {
    BlockNumber all_visible;
    visibilitymap_count(heap, &all_visible, nullptr);
    return all_visible >= RelationGetNumberOfBlocks(heap);
}

// Counts in one view of an all-visible table; false when the table is not, or the view went stale.
static bool count_in_view(ViewReader *reader, int64 *result) {
    renew_view(reader);
    const storage::View &view = reader->view;
    uint64 count = reader->tail_count;
    bool sound = true;
    auto *run_scan = allocate<RunScan>(1);
    for (int i = 0; sound && i < view.run_count; i++) {
        begin_run_scan(run_scan, reader->index, reader->format, &view.runs[i]);
        sound = count_matches(run_scan, *reader->condition, &count);
        if (!sound)
            confirm_recycled(*reader, view.runs[i], recycled_position(*run_scan));
        end_run_scan(run_scan);
    }
    pfree(run_scan);
    // R4: entries, then the visibility map, then vacuum_seq again.
    sound = sound && is_table_all_visible(reader->heap) &&
            storage::read_vacuum_seq(reader->index, reader->format) == view.vacuum_seq;
    *result = static_cast<int64>(count);
    if (sound)
        pgstat_count_index_scan(reader->index);
    return sound;
}

static constexpr int kTriesBeforeLock = 8;

namespace {

struct CountSink {
    VisibilityMap visibility;
    int64 trusted;
    ItemPointerData *doubtful;  // on blocks that are not all-visible
    uint64 doubtful_count;
    uint64 doubtful_room;
};

}  // namespace

static void reset_count(void *context) {
    auto *sink = static_cast<CountSink *>(context);
    renew_visibility(&sink->visibility);
    sink->trusted = 0;
    sink->doubtful_count = 0;
}

static void add_to_count(void *context, Batch *batch) {
    auto *sink = static_cast<CountSink *>(context);
    if (sink->doubtful_count + batch->count > sink->doubtful_room) {
        sink->doubtful_room = (sink->doubtful_count + batch->count) * 2;
        sink->doubtful = reallocate(sink->doubtful, sink->doubtful_room);
    }
    for (uint32 i = 0; i < batch->count; i++) {
        if (is_all_visible(&sink->visibility, ItemPointerGetBlockNumberNoCheck(&batch->tids[i])))
            sink->trusted++;
        else
            sink->doubtful[sink->doubtful_count++] = batch->tids[i];
    }
}

static bool tid_less(const ItemPointerData &a, const ItemPointerData &b) {
    return ItemPointerCompare(const_cast<ItemPointer>(&a), const_cast<ItemPointer>(&b)) < 0;
}

static int64 count_by_tid(ViewReader *reader, uint64 *heap_fetches) {
    CountSink sink = {};
    open_visibility(&sink.visibility, reader->heap);
    sink.doubtful_room = 1024;
    sink.doubtful = allocate<ItemPointerData>(sink.doubtful_room);
    uint64 before;
    int tries = 0;
    bool locked = false;
    do {
        CHECK_FOR_INTERRUPTS();
        // A stream of VACUUMs must not keep the count from ending (R11).
        if (++tries > kTriesBeforeLock && !locked && !RecoveryInProgress())
            locked = storage::lock_runs(reader->index, storage::RunLock::OldRuns, ShareLock, false);
        reset_count(&sink);
        before = storage::read_vacuum_seq(reader->index, reader->format);
        drain(reader, BatchSink{&sink, reset_count, add_to_count});
        // A VACUUM that ended meanwhile may have made blocks all-visible whose entries were dead when read
        // (R4).
    } while (storage::read_vacuum_seq(reader->index, reader->format) != before);
    if (locked)
        storage::unlock_runs(reader->index, storage::RunLock::OldRuns, ShareLock);
    close_visibility(&sink.visibility);
    pgstat_count_index_scan(reader->index);

    std::sort(sink.doubtful, sink.doubtful + sink.doubtful_count, tid_less);
    HeapProbe probe;
    open_heap_probe(&probe, reader->heap, reader->snapshot);
    for (uint64 i = 0; i < sink.doubtful_count; i++) {
        CHECK_FOR_INTERRUPTS();
        sink.trusted += is_visible(&probe, sink.doubtful[i]) ? 1 : 0;
    }
    close_heap_probe(&probe);
    *heap_fetches = sink.doubtful_count;
    return sink.trusted;
}

int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid count", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    const Format *format = format_of(index);
    Condition condition;
    make_condition(*format, keys, key_count, &condition);
    int64 count = 0;
    *heap_fetches = 0;
    if (!condition.nothing) {
        auto *reader = allocate<ViewReader>(1);
        begin_view_reader(reader, heap, index, format, snapshot, &condition);
        if (!is_table_all_visible(heap) || !count_in_view(reader, &count))
            count = count_by_tid(reader, heap_fetches);
        end_view_reader(reader);
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return count;
}

void count_batch(Relation heap, Relation index, Snapshot snapshot, const RangeReader &reader, int64 *counts) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid box", ALLOCSET_DEFAULT_SIZES);
    for (uint32 i = 0; i < reader.count; i++) {
        CHECK_FOR_INTERRUPTS();
        MemoryContext caller = MemoryContextSwitchTo(context);
        ScanKeyData keys[2 * kMostColumns];
        const int key_count = reader.read(reader.context, i, keys);
        uint64 heap_fetches;
        counts[i] = count_matching(heap, index, snapshot, keys, key_count, &heap_fetches);
        MemoryContextSwitchTo(caller);
        MemoryContextReset(context);
    }
    MemoryContextDelete(context);
}

bool fetches_all(const IndexPath *) {
    return false;
}

}  // namespace pg_gpu::grid
