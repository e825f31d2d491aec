// Counting boxes with the server's help.
#include <algorithm>

#include "grid/entry_search.h"
#include "grid/mirror.h"
#include "table/table.h"
#include "request_kinds.h"

namespace pg_gpu::grid {

namespace {

// Boxes, and who counts their rows.
struct Question {
    ViewReader *reader;
    const Condition *condition;  // of the rows in all boxes
    Condition everything;
    const BoxList *boxes;
    const RangeReader *ranges;
    RowChecker checker;
    HomeRuns home;
    uint64 expected;     // as many entries, or 0 where nobody knows
    bool may_count_all;  // all entries, and take those off that have no visible row
    bool counts_all;     // does so in this view
    bool is_server_asked;
    uint64 heap_fetches;
};

}  // namespace

// ---- on the server ----------------------------------------------------------------------------------------

// Adds what the runs hold; false when the server doesn't answer.
static bool count_run_entries(Question *question, const client::MirrorFormat *format,
                              const client::Choice &choice, int64 *counts) {
    const client::RunSet set = run_set(*question->reader, format);
    const Boxes boxes = boxes_of(*question->boxes);
    client::VisibleBlocks visible = {};
    visible.all = question->counts_all;
    if (!question->counts_all)
        visible = read_visible_blocks(&question->checker.rows, question->checker.index,
                                      table::Scope::SomeRows, question->expected);
    auto *answer = allocate<client::CountAnswer>(1);
    bool answered = true;
    for (uint64 done = 0; answered && done < boxes.count;) {
        CHECK_FOR_INTERRUPTS();
        answered = count_grid(set, choice, boxes, done, visible, answer) && answer->items > 0;
        if (answered) {
            add_server_counts(&question->checker, set, *answer, counts + done);
            done += answer->items;
        }
    }
    pfree(answer);
    return answered;
}

// ---- at home ----------------------------------------------------------------------------------------------

// Which of the entries count?
static void check_entries(Question *question, BlockNumber index_block, const ItemPointerData *tids,
                          uint32 count, bool *counted) {
    if (question->counts_all)
        memset(counted, true, count * sizeof(bool));
    else
        check_rows(&question->checker, index_block, tids, count, counted);
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
static void count_tail_rows(Question *question, int64 *counts) {
    const ViewReader &reader = *question->reader;
    const auto words = static_cast<size_t>(reader.format->row_words);
    auto *tids = allocate<ItemPointerData>(reader.tail_count + 1);
    auto *counted = allocate<bool>(reader.tail_count + 1);
    for (uint32 i = 0; i < reader.tail_count; i++)
        tids[i] = place_tid(reader.tail[i * words]);
    check_entries(question, storage::kTailBlock, tids, reader.tail_count, counted);
    add_rows(*question->boxes, reader.tail, counted, reader.tail_count, 1, counts);
    pfree(counted);
    pfree(tids);
}

namespace {

// Entries of runs at home, each with the box that it is in, until enough have come for a look at their rows.
struct HomeEntries {
    static constexpr uint32 kMax = 16 * kMaxOnPage;
    Question *question;
    int64 *counts;
    uint32 count;
    ItemPointerData tids[kMax];
    uint32 boxes[kMax];
    bool counted[kMax];
};

}  // namespace

static void add_counted(HomeEntries *entries) {
    check_entries(entries->question, storage::kMetaBlock, entries->tids, entries->count, entries->counted);
    for (uint32 i = 0; i < entries->count; i++)
        entries->counts[entries->boxes[i]] += entries->counted[i] ? 1 : 0;
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
                add_counted(entries);
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
static bool count_home_entries(Question *question, int64 *counts) {
    const ViewReader &reader = *question->reader;
    const HomeRuns &home = question->home;
    const RangeReader &ranges = *question->ranges;
    MemoryContext box_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid box", ALLOCSET_SMALL_SIZES);
    RunScan *scans = begin_run_scans(reader, home.runs, home.count);
    auto *batch = allocate<Batch>(1);
    batch->rows = nullptr;
    auto *entries = allocate<HomeEntries>(1);
    entries->question = question;
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
        add_counted(entries);
    end_run_scans(scans, home.count);
    pfree(entries);
    pfree(batch);
    MemoryContextDelete(box_context);
    return sound;
}

// ---- all entries, less those without a visible row
// ---------------------------------------------------------

static Question *question_of(void *context) {
    return static_cast<Question *>(context);
}

// For a look at all entries.
static void renew(void *context) {
    Question *question = question_of(context);
    question->reader->condition = &question->everything;
    renew_view(question->reader);
}

static void subtract(void *context, const EntryRows &rows, int64 *counts) {
    add_rows(*question_of(context)->boxes, rows.rows, nullptr, rows.count, -1, counts);
}

// Takes the entries of the view off whose rows the snapshot doesn't see.
static Outcome take_off_in_view(Question *question, client::Path path, int64 *counts) {
    ViewReader *reader = question->reader;
    // Runs that the session has read itself are part of the view again.
    for (int i = 0; i < question->home.count; i++)
        reader->view.runs[reader->view.run_count++] = question->home.runs[i];
    uint64 entries = 0;
    for (uint32 i = 0; i < question->boxes->count; i++)
        entries += static_cast<uint64>(counts[i]);
    EntryCounter counter = entry_counter_of(*reader, CountedBy::Server, question->boxes->count);
    counter.context = question;
    counter.renew = renew;
    counter.subtract = subtract;
    return take_off_invisible(counter, entries_on_pages(path, entries), counts, &question->heap_fetches);
}

// ---- the counts of a view ---------------------------------------------------------------------------------

// A run at home of more entries is searched for each of many boxes, rather than that each of its rows is
// compared with all of them.
static constexpr uint32 kFewBoxes = 64;
static constexpr uint64 kMaxCompared = 1024;

// Counts in the reader's view. Unknown: the server process isn't asked, or doesn't answer.
static Outcome count_in_view(Question *question, const client::MirrorFormat *format, const Effort &effort,
                             int64 *counts) {
    ViewReader *reader = question->reader;
    const uint32 boxes = question->boxes->count;
    uint64 entries = 0;
    for (int i = 0; i < reader->view.run_count; i++)
        entries += reader->view.runs[i].entries;
    const bool *at_home;
    const client::Choice choice =
        choose_path(*reader, format, client::RequestKind::CountGrid, boxes, effort, &at_home);
    if (choice.path == client::Path::Paged) {
        question->is_server_asked = false;
        return Outcome::Unknown;
    }
    if (!read_at_home(reader, at_home, boxes <= kFewBoxes ? PG_UINT64_MAX : kMaxCompared, &question->home))
        return Outcome::Again;
    question->counts_all = question->may_count_all && may_count_all(question->checker, choice.path, entries);
    if (!count_run_entries(question, format, choice, counts)) {
        question->is_server_asked = client::may_share_out_again();
        return Outcome::Unknown;
    }
    count_tail_rows(question, counts);
    if (question->home.count > 0 && !count_home_entries(question, counts))
        return Outcome::Again;
    question->heap_fetches = question->checker.rows.fetches;
    if (!question->counts_all)
        return Outcome::Counted;
    const Outcome outcome = take_off_in_view(question, choice.path, counts);
    note_counted_all(question->checker, outcome);
    question->may_count_all = outcome != Outcome::Unknown;
    return outcome;
}

bool count_on_server(ViewReader *reader, const BoxList &boxes, const RangeReader *ranges,
                     const Effort &effort, int64 *counts, uint64 *heap_fetches) {
    const client::MirrorFormat *format = mirror_format(reader->index);
    Question question = {};
    question.reader = reader;
    question.condition = reader->condition;
    make_condition(*reader->format, nullptr, 0, &question.everything);
    question.boxes = &boxes;
    question.ranges = ranges;
    question.expected = effort.on_pages;
    // Elsewhere the directory has tried that before.
    question.may_count_all = client::is_path_forced();
    question.is_server_asked = true;
    begin_row_checker(&question.checker, reader->heap, reader->index, reader->snapshot);
    bool sound = false;
    for (int tries = 0; question.is_server_asked && !sound && tries < kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        memset(counts, 0, boxes.count * sizeof(int64));
        question.checker.rows.fetches = 0;
        reader->condition = question.condition;
        renew_view(reader);
        sound = count_in_view(&question, format, effort, counts) == Outcome::Counted &&
                storage::read_vacuum_seq(reader->index, reader->format) == reader->view.vacuum_seq;
    }
    reader->condition = question.condition;
    *heap_fetches = question.heap_fetches;
    end_row_checker(&question.checker);
    if (sound)
        pgstat_count_index_scan(reader->index);
    return sound;
}

}  // namespace pg_gpu::grid
