// Counts of the rows that a snapshot sees by counts of an index's entries, less the entries whose row it
// doesn't see. src/storage/README.md, "Counts beside changed blocks", says why these are all.
#pragma once

#include "memory.h"
#include "storage/storage.h"
#include "table/visibility.h"

namespace pg_gpu::table {

// The values of entries, each in as many words as the access method needs.
struct EntryRows {
    uint64 words;  // words of one entry
    uint64 count;
    uint64 room;
    uint64 *rows;
};

inline uint64 *row_at(const EntryRows &rows, uint64 i) {
    return rows.rows + i * rows.words;
}

// Adds an entry's row, which the caller fills in.
uint64 *add_row(EntryRows *rows);

enum class Outcome {
    Counted,
    Again,    // count again in a new view: a page was recycled, or the session has learned what it needs
    Unknown,  // entries must be looked at one by one
};

// The place of the dead bits by which entries were counted.
enum class CountedBy {
    Pages,
    Server,  // on mirrors, which may lack bits that a VACUUM has set which hasn't ended
};

// Line pointers whose entries are looked for among all of a view, and what was found.
struct WantedPointers {
    const uint64 *places;  // sorted
    uint64 count;
    uint64 *blocks;  // a bit for each block of the table, set where the block has a wanted line pointer
    BlockNumber block_count;
    EntryRows found;
    uint64 *found_places;
};

bool is_wanted_in_block(const WantedPointers &wanted, const ItemPointerData &tid);

inline bool is_wanted(const WantedPointers &wanted, const ItemPointerData &tid) {
    const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&tid);
    return block < wanted.block_count && (wanted.blocks[block / 64] >> (block % 64) & 1) != 0 &&
           is_wanted_in_block(wanted, tid);
}

// Notes an entry, and returns its row, which the caller fills in.
uint64 *note_wanted(WantedPointers *wanted, const ItemPointerData &tid);

// An EntryCounter has one count, or many, and the functions of the index's access method that compute them.
struct EntryCounter {
    Relation heap;
    Relation index;
    const storage::RunKind *kind;
    Snapshot snapshot;
    uint32 count;               // number of counts
    const storage::View *view;  // the view that was taken last
    uint64 row_words;
    // Set where any row of an entry's HOT chain says what the entry has (do_rows_identify_entries).
    bool rows_identify_entries;
    // The costs of searching one run for a row, and of holding a row against one request, each in looks at
    // one entry of a count.
    uint64 search_cost;
    uint64 subtract_cost;

    // The access method's own reader of the view's entries; its functions get it.
    const void *source;
    CountedBy counted_by;
    // Fills in what the entry has that a row with this TID would have.
    void (*encode)(const void *source, const Datum *values, const bool *is_null, const ItemPointerData &tid,
                   uint64 *row);
    // Keeps of the rows those that counted entries of the view have, each once, in an order of its own.
    // Returns Unknown when that takes longer than to look at `budget` entries, or when a mirror may have had
    // a dead entry counted.
    Outcome (*keep_listed)(const void *source, CountedBy counted_by, EntryRows *rows, uint64 budget);
    // Notes the view's entries of wanted line pointers, dead ones too; returns false when a page was
    // recycled.
    bool (*look_for)(const void *source, WantedPointers *wanted);

    // The caller's state, which the functions below get.
    void *context;
    // Takes a new view and copies its tail.
    void (*renew)(void *context);
    // Returns the most entries that the view can have, where that is known sooner than their number; nullptr
    // where it never is.
    uint64 (*max_entries)(void *context);
    // Counts the live entries of the view.
    Outcome (*count_entries)(void *context, int64 *counts);
    // Subtracts listed rows from the counts.
    void (*subtract)(void *context, const EntryRows &rows, int64 *counts);
};

// Returns whether the index's columns are such that a row that nobody sees any more still has their values.
// TOASTed values of such a row may be gone, and an expression may fail.
bool do_rows_identify_entries(Relation heap, Relation index);

// Counts in one view. *heap_fetches becomes the number of line pointers without a visible row that were
// looked at. Returns false when entries must be looked at one by one: counts then are those of all live
// entries, or nothing of use.
bool count_visible_entries(const EntryCounter &counter, int64 *counts, uint64 *heap_fetches);

// Subtracts invisible entries from counts that the server process has made of a view's entries, before the
// caller compares vacuum_seq with the view's. `budget` is how many entries pages would look at in the time
// that the server process takes to look at all of these. count_entries isn't called.
Outcome take_off_invisible(const EntryCounter &counter, uint64 budget, int64 *counts, uint64 *heap_fetches);

}  // namespace pg_gpu::table
