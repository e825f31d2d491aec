#include "grid/entry_search.h"

#include <algorithm>

namespace pg_gpu::grid {

// The cost of searching a run for a row, in entries looked at one by one.
static constexpr uint64 kCostOfSearch = 64;

// Entries of cells whose codes are compared take so much less than entries of a count.
static constexpr uint64 kComparedPerEntry = 8;

// ---- rows in order ----------------------------------------------------------------------------------------

// Compares the first lane first, and the place, which has the NULLs, last.
static int compare_rows(const uint64 *a, const uint64 *b, uint64 words) {
    for (uint64 i = 1; i < words; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return a[0] == b[0] ? 0 : (a[0] < b[0] ? -1 : 1);
}

static bool have_same_codes(const uint64 *a, const uint64 *b, uint64 words) {
    return place_nulls(a[0]) == place_nulls(b[0]) && memcmp(a + 1, b + 1, (words - 1) * sizeof(uint64)) == 0;
}

// Sorts rows, and leaves each once. Rows of the same codes and NULLs stand together, but for those of which a
// NULL has the code of others' values.
static void sort_rows(EntryRows *rows) {
    const uint64 words = rows->words;
    auto *order = allocate<const uint64 *>(rows->count + 1);
    for (uint64 i = 0; i < rows->count; i++)
        order[i] = row_at(*rows, i);
    std::sort(order, order + rows->count,
              [words](const uint64 *a, const uint64 *b) { return compare_rows(a, b, words) < 0; });
    auto *sorted = allocate<uint64>(rows->count * words + 1);
    uint64 count = 0;
    for (uint64 i = 0; i < rows->count; i++) {
        if (i > 0 && compare_rows(order[i - 1], order[i], words) == 0)
            continue;
        memcpy(sorted + count++ * words, order[i], words * sizeof(uint64));
    }
    memcpy(rows->rows, sorted, count * words * sizeof(uint64));
    rows->count = count;
    pfree(sorted);
    pfree(order);
}

// Returns the number of the row among [first, end), or `end`.
static uint64 find_row(const EntryRows &rows, uint64 first, uint64 end, const uint64 *row) {
    uint64 low = first;
    uint64 high = end;
    while (low < high) {
        const uint64 middle = low + (high - low) / 2;
        if (compare_rows(row_at(rows, middle), row, rows.words) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && compare_rows(row_at(rows, low), row, rows.words) == 0 ? low : end;
}

// ---- which of them the view has ---------------------------------------------------------------------------

namespace {

struct Search {
    const ViewReader *reader;
    CountedBy counted_by;
    EntryRows *rows;
    bool *listed;
    Batch *batch;
    uint64 budget;
};

}  // namespace

// Makes a condition that all entries with a row's codes meet. Where two lanes of columns are one dimension,
// it compares only the upper lane, so other entries may meet it too.
static Condition condition_of(const Format &format, const uint64 *row) {
    Condition condition = {};
    condition.nulls = place_nulls(row[0]);
    condition.not_nulls = static_cast<NullMask>(format.all_null & ~condition.nulls);
    condition.bounded = condition.not_nulls;
    for (int lane = 0; lane < format.lane_count; lane++)
        condition.lanes[lane] = {row[1 + lane], row[1 + lane], row[1 + lane], row[1 + lane]};
    return condition;
}

// Marks a row that an entry of the batch has. Unknown when the server process may have counted the entry or
// not.
static Outcome mark_listed(Search *search, const RunScan &scan, uint32 i, uint64 row) {
    bool dead = false;
    if (search->counted_by == CountedBy::Server && !read_dead_bit(scan, i, &dead))
        return Outcome::Again;
    search->listed[row] = true;
    return dead ? Outcome::Unknown : Outcome::Counted;
}

// Marks the rows among [first, end), whose codes are the same, that counted entries of a run have.
static Outcome find_in_run(Search *search, RunScan *scan, uint64 first, uint64 end) {
    const Format &format = *search->reader->format;
    const Condition condition = condition_of(format, row_at(*search->rows, first));
    reset_run_scan(scan);
    if (!find_matches(scan, condition))
        return Outcome::Again;
    uint64 compared = 0;
    for (uint64 i = 0; i < scan->ranges.count; i++)
        compared += scan->ranges.ranges[i].end - scan->ranges.ranges[i].begin;
    if (compared / kComparedPerEntry > search->budget)
        return Outcome::Unknown;
    search->budget -= compared / kComparedPerEntry;
    Outcome outcome = Outcome::Counted;
    Step step = Step::Entry;
    while (outcome == Outcome::Counted && (step = next_batch(scan, condition, search->batch)) == Step::Entry)
        for (uint32 i = 0; outcome == Outcome::Counted && i < search->batch->count; i++) {
            const uint64 *row = search->batch->rows + i * search->rows->words;
            const uint64 found = find_row(*search->rows, first, end, row);
            if (found != end)
                outcome = mark_listed(search, *scan, i, found);
        }
    return step == Step::Recycled ? Outcome::Again : outcome;
}

static Outcome find_in_runs(Search *search) {
    const ViewReader &reader = *search->reader;
    const EntryRows &rows = *search->rows;
    RunScan *scans = begin_run_scans(reader, reader.view.runs, reader.view.run_count);
    Outcome outcome = Outcome::Counted;
    for (int run = 0; outcome == Outcome::Counted && run < reader.view.run_count; run++) {
        scans[run].keeps_dead = search->counted_by == CountedBy::Server;
        for (uint64 first = 0, end; outcome == Outcome::Counted && first < rows.count; first = end) {
            CHECK_FOR_INTERRUPTS();
            for (end = first + 1;
                 end < rows.count && have_same_codes(row_at(rows, first), row_at(rows, end), rows.words);
                 end++) {}
            outcome = find_in_run(search, &scans[run], first, end);
        }
        if (outcome == Outcome::Again)
            confirm_recycled(reader, reader.view.runs[run], recycled_position(scans[run]));
    }
    end_run_scans(scans, reader.view.run_count);
    return outcome;
}

static const ViewReader &reader_of(const void *source) {
    return *static_cast<const ViewReader *>(source);
}

// Leaves those rows that counted entries of the view have, by their first lane. Unknown when more than
// `budget` entries must be looked at for that.
static Outcome keep_listed(const void *source, CountedBy counted_by, EntryRows *rows, uint64 budget) {
    const ViewReader &reader = reader_of(source);
    sort_rows(rows);
    Search search = {&reader, counted_by, rows, allocate_zeroed<bool>(rows->count + 1), allocate<Batch>(1),
                     budget};
    search.batch->rows = allocate<uint64>(kMaxOnPage * rows->words);
    for (uint32 i = 0; i < reader.tail_count; i++) {
        const uint64 found = find_row(*rows, 0, rows->count, reader.tail + i * rows->words);
        if (found != rows->count)
            search.listed[found] = true;
    }
    const Outcome outcome = find_in_runs(&search);
    uint64 kept = 0;
    for (uint64 i = 0; i < rows->count; i++) {
        if (!search.listed[i])
            continue;
        if (kept != i)
            memcpy(row_at(*rows, kept), row_at(*rows, i), rows->words * sizeof(uint64));
        kept++;
    }
    rows->count = kept;
    pfree(search.batch->rows);
    pfree(search.batch);
    pfree(search.listed);
    return outcome;
}

// ---- entries of wanted line pointers ----------------------------------------------------------------------

// Looks at a page's TIDs. false when the page was recycled; *position is its.
static bool look_at_page(const ViewReader &reader, PageCursor *cursor, uint32 number, WantedPointers *wanted,
                         uint32 *position) {
    *position = cursor->run->sections[kEntrySection].first_page + number;
    if (!enter_page(cursor, number))
        return false;
    const EntryPage &page = cursor->page;
    for (uint32 i = 0; i < page.count; i++) {
        const ItemPointerData tid = read_tid(page, i);
        if (unlikely(is_wanted(*wanted, tid)))
            read_row(*reader.format, page, i, note_wanted(wanted, tid));
    }
    leave_page(cursor);
    return true;
}

static bool look_for(const void *source, WantedPointers *wanted) {
    const ViewReader &reader = reader_of(source);
    const auto words = static_cast<uint64>(reader.format->row_words);
    for (uint32 i = 0; i < reader.tail_count; i++) {
        const uint64 *row = reader.tail + i * words;
        if (is_wanted(*wanted, place_tid(row[0])))
            memcpy(note_wanted(wanted, place_tid(row[0])), row, words * sizeof(uint64));
    }
    bool valid = true;
    for (int i = 0; valid && i < reader.view.run_count; i++) {
        const storage::RunEntry &run = reader.view.runs[i];
        PageCursor cursor;
        uint32 position = 0;
        begin_pages(&cursor, reader.index, reader.format, &run);
        for (uint32 number = 0; valid && number < run.sections[kEntrySection].pages; number++) {
            CHECK_FOR_INTERRUPTS();
            valid = look_at_page(reader, &cursor, number, wanted, &position);
        }
        release_page(&cursor);
        if (!valid)
            confirm_recycled(reader, run, position);
    }
    return valid;
}

// ---- which of them match ----------------------------------------------------------------------------------

uint64 count_rows(const Format &format, const Condition &condition, const EntryRows &rows) {
    uint64 first = 0;
    // A condition on the first column's values leaves a span of the rows.
    const LaneRange &lane = condition.lanes[0];
    const bool is_bounded = (condition.bounded & 1) != 0 && (condition.nulls & 1) == 0;
    if (is_bounded) {
        uint64 end = rows.count;
        while (first < end) {
            const uint64 middle = first + (end - first) / 2;
            if (row_at(rows, middle)[1] < lane.low)
                first = middle + 1;
            else
                end = middle;
        }
    }
    uint64 count = 0;
    for (uint64 i = first; i < rows.count; i++) {
        const uint64 *row = row_at(rows, i);
        if (is_bounded && row[1] > lane.high)
            break;
        count += matches(format, condition, row) ? 1 : 0;
    }
    return count;
}

// ---- all of them together ---------------------------------------------------------------------------------

static void encode_entry(const void *source, const Datum *values, const bool *is_null,
                         const ItemPointerData &tid, uint64 *row) {
    encode_row(*reader_of(source).format, values, is_null, tid, row);
}

EntryCounter entry_counter_of(const ViewReader &reader, CountedBy counted_by, uint32 count) {
    EntryCounter counter = {};
    counter.heap = reader.heap;
    counter.index = reader.index;
    counter.kind = reader.format;
    counter.snapshot = reader.snapshot;
    counter.count = count;
    counter.view = &reader.view;
    counter.row_words = static_cast<uint64>(reader.format->row_words);
    counter.rows_identify_entries = do_rows_identify_entries(reader.heap, reader.index);
    counter.search_cost = kCostOfSearch;
    counter.subtract_cost = 1;
    counter.source = &reader;
    counter.counted_by = counted_by;
    counter.encode = encode_entry;
    counter.keep_listed = keep_listed;
    counter.look_for = look_for;
    return counter;
}

}  // namespace pg_gpu::grid
