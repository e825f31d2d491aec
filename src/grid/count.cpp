// Where the whole table is all-visible, cells inside a box are counted by the directory and the others by
// their codes. Elsewhere entries are counted by their TIDs.
#include "grid/grid.h"
#include "grid/mirror.h"
#include "table/visible_count.h"

namespace pg_gpu::grid {

// By the rule "Trust", entries are read first, then the visibility map, then vacuum_seq again.
static bool may_trust(const ViewReader &reader) {
    return is_table_all_visible(reader.heap) &&
           storage::read_vacuum_seq(reader.index, reader.format) == reader.view.vacuum_seq;
}

static void reset_run_scans(const ViewReader &reader, RunScan *scans) {
    for (int i = 0; i < reader.view.run_count; i++)
        reset_run_scan(&scans[i]);
}

// Live matches in all runs of the view, by the ranges that were found already; false when it went stale.
static bool count_in_runs(const ViewReader &reader, RunScan *scans, const Condition &condition,
                          uint64 *count) {
    for (int i = 0; i < reader.view.run_count; i++) {
        if (count_matches(&scans[i], condition, count))
            continue;
        confirm_recycled(reader, reader.view.runs[i], recycled_position(scans[i]));
        return false;
    }
    return true;
}

// Of all runs.
static uint64 entries_to_look_at(const ViewReader &reader, RunScan *scans, const Condition &condition,
                                 bool all) {
    uint64 entries = 0;
    for (int i = 0; i < reader.view.run_count; i++)
        entries += entries_to_look_at(&scans[i], condition, all);
    return entries;
}

// Counts in one view, by the server where that pays; false when neither it nor the directory can tell: the
// table is not all-visible, or the view went stale. `boxes` has the reader's condition, or is nullptr.
static bool count_in_view(ViewReader *reader, const BoxList *boxes, int64 *result, uint64 *heap_fetches) {
    const bool all_visible = is_table_all_visible(reader->heap);
    if (!all_visible && boxes == nullptr)
        return false;
    renew_view(reader);
    RunScan *scans = begin_run_scans(*reader, reader->view.runs, reader->view.run_count);
    const uint64 looked_at =
        boxes != nullptr ? entries_to_look_at(*reader, scans, *reader->condition, !all_visible) : 0;
    uint64 count = reader->tail_count;
    const bool asks = looked_at >= kFewestEntries;
    const bool sound = !asks && all_visible && count_in_runs(*reader, scans, *reader->condition, &count) &&
                       may_trust(*reader);
    end_run_scans(scans, reader->view.run_count);
    if (asks)
        return count_on_server(reader, *boxes, nullptr, looked_at, result, heap_fetches) ||
               count_in_view(reader, nullptr, result, heap_fetches);
    *result = static_cast<int64>(count);
    *heap_fetches = 0;
    if (sound)
        pgstat_count_index_scan(reader->index);
    return sound;
}

// Does the same for many boxes.
static bool count_batch_in_view(ViewReader *reader, const RangeReader &boxes, int64 *counts) {
    const Format &format = *reader->format;
    const auto words = static_cast<size_t>(format.row_words);
    MemoryContext box_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid box", ALLOCSET_SMALL_SIZES);
    renew_view(reader);
    RunScan *scans = begin_run_scans(*reader, reader->view.runs, reader->view.run_count);
    bool sound = true;
    for (uint32 i = 0; sound && i < boxes.count; i++) {
        CHECK_FOR_INTERRUPTS();
        ScanKeyData keys[2 * kMaxColumns];
        Condition condition;
        MemoryContextReset(box_context);
        MemoryContext caller = MemoryContextSwitchTo(box_context);
        make_condition(format, keys, boxes.read(boxes.context, i, keys), &condition);
        MemoryContextSwitchTo(caller);
        uint64 count = 0;
        for (uint32 j = 0; j < reader->tail_count; j++)
            count += matches(format, condition, reader->tail + j * words) ? 1 : 0;
        reset_run_scans(*reader, scans);
        sound = condition.nothing || count_in_runs(*reader, scans, condition, &count);
        counts[i] = static_cast<int64>(count);
    }
    end_run_scans(scans, reader->view.run_count);
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

static int64 count_condition(ViewReader *reader, bool may_ask, uint64 *heap_fetches) {
    int64 count = 0;
    BoxList list;
    const bool may_travel = may_ask && client::may_ask_server(1, 1) &&
                            begin_boxes(&list, reader->format, 1) && add_box(&list, *reader->condition);
    const bool counted = may_travel && client::is_path_forced()
                             ? count_on_server(reader, list, nullptr, 0, &count, heap_fetches) ||
                                   count_in_view(reader, nullptr, &count, heap_fetches)
                             : count_in_view(reader, may_travel ? &list : nullptr, &count, heap_fetches);
    if (!counted) {
        count = count_by_tid(reader->heap, reader->index, reader->format, reader->snapshot, collect_counted,
                             reader, heap_fetches);
        pgstat_count_index_scan(reader->index);
    }
    client::note_request_done(reader->index, client::RequestKind::CountBoxes);
    return count;
}

static int64 count_one(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys,
                       int key_count, bool may_ask, uint64 *heap_fetches) {
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
        count = count_condition(reader, may_ask, heap_fetches);
        end_view_reader(reader);
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return count;
}

int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches) {
    return count_one(heap, index, snapshot, keys, key_count, true, heap_fetches);
}

// ---- many boxes -------------------------------------------------------------------------------------------

// Fewer boxes are counted one by one without asking what a request would cost.
static constexpr uint32 kFewestBoxes = 64;

static bool add_boxes(const Format &format, const RangeReader &reader, BoxList *boxes) {
    return for_each_range(reader, [&](uint32, const ScanKeyData *keys, int key_count) {
        Condition condition;
        make_condition(format, keys, key_count, &condition);
        return add_box(boxes, condition);
    });
}

// Estimates from some of the boxes what the paged path would look at for all of them.
static uint64 expected_entries(ViewReader *reader, const RangeReader &boxes) {
    constexpr uint32 kSamples = 8;
    const bool all = !is_table_all_visible(reader->heap);
    renew_view(reader);
    RunScan *scans = begin_run_scans(*reader, reader->view.runs, reader->view.run_count);
    uint64 entries = 0;
    for (uint32 i = 0; i < kSamples; i++) {
        ScanKeyData keys[2 * kMaxColumns];
        Condition condition;
        const auto box = static_cast<uint32>(uint64{i} * boxes.count / kSamples);
        make_condition(*reader->format, keys, boxes.read(boxes.context, box, keys), &condition);
        reset_run_scans(*reader, scans);
        entries += condition.nothing ? 0 : entries_to_look_at(*reader, scans, condition, all);
    }
    end_run_scans(scans, reader->view.run_count);
    return entries / kSamples * boxes.count;
}

// Has the server count all boxes. Returns false when one of them is more than a box, or when the server
// doesn't answer.
static bool count_batch_on_server(ViewReader *reader, const RangeReader &boxes, int64 *counts) {
    BoxList list;
    if (boxes.count == 0 || !client::may_ask_server(boxes.count, kFewestBoxes) ||
        !begin_boxes(&list, reader->format, boxes.count))
        return false;
    uint64 heap_fetches;
    const bool answered =
        add_boxes(*reader->format, boxes, &list) &&
        count_on_server(reader, list, &boxes, client::is_path_forced() ? 0 : expected_entries(reader, boxes),
                        counts, &heap_fetches);
    return answered;
}

// Counts box by box. A server that didn't answer for all boxes together isn't asked about each of them.
static void count_one_by_one(Relation heap, Relation index, Snapshot snapshot, const RangeReader &boxes,
                             int64 *counts) {
    const bool may_ask = !client::may_ask_server(boxes.count, kFewestBoxes);
    for_each_range(boxes, [&](uint32 i, const ScanKeyData *keys, int key_count) {
        uint64 heap_fetches;
        counts[i] = count_one(heap, index, snapshot, keys, key_count, may_ask, &heap_fetches);
        return true;
    });
}

void count_batch(Relation heap, Relation index, Snapshot snapshot, const RangeReader &boxes, int64 *counts) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid boxes", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    const Format *format = format_of(index);
    Condition everything;
    make_condition(*format, nullptr, 0, &everything);
    auto *reader = allocate<ViewReader>(1);
    begin_view_reader(reader, heap, index, format, snapshot, &everything);
    if (!count_batch_on_server(reader, boxes, counts)) {
        const client::PagedRequest request =
            client::begin_paged(client::RequestKind::CountBoxes, boxes.count);
        if (!is_table_all_visible(heap) || !count_batch_in_view(reader, boxes, counts))
            count_one_by_one(heap, index, snapshot, boxes, counts);
        client::end_paged(request);
    }
    client::note_request_done(index, client::RequestKind::CountBoxes);
    end_view_reader(reader);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
}

bool fetches_all(const IndexPath *) {
    return false;
}

}  // namespace pg_gpu::grid
