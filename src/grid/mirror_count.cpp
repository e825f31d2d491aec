// Counting boxes with the server's help.
#include <algorithm>

#include "grid/mirror.h"
#include "table/server_count.h"

namespace pg_gpu::grid {

// Adds what the tail holds for each box.
static void count_tail_rows(RowChecker *checker, const ViewReader &reader, const BoxList &boxes,
                            int64 *counts) {
    const auto words = static_cast<size_t>(reader.format->row_words);
    auto *tids = allocate<ItemPointerData>(reader.tail_count + 1);
    auto *visible = allocate<bool>(reader.tail_count + 1);
    for (uint32 i = 0; i < reader.tail_count; i++)
        tids[i] = place_tid(reader.tail[i * words]);
    check_rows(checker, storage::kTailBlock, tids, reader.tail_count, visible);
    for (uint32 i = 0; i < reader.tail_count; i++) {
        CHECK_FOR_INTERRUPTS();
        for (uint32 box = 0; visible[i] && box < boxes.count; box++)
            counts[box] += is_in_box(boxes, box, reader.tail + i * words) ? 1 : 0;
    }
    pfree(visible);
    pfree(tids);
}

// Adds what the runs hold; false when the server doesn't answer.
static bool count_run_entries(RowChecker *checker, const client::RunSet &set, const client::Choice &choice,
                              const client::Boxes &boxes, int64 *counts) {
    const client::VisibleBlocks visible = read_visible_blocks(&checker->rows, table::Scope::SomeRows);
    auto *answer = allocate<client::CountAnswer>(1);
    bool answered = true;
    for (uint64 done = 0; answered && done < boxes.count;) {
        CHECK_FOR_INTERRUPTS();
        answered = client::count_grid(set, choice, boxes, done, visible, answer) && answer->items > 0;
        if (answered) {
            add_server_counts(checker, set, *answer, counts + done);
            done += answer->items;
        }
    }
    pfree(answer);
    return answered;
}

namespace {

// Entries of runs at home, each with the box that it is in, until enough have come for a look at their rows.
struct HomeEntries {
    static constexpr uint32 kMax = 16 * kMaxOnPage;
    RowChecker *checker;
    int64 *counts;
    uint32 count;
    ItemPointerData tids[kMax];
    uint32 boxes[kMax];
    bool visible[kMax];
};

}  // namespace

static void count_visible(HomeEntries *entries) {
    check_rows(entries->checker, storage::kMetaBlock, entries->tids, entries->count, entries->visible);
    for (uint32 i = 0; i < entries->count; i++)
        entries->counts[entries->boxes[i]] += entries->visible[i] ? 1 : 0;
    entries->count = 0;
}

// Adds one box's entries of the runs; false when a page was recycled.
static bool add_home_entries(const ViewReader &reader, const HomeRuns &home, RunScan *scans,
                             const Condition &condition, uint32 box, Batch *batch, HomeEntries *entries) {
    for (int run = 0; run < home.count; run++) {
        reset_run_scan(&scans[run]);
        Step step;
        while ((step = next_batch(&scans[run], condition, batch)) == Step::Entry) {
            if (entries->count + batch->count > HomeEntries::kMax)
                count_visible(entries);
            memcpy(entries->tids + entries->count, batch->tids, batch->count * sizeof(ItemPointerData));
            std::fill_n(entries->boxes + entries->count, batch->count, box);
            entries->count += batch->count;
        }
        if (step == Step::Recycled) {
            confirm_recycled(reader, home.runs[run], recycled_position(scans[run]));
            return false;
        }
    }
    return true;
}

// Adds what the runs at home hold, which are searched for each box as pages are that answer for all runs.
// false when a page was recycled.
static bool count_home_entries(RowChecker *checker, const ViewReader &reader, const HomeRuns &home,
                               const RangeReader &ranges, int64 *counts) {
    MemoryContext box_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid box", ALLOCSET_SMALL_SIZES);
    RunScan *scans = begin_run_scans(reader, home.runs, home.count);
    auto *batch = allocate<Batch>(1);
    batch->rows = nullptr;
    auto *entries = allocate<HomeEntries>(1);
    entries->checker = checker;
    entries->counts = counts;
    entries->count = 0;
    bool sound = true;
    for (uint32 box = 0; sound && box < ranges.count; box++) {
        CHECK_FOR_INTERRUPTS();
        ScanKeyData keys[2 * kMaxColumns];
        Condition condition;
        MemoryContextReset(box_context);
        MemoryContext caller = MemoryContextSwitchTo(box_context);
        make_condition(*reader.format, keys, ranges.read(ranges.context, box, keys), &condition);
        MemoryContextSwitchTo(caller);
        sound = condition.nothing || add_home_entries(reader, home, scans, condition, box, batch, entries);
    }
    if (sound)
        count_visible(entries);
    end_run_scans(scans, home.count);
    pfree(entries);
    pfree(batch);
    MemoryContextDelete(box_context);
    return sound;
}

// A run at home of more entries is searched for each of many boxes, rather than that each of its rows is
// compared with all of them.
static constexpr uint32 kFewBoxes = 64;
static constexpr uint64 kMaxCompared = 1024;

bool count_on_server(ViewReader *reader, const BoxList &boxes, const RangeReader *ranges,
                     const Effort &effort, int64 *counts, uint64 *heap_fetches) {
    const client::MirrorFormat *format = mirror_format(reader->index);
    RowChecker checker;
    begin_row_checker(&checker, reader->heap, reader->index, reader->snapshot);
    bool answered = true;
    bool sound = false;
    for (int tries = 0; answered && !sound && tries < kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        memset(counts, 0, boxes.count * sizeof(int64));
        checker.rows.fetches = 0;
        renew_view(reader);
        const bool *at_home;
        const client::Choice choice =
            choose_path(*reader, format, client::RequestKind::CountGrid, boxes.count, effort, &at_home);
        answered = choice.path != client::Path::Paged;
        HomeRuns home;
        if (!answered ||
            !read_at_home(reader, at_home, boxes.count <= kFewBoxes ? PG_UINT64_MAX : kMaxCompared, &home))
            continue;
        if (!count_run_entries(&checker, run_set(*reader, format), choice, boxes_of(boxes), counts)) {
            answered = client::may_share_out_again();
            continue;
        }
        count_tail_rows(&checker, *reader, boxes, counts);
        if (home.count > 0 && !count_home_entries(&checker, *reader, home, *ranges, counts))
            continue;
        sound = storage::read_vacuum_seq(reader->index, reader->format) == reader->view.vacuum_seq;
    }
    *heap_fetches = checker.rows.fetches;
    end_row_checker(&checker);
    if (answered && sound)
        pgstat_count_index_scan(reader->index);
    return answered && sound;
}

}  // namespace pg_gpu::grid
