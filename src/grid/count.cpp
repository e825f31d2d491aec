// Cells inside a box are counted by the directory and the others by their codes, and entries without a
// visible row are taken off, as long as these are few. Where they aren't, entries are counted by their TIDs.
#include "grid/entry_search.h"
#include "grid/grid.h"
#include "grid/mirror.h"
#include "table/table.h"
#include "request_kinds.h"

namespace pg_gpu::grid {

// ---- entries of a view ------------------------------------------------------------------------------------

namespace {

// A count request has one condition, or many boxes, and is counted in one view after another.
struct CountRequest {
    ViewReader *reader;          // reader of all rows
    const Condition *condition;  // or nullptr
    const RangeReader *boxes;    // or nullptr
    RunScan *scans;              // scans of the view's runs; nullptr: there was no view yet
    int scan_count;
    bool is_view_new;  // nothing was counted in it
};

}  // namespace

static CountRequest *count_request_of(void *context) {
    return static_cast<CountRequest *>(context);
}

static void end_scans(CountRequest *count_request) {
    if (count_request->scans != nullptr)
        end_run_scans(count_request->scans, count_request->scan_count);
    count_request->scans = nullptr;
}

static void take_new_view(CountRequest *count_request) {
    end_scans(count_request);
    renew_view(count_request->reader);
    count_request->scan_count = count_request->reader->view.run_count;
    count_request->scans =
        begin_run_scans(*count_request->reader, count_request->reader->view.runs, count_request->scan_count);
    count_request->is_view_new = true;
}

// Calls visit(i, condition) for one box after another until a call returns false.
template <typename Visit>
static bool for_each_condition(const CountRequest &count_request, Visit visit) {
    if (count_request.condition != nullptr)
        return visit(uint32{0}, *count_request.condition);
    return for_each_range(*count_request.boxes, [&](uint32 i, const ScanKeyData *keys, int key_count) {
        Condition condition;
        make_condition(*count_request.reader->format, keys, key_count, &condition);
        return visit(i, condition);
    });
}

// Counts live matches in all runs of the view; returns false when it went stale. The ranges of the one
// condition are found once.
static bool count_in_runs(const CountRequest &count_request, const Condition &condition, uint64 *count) {
    const ViewReader &reader = *count_request.reader;
    for (int i = 0; i < count_request.scan_count; i++) {
        RunScan *scan = &count_request.scans[i];
        if (count_request.condition == nullptr)
            reset_run_scan(scan);
        else if (scan->found)
            rewind_run_scan(scan);
        if (count_matches(scan, condition, count))
            continue;
        confirm_recycled(reader, reader.view.runs[i], recycled_position(*scan));
        return false;
    }
    return true;
}

// Returns how many entries lie in the cells that one box meets.
static uint64 max_entries_in_view(void *context) {
    const CountRequest &count_request = *count_request_of(context);
    uint64 entries = count_request.reader->tail_count;
    for (int i = 0; i < count_request.scan_count; i++)
        entries += entries_to_look_at(&count_request.scans[i], *count_request.condition, true);
    return entries;
}

static Outcome count_entries_in_view(void *context, int64 *counts) {
    const CountRequest &count_request = *count_request_of(context);
    const ViewReader &reader = *count_request.reader;
    const auto words = static_cast<size_t>(reader.format->row_words);
    const bool valid = for_each_condition(count_request, [&](uint32 i, const Condition &condition) {
        uint64 count = 0;
        for (uint32 j = 0; j < reader.tail_count; j++)
            count += matches(*reader.format, condition, reader.tail + j * words) ? 1 : 0;
        // The scans keep memory that outlives the box.
        MemoryContext caller = MemoryContextSwitchTo(reader.context);
        const bool counted = condition.nothing || count_in_runs(count_request, condition, &count);
        MemoryContextSwitchTo(caller);
        counts[i] = static_cast<int64>(count);
        return counted;
    });
    return valid ? Outcome::Counted : Outcome::Again;
}

// ---- less those without a visible row ---------------------------------------------------------------------

static void renew(void *context) {
    CountRequest *count_request = count_request_of(context);
    if (!count_request->is_view_new)
        take_new_view(count_request);
    count_request->is_view_new = false;
}

static void subtract(void *context, const EntryRows &rows, int64 *counts) {
    const CountRequest &count_request = *count_request_of(context);
    for_each_condition(count_request, [&](uint32 i, const Condition &condition) {
        CHECK_FOR_INTERRUPTS();
        counts[i] -= static_cast<int64>(count_rows(*count_request.reader->format, condition, rows));
        return true;
    });
}

// Counts by the directory in a view; false when that can't tell.
static bool count_by_directory(CountRequest *count_request, int64 *counts, uint64 *heap_fetches) {
    EntryCounter counter =
        entry_counter_of(*count_request->reader, CountedBy::Pages,
                         count_request->boxes != nullptr ? count_request->boxes->count : 1);
    counter.context = count_request;
    counter.renew = renew;
    counter.max_entries = count_request->condition != nullptr ? max_entries_in_view : nullptr;
    counter.count_entries = count_entries_in_view;
    counter.subtract = subtract;
    return count_visible_entries(counter, counts, heap_fetches);
}

// Adds what a count of the condition looks at, by the ranges of the view. Where blocks have changed the
// directory counts twice.
static void add_effort(const CountRequest &count_request, const Condition &condition, bool all_visible,
                       Effort *effort) {
    for (int i = 0; i < count_request.scan_count; i++) {
        const uint64 on_surface = entries_to_look_at(&count_request.scans[i], condition, false);
        effort->on_pages += (all_visible ? 1 : 2) * on_surface;
        effort->on_server +=
            all_visible ? on_surface : entries_to_look_at(&count_request.scans[i], condition, true);
    }
}

// Returns the effort of looking at the entries one by one, for boxes that the directory can't count.
static Effort one_by_one(const Effort &effort) {
    return {effort.on_server, effort.on_server};
}

// ---- one condition ----------------------------------------------------------------------------------------

// Adds the entries of the view that the directory was to count in; false when it went stale. Most ranges are
// found already.
static bool collect_in_view(CountRequest *count_request, VisibleCount *count) {
    ViewReader *reader = count_request->reader;
    const Condition &condition = *count_request->condition;
    const auto words = static_cast<size_t>(reader->format->row_words);
    auto *batch = allocate<Batch>(1);
    batch->rows = nullptr;
    batch->count = 0;
    for (uint32 i = 0; i < reader->tail_count; i++)
        if (matches(*reader->format, condition, reader->tail + i * words))
            batch->tids[batch->count++] = place_tid(reader->tail[i * words]);
    Step step = Step::Entry;
    for (int run = 0; step != Step::Recycled && run <= count_request->scan_count; run++) {
        if (run < count_request->scan_count && count_request->scans[run].found)
            rewind_run_scan(&count_request->scans[run]);
        do {
            check_tids(reader, *batch);
            storage::check_snapshot_of_view(reader->index, reader->format, reader->snapshot);
            add_entries(count, batch->tids, batch->count);
            batch->count = 0;
            step = run < count_request->scan_count ? next_batch(&count_request->scans[run], condition, batch)
                                                   : Step::End;
        } while (step == Step::Entry);
        if (step == Step::Recycled)
            confirm_recycled(*reader, reader->view.runs[run], recycled_position(count_request->scans[run]));
    }
    pfree(batch);
    count->vacuum_seq = reader->view.vacuum_seq;
    return step != Step::Recycled;
}

namespace {

// The entries of one condition, for count_by_tid.
struct Entries {
    CountRequest *count_request;  // in whose view they are counted first, if there is one
    ViewReader *reader;
};

}  // namespace

static void collect_counted(void *context, VisibleCount *count) {
    const auto *entries = static_cast<Entries *>(context);
    CountRequest *count_request = entries->count_request;
    const bool collected = count_request->scans != nullptr && collect_in_view(count_request, count);
    end_scans(count_request);
    if (collected)
        return;
    reset_count(count);
    drain(entries->reader,
          BatchSink{count, [](void *sink) { reset_count(static_cast<VisibleCount *>(sink)); },
                    [](void *sink, Batch *batch) {
                        add_entries(static_cast<VisibleCount *>(sink), batch->tids, batch->count);
                    }});
}

namespace {

// The methods by which a condition's rows may be counted without a look at each entry on pages.
struct Counters {
    bool directory;
    bool server;
};

}  // namespace

// Has the server count where its path is forced, else whoever takes less; false when entries must be looked
// at one by one. `reader` takes the condition's rows, the request's all; it may have a view afterwards.
static bool count_together(ViewReader *reader, CountRequest *count_request, Counters counters, int64 *count,
                           uint64 *heap_fetches) {
    BoxList list;
    const bool may_travel = counters.server && client::may_use_server(1, 1) &&
                            begin_boxes(&list, reader->format, 1) && add_box(&list, *reader->condition);
    if (may_travel && client::is_path_forced() &&
        count_on_server(reader, list, nullptr, Effort{}, count, heap_fetches))
        return true;
    Effort effort = {};
    if (may_travel && !client::is_path_forced()) {
        take_new_view(count_request);
        add_effort(*count_request, *reader->condition, is_table_all_visible(reader->heap), &effort);
    }
    return (counters.directory && effort.on_pages >= kFewestEntries &&
            count_on_server(reader, list, nullptr, effort, count, heap_fetches)) ||
           (counters.directory && count_by_directory(count_request, count, heap_fetches)) ||
           (effort.on_server >= kFewestEntries &&
            count_on_server(reader, list, nullptr, one_by_one(effort), count, heap_fetches));
}

static int64 count_condition(Relation heap, Relation index, const Format *format, Snapshot snapshot,
                             const Condition &condition, Counters counters, uint64 *heap_fetches) {
    int64 count = 0;
    Condition everything;
    make_condition(*format, nullptr, 0, &everything);
    auto *reader = allocate<ViewReader>(1);
    auto *all_rows = allocate<ViewReader>(1);
    begin_view_reader(reader, heap, index, format, snapshot, &condition);
    begin_view_reader(all_rows, heap, index, format, snapshot, &everything);
    CountRequest count_request = {all_rows, &condition, nullptr, nullptr, 0, false};
    if (!count_together(reader, &count_request, counters, &count, heap_fetches)) {
        Entries entries = {&count_request, reader};
        count = count_by_tid(heap, index, format, snapshot, collect_counted, &entries, heap_fetches);
        pgstat_count_index_scan(index);
    }
    end_scans(&count_request);
    end_view_reader(all_rows);
    end_view_reader(reader);
    client::note_request_done(index, client::RequestKind::CountGrid);
    return count;
}

static int64 count_one(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys,
                       int key_count, Counters counters, uint64 *heap_fetches) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid count", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    const Format *format = format_of(index);
    Condition condition;
    make_condition(*format, keys, key_count, &condition);
    *heap_fetches = 0;
    const int64 count =
        condition.nothing ? 0
                          : count_condition(heap, index, format, snapshot, condition, counters, heap_fetches);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return count;
}

