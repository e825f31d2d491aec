// Counting boxes with the server's help.
#include <algorithm>

#include "grid/entry_search.h"
#include "grid/mirror.h"
#include "table/table.h"
#include "request_kinds.h"

namespace pg_gpu::grid {

namespace {

// Boxes, and who counts their rows.
struct CountRequest {
    ViewReader *reader;
    const Condition *condition;  // condition of the rows in all boxes
    Condition everything;
    const BoxList *boxes;
    const RangeReader *ranges;
    RowChecker checker;
    LocalRuns local;
    uint64 expected;     // expected number of entries, or 0 where nobody knows
    bool may_count_all;  // all entries, and take those off that have no visible row
    bool counts_all;     // does so in this view
    bool uses_server;
    uint64 heap_fetches;
};

}  // namespace

// ---- on the server ----------------------------------------------------------------------------------------

// Adds what the runs hold; false when the server doesn't answer.
static bool count_run_entries(CountRequest *count_request, const client::MirrorFormat *format,
                              const client::Choice &choice, int64 *counts) {
    const client::RunSet set = run_set(*count_request->reader, format);
    const Boxes boxes = boxes_of(*count_request->boxes);
    client::VisibleBlocks visible = {};
    visible.all = count_request->counts_all;
    if (!count_request->counts_all)
        visible = read_visible_blocks(&count_request->checker.rows, count_request->checker.index,
                                      table::Scope::SomeRows, count_request->expected);
    auto *result = allocate<client::CountResult>(1);
    bool answered = true;
    for (uint64 done = 0; answered && done < boxes.count;) {
        CHECK_FOR_INTERRUPTS();
        answered = count_grid(set, choice, boxes, done, visible, result) && result->items > 0;
        if (answered) {
            add_server_counts(&count_request->checker, set, *result, counts + done);
            done += result->items;
        }
    }
    pfree(result);
    return answered;
}

// ---- local runs -------------------------------------------------------------------------------------------

// Finds out which of the entries count.
static void check_entries(CountRequest *count_request, BlockNumber index_block, const ItemPointerData *tids,
                          uint32 count, bool *counted) {
    if (count_request->counts_all)
        memset(counted, true, count * sizeof(bool));
    else
        check_rows(&count_request->checker, index_block, tids, count, counted);
}

// Adds how many rows lie in each box, so many times; `counted` may be nullptr.
static void add_rows(const BoxList &boxes, const uint64 *rows, const bool *counted, uint64 count, int times,
                     int64 *counts) {
    const auto words = static_cast<size_t>(boxes.format->row_words);
    for (uint64 i = 0; i < count; i++) {
        CHECK_FOR_INTERRUPTS();
        if (counted != nullptr && !counted[i])
            continue;
        for (uint32 box = 0; box < boxes.count; box++)
            counts[box] += is_in_box(boxes, box, rows + i * words) ? times : 0;
    }
}

// Adds what the tail holds for each box.
static void count_tail_rows(CountRequest *count_request, int64 *counts) {
    const ViewReader &reader = *count_request->reader;
    const auto words = static_cast<size_t>(reader.format->row_words);
    auto *tids = allocate<ItemPointerData>(reader.tail_count + 1);
    auto *counted = allocate<bool>(reader.tail_count + 1);
    for (uint32 i = 0; i < reader.tail_count; i++)
        tids[i] = place_tid(reader.tail[i * words]);
    check_entries(count_request, storage::kTailBlock, tids, reader.tail_count, counted);
    add_rows(*count_request->boxes, reader.tail, counted, reader.tail_count, 1, counts);
    pfree(counted);
    pfree(tids);
}

namespace {

// Entries of local runs, each with the box that it is in, until enough have come for a look at their rows.
struct LocalEntries {
    static constexpr uint32 kMax = 16 * kMaxOnPage;
    CountRequest *count_request;
    int64 *counts;
    uint32 count;
    ItemPointerData tids[kMax];
    uint32 boxes[kMax];
    bool counted[kMax];
};

}  // namespace

static void add_counted(LocalEntries *entries) {
    check_entries(entries->count_request, storage::kMetaBlock, entries->tids, entries->count,
                  entries->counted);
    for (uint32 i = 0; i < entries->count; i++)
        entries->counts[entries->boxes[i]] += entries->counted[i] ? 1 : 0;
    entries->count = 0;
}

// Adds one box's entries of the runs; false when a page was recycled.
static bool add_local_entries(const ViewReader &reader, const LocalRuns &local, RunScan *scans,
                              const Condition &condition, uint32 box, Batch *batch, LocalEntries *entries) {
    for (int run = 0; run < local.count; run++) {
        reset_run_scan(&scans[run]);
        Step step;
        while ((step = next_batch(&scans[run], condition, batch)) == Step::Entry) {
            if (entries->count + batch->count > LocalEntries::kMax)
                add_counted(entries);
            memcpy(entries->tids + entries->count, batch->tids, batch->count * sizeof(ItemPointerData));
            std::fill_n(entries->boxes + entries->count, batch->count, box);
            entries->count += batch->count;
        }
        if (step == Step::Recycled) {
            confirm_recycled(reader, local.runs[run], recycled_position(scans[run]));
            return false;
        }
    }
    return true;
}

// Adds what the local runs hold, which are searched for each box as pages are that answer for all runs.
// false when a page was recycled.
static bool count_local_entries(CountRequest *count_request, int64 *counts) {
    const ViewReader &reader = *count_request->reader;
    const LocalRuns &local = count_request->local;
    const RangeReader &ranges = *count_request->ranges;
    MemoryContext box_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid box", ALLOCSET_SMALL_SIZES);
    RunScan *scans = begin_run_scans(reader, local.runs, local.count);
    auto *batch = allocate<Batch>(1);
    batch->rows = nullptr;
    auto *entries = allocate<LocalEntries>(1);
    entries->count_request = count_request;
    entries->counts = counts;
    entries->count = 0;
    bool valid = true;
    for (uint32 box = 0; valid && box < ranges.count; box++) {
        CHECK_FOR_INTERRUPTS();
        ScanKeyData keys[2 * kMaxColumns];
        Condition condition;
        MemoryContextReset(box_context);
        MemoryContext caller = MemoryContextSwitchTo(box_context);
        make_condition(*reader.format, keys, ranges.read(ranges.context, box, keys), &condition);
        MemoryContextSwitchTo(caller);
        valid = condition.nothing || add_local_entries(reader, local, scans, condition, box, batch, entries);
    }
    if (valid)
        add_counted(entries);
    end_run_scans(scans, local.count);
    pfree(entries);
    pfree(batch);
    MemoryContextDelete(box_context);
    return valid;
}

// ---- all entries, less those without a visible row
// ---------------------------------------------------------

static CountRequest *count_request_of(void *context) {
    return static_cast<CountRequest *>(context);
}

// Takes a new view for a look at all entries.
static void renew(void *context) {
    CountRequest *count_request = count_request_of(context);
    count_request->reader->condition = &count_request->everything;
    renew_view(count_request->reader);
}

static void subtract(void *context, const EntryRows &rows, int64 *counts) {
    add_rows(*count_request_of(context)->boxes, rows.rows, nullptr, rows.count, -1, counts);
}

// Takes the entries of the view off whose rows the snapshot doesn't see.
static Outcome take_off_in_view(CountRequest *count_request, client::Path path, int64 *counts) {
    ViewReader *reader = count_request->reader;
    // Runs that the session has read itself are part of the view again.
    for (int i = 0; i < count_request->local.count; i++)
        reader->view.runs[reader->view.run_count++] = count_request->local.runs[i];
    uint64 entries = 0;
    for (uint32 i = 0; i < count_request->boxes->count; i++)
        entries += static_cast<uint64>(counts[i]);
    EntryCounter counter = entry_counter_of(*reader, CountedBy::Server, count_request->boxes->count);
    counter.context = count_request;
    counter.renew = renew;
    counter.subtract = subtract;
    return take_off_invisible(counter, entries_on_pages(path, entries), counts, &count_request->heap_fetches);
}

// ---- the counts of a view ---------------------------------------------------------------------------------

// A local run of more entries is searched for each of many boxes, rather than that each of its rows is
// compared with all of them.
static constexpr uint32 kFewBoxes = 64;
static constexpr uint64 kMaxCompared = 1024;

// Counts in the reader's view. Unknown: the server process isn't asked, or doesn't answer.
static Outcome count_in_view(CountRequest *count_request, const client::MirrorFormat *format,
                             const Effort &effort, int64 *counts) {
    ViewReader *reader = count_request->reader;
    const uint32 boxes = count_request->boxes->count;
    uint64 entries = 0;
    for (int i = 0; i < reader->view.run_count; i++)
        entries += reader->view.runs[i].entries;
    const bool *is_local;
    const client::Choice choice =
        choose_path(*reader, format, client::RequestKind::CountGrid, boxes, effort, &is_local);
    if (choice.path == client::Path::Paged) {
        count_request->uses_server = false;
        return Outcome::Unknown;
    }
    if (!read_local_runs(reader, is_local, boxes <= kFewBoxes ? PG_UINT64_MAX : kMaxCompared,
                         &count_request->local))
        return Outcome::Again;
    count_request->counts_all =
        count_request->may_count_all && may_count_all(count_request->checker, choice.path, entries);
    if (!count_run_entries(count_request, format, choice, counts)) {
        count_request->uses_server = client::may_share_out_again();
        return Outcome::Unknown;
    }
    count_tail_rows(count_request, counts);
    if (count_request->local.count > 0 && !count_local_entries(count_request, counts))
        return Outcome::Again;
    count_request->heap_fetches = count_request->checker.rows.fetches;
    if (!count_request->counts_all)
        return Outcome::Counted;
    const Outcome outcome = take_off_in_view(count_request, choice.path, counts);
    note_counted_all(count_request->checker, outcome);
    count_request->may_count_all = outcome != Outcome::Unknown;
    return outcome;
}

bool count_on_server(ViewReader *reader, const BoxList &boxes, const RangeReader *ranges,
                     const Effort &effort, int64 *counts, uint64 *heap_fetches) {
    const client::MirrorFormat *format = mirror_format(reader->index);
    CountRequest count_request = {};
    count_request.reader = reader;
    count_request.condition = reader->condition;
    make_condition(*reader->format, nullptr, 0, &count_request.everything);
    count_request.boxes = &boxes;
    count_request.ranges = ranges;
    count_request.expected = effort.on_pages;
    // Elsewhere the directory has tried that before.
    count_request.may_count_all = client::is_path_forced();
    count_request.uses_server = true;
    begin_row_checker(&count_request.checker, reader->heap, reader->index, reader->snapshot);
    bool valid = false;
    for (int tries = 0; count_request.uses_server && !valid && tries < kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        memset(counts, 0, boxes.count * sizeof(int64));
        count_request.checker.rows.fetches = 0;
        reader->condition = count_request.condition;
        renew_view(reader);
        valid = count_in_view(&count_request, format, effort, counts) == Outcome::Counted &&
                storage::read_vacuum_seq(reader->index, reader->format) == reader->view.vacuum_seq;
    }
    reader->condition = count_request.condition;
    *heap_fetches = count_request.heap_fetches;
    end_row_checker(&count_request.checker);
    if (valid)
        pgstat_count_index_scan(reader->index);
    return valid;
}

}  // namespace pg_gpu::grid
