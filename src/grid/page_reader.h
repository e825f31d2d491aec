// Entry pages are read for the matches of a condition, page by page.
#pragma once

#include "grid/directory.h"

namespace pg_gpu::grid {

inline constexpr uint32 kMaxOnPage = storage::kMaxTidsPerPage;

// This is an entry page that stays pinned while it is used again and again.
struct PageCursor {
    Relation index;
    const Format *format;
    const storage::RunEntry *run;
    storage::RunPage held;  // pinned
    uint32 number;          // number of the page
    EntryPage page;
};

void begin_pages(PageCursor *cursor, Relation index, const Format *format, const storage::RunEntry *run);

// Share-locks a page, and unlocks it. In between its arrays may be looked at. Returns false when the page was
// recycled.
bool enter_page(PageCursor *cursor, uint32 number);
void leave_page(PageCursor *cursor);
void release_page(PageCursor *cursor);

// Copies the page and takes the copy apart. Raises an ERROR when it cannot be an entry page.
void open_page_copy(Relation index, const Format &format, const storage::RunEntry &run, uint32 number,
                    const char *image, EntryPage *page);

// Returns an entry as a row in memory.
void read_row(const Format &format, const EntryPage &page, uint32 i, uint64 *row);
ItemPointerData read_tid(const EntryPage &page, uint32 i);

// Finds the places among [from, to) on the page of the entries that pass what the range demands.
uint32 match_entries(const Format &format, const Condition &condition, const EntryRange &range,
                     const EntryPage &page, uint32 from, uint32 to, uint16 *places);

// A batch has the live entries of one page that match.
struct Batch {
    uint32 count;
    ItemPointerData tids[kMaxOnPage];
    uint64 *rows;  // nullptr: not wanted
};

// Leaves those entries in the batch for whose number is_kept(i) holds.
template <typename IsKept>
void keep_entries(const Format &format, Batch *batch, IsKept &&is_kept) {
    const auto words = static_cast<size_t>(format.row_words);
    uint32 kept = 0;
    for (uint32 i = 0; i < batch->count; i++) {
        if (!is_kept(i))
            continue;
        batch->tids[kept] = batch->tids[i];
        if (batch->rows != nullptr && kept != i)
            memcpy(batch->rows + kept * words, batch->rows + i * words, words * sizeof(uint64));
        kept++;
    }
    batch->count = kept;
}

// This scan goes through a run's matches.
struct RunScan {
    DirectoryReader directory;
    EntryRanges ranges;
    PageCursor pages;
    uint64 range;  // number of the current one
    uint64 at;     // next ordinal in it
    uint32 page;
    bool found;                 // the ranges are there
    bool keeps_dead;            // batches have dead entries, too
    uint16 places[kMaxOnPage];  // places of the batch's entries on the page
};

void begin_run_scan(RunScan *scan, Relation index, const Format *format, const storage::RunEntry *run);
void end_run_scan(RunScan *scan);

// Starts again with another condition.
void reset_run_scan(RunScan *scan);

// Starts again with the same one, whose ranges are there.
void rewind_run_scan(RunScan *scan);

// Finds the ranges that hold the condition's matches, unless they are there. false when a page was recycled.
bool find_matches(RunScan *scan, const Condition &condition);

enum class Step { Entry, End, Recycled };

// Finds the matches on the next page that has some.
Step next_batch(RunScan *scan, const Condition &condition, Batch *batch);

// Reads whether entry i of a batch with dead entries is dead. Returns false when a page was recycled.
bool read_dead_bit(const RunScan &scan, uint32 i, bool *dead);

// Counts the live matches that are left. false when a page was recycled.
bool count_matches(RunScan *scan, const Condition &condition, uint64 *count);

// Returns the position in the run of the page that turned out to be recycled.
uint32 recycled_position(const RunScan &scan);

}  // namespace pg_gpu::grid