int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches) {
    return count_one(heap, index, snapshot, keys, key_count, {true, true}, heap_fetches);
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
static Effort expected_effort(CountRequest *count_request) {
    constexpr uint32 kSamples = 8;
    const ViewReader *reader = count_request->reader;
    const RangeReader &boxes = *count_request->boxes;
    const bool all_visible = is_table_all_visible(reader->heap);
    take_new_view(count_request);
    Effort effort = {};
    for (uint32 i = 0; i < kSamples; i++) {
        ScanKeyData keys[2 * kMaxColumns];
        Condition condition;
        const auto box = static_cast<uint32>(uint64{i} * boxes.count / kSamples);
        make_condition(*reader->format, keys, boxes.read(boxes.context, box, keys), &condition);
        for (int run = 0; run < count_request->scan_count; run++)
            reset_run_scan(&count_request->scans[run]);
        if (!condition.nothing)
            add_effort(*count_request, condition, all_visible, &effort);
    }
    return {effort.on_pages / kSamples * boxes.count, effort.on_server / kSamples * boxes.count};
}

// Counts all boxes at once; false when they must be counted one by one. The server isn't asked when one of
// them is more than a box.
static bool count_batch_together(CountRequest *count_request, int64 *counts) {
    ViewReader *reader = count_request->reader;
    const RangeReader &boxes = *count_request->boxes;
    BoxList list;
    uint64 heap_fetches;
    const bool may_travel = boxes.count > 0 && client::may_use_server(boxes.count, kFewestBoxes) &&
                            begin_boxes(&list, reader->format, boxes.count) &&
                            add_boxes(*reader->format, boxes, &list);
    const bool is_forced = client::is_path_forced();
    Effort effort = {};
    if (may_travel && !is_forced)
        effort = expected_effort(count_request);
    end_scans(count_request);
    if (may_travel && count_on_server(reader, list, &boxes, effort, counts, &heap_fetches))
        return true;
    count_request->is_view_new = false;
    const client::PagedRequest request = client::begin_paged(client::RequestKind::CountGrid, boxes.count);
    const bool counted = count_by_directory(count_request, counts, &heap_fetches);
    end_scans(count_request);
    if (counted) {
        client::end_paged(request);
        return true;
    }
    return may_travel && !is_forced &&
           count_on_server(reader, list, &boxes, one_by_one(effort), counts, &heap_fetches);
}

// Counts box by box. A server that didn't answer for all boxes together isn't asked about each of them.
static void count_one_by_one(Relation heap, Relation index, Snapshot snapshot, const RangeReader &boxes,
                             int64 *counts) {
    const client::PagedRequest request = client::begin_paged(client::RequestKind::CountGrid, boxes.count);
    // The map tells once whether it is worth asking the directory for each box.
    const Counters counters = {is_table_all_visible(heap),
                               !client::may_use_server(boxes.count, kFewestBoxes)};
    for_each_range(boxes, [&](uint32 i, const ScanKeyData *keys, int key_count) {
        uint64 heap_fetches;
        counts[i] = count_one(heap, index, snapshot, keys, key_count, counters, &heap_fetches);
        return true;
    });
    client::end_paged(request);
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
    CountRequest count_request = {reader, nullptr, &boxes, nullptr, 0, false};
    if (!count_batch_together(&count_request, counts))
        count_one_by_one(heap, index, snapshot, boxes, counts);
    client::note_request_done(index, client::RequestKind::CountGrid);
    end_view_reader(reader);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
}

bool fetches_all(const IndexPath *) {
    return false;
}

}  // namespace pg_gpu::grid
