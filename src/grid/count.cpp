// Counting: where the whole table is all-visible cells inside a box are counted by the directory and the
// others by their codes; elsewhere by TIDs.
#include "grid/grid.h"
#include "grid/scan.h"
#include "table/visible_count.h"

namespace pg_gpu::grid {

// R4: entries, then the visibility map, then vacuum_seq again.
static bool may_trust(const ViewReader &reader) {
    return is_table_all_visible(reader.heap) &&
           storage::read_vacuum_seq(reader.index, reader.format) == reader.view.vacuum_seq;
}

static RunScan *begin_run_scans(const ViewReader &reader) {
    auto *scans = allocate<RunScan>(static_cast<size_t>(reader.view.run_count) + 1);
    for (int i = 0; i < reader.view.run_count; i++)
        begin_run_scan(&scans[i], reader.index, reader.format, &reader.view.runs[i]);
    return scans;
}

static void end_run_scans(const ViewReader &reader, RunScan *scans) {
    for (int i = 0; i < reader.view.run_count; i++)
        end_run_scan(&scans[i]);
    pfree(scans);
}

// Live matches in all runs of the view; false when it went stale.
static bool count_in_runs(const ViewReader &reader, RunScan *scans, const Condition &condition,
                          uint64 *count) {
    for (int i = 0; i < reader.view.run_count; i++) {
        reset_run_scan(&scans[i]);
        if (count_matches(&scans[i], condition, count))
            continue;
        confirm_recycled(reader, reader.view.runs[i], recycled_position(scans[i]));
        return false;
    }
    return true;
}

// Counts in one view of an all-visible table; false when the table is not, or the view went stale.
static bool count_in_view(ViewReader *reader, int64 *result) {
    renew_view(reader);
    uint64 count = reader->tail_count;
    RunScan *scans = begin_run_scans(*reader);
    const bool sound = count_in_runs(*reader, scans, *reader->condition, &count) && may_trust(*reader);
    end_run_scans(*reader, scans);
    *result = static_cast<int64>(count);
    if (sound)
        pgstat_count_index_scan(reader->index);
    return sound;
}

// The same for many boxes.
static bool count_batch_in_view(ViewReader *reader, const RangeReader &boxes, int64 *counts) {
    const Format &format = *reader->format;
    const auto words = static_cast<size_t>(format.row_words);
    MemoryContext box_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid box", ALLOCSET_SMALL_SIZES);
    renew_view(reader);
    RunScan *scans = begin_run_scans(*reader);
    bool sound = true;
    for (uint32 i = 0; sound && i < boxes.count; i++) {
        CHECK_FOR_INTERRUPTS();
        ScanKeyData keys[2 * kMostColumns];
        Condition condition;
        MemoryContextReset(box_context);
        MemoryContext caller = MemoryContextSwitchTo(box_context);
        make_condition(format, keys, boxes.read(boxes.context, i, keys), &condition);
        MemoryContextSwitchTo(caller);
        uint64 count = 0;
        for (uint32 j = 0; j < reader->tail_count; j++)
            count += matches(format, condition, reader->tail + j * words) ? 1 : 0;
        sound = condition.nothing || count_in_runs(*reader, scans, condition, &count);
        counts[i] = static_cast<int64>(count);
    }
    end_run_scans(*reader, scans);
    MemoryContextDelete(box_context);
    sound = sound && may_trust(*reader);
    if (sound)
        pgstat_count_index_scan(reader->index);
    return sound;
}

static void collect_counted(void *context, VisibleCount *count) {
    drain(static_cast<ViewReader *>(context),
          BatchSink{count, [](void *sink) { reset_count(static_cast<VisibleCount *>(sink)); },
                    [](void *sink, Batch *batch) {
                        add_entries(static_cast<VisibleCount *>(sink), batch->tids, batch->count);
                    }});
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
        if (!is_table_all_visible(heap) || !count_in_view(reader, &count)) {
            count = count_by_tid(heap, index, format, snapshot, collect_counted, reader, heap_fetches);
            pgstat_count_index_scan(index);
        }
        end_view_reader(reader);
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return count;
}

static bool count_batch_of_visible(Relation heap, Relation index, Snapshot snapshot, const RangeReader &boxes,
                                   int64 *counts) {
    if (!is_table_all_visible(heap))
        return false;
    const Format *format = format_of(index);
    Condition everything;
    make_condition(*format, nullptr, 0, &everything);
    auto *reader = allocate<ViewReader>(1);
    begin_view_reader(reader, heap, index, format, snapshot, &everything);
    const bool answered = count_batch_in_view(reader, boxes, counts);
    end_view_reader(reader);
    return answered;
}

void count_batch(Relation heap, Relation index, Snapshot snapshot, const RangeReader &boxes, int64 *counts) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid boxes", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    if (!count_batch_of_visible(heap, index, snapshot, boxes, counts)) {
        for (uint32 i = 0; i < boxes.count; i++) {
            CHECK_FOR_INTERRUPTS();
            MemoryContextReset(context);
            ScanKeyData keys[2 * kMostColumns];
            const int key_count = boxes.read(boxes.context, i, keys);
            uint64 heap_fetches;
            counts[i] = count_matching(heap, index, snapshot, keys, key_count, &heap_fetches);
        }
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
}

bool fetches_all(const IndexPath *) {
    return false;
}

}  // namespace pg_gpu::grid
