// Decides which of many index entries have a row that a snapshot sees.
#pragma once

#include "storage/storage.h"
#include "table/shared_facts.h"

namespace pg_gpu::table {

// A RowVisibility serves one table and snapshot. It keeps no page pinned between two requests.
struct RowVisibility {
    Relation heap;
    Snapshot snapshot;
    bool by_page;     // the heap is read page by page; else row by row, by its table access method
    bool uses_facts;  // block facts are used and made
    CommandId command;
    uint32 table;        // the table's number among the block facts
    uint32 round;        // round of what the snapshot sees; 0: nothing was requested yet
    uint64 request;      // the current request's number among the block facts
    FactsFile file;      // the table's file, for the facts of all sessions
    FactsGroup *wanted;  // groups with blocks to be looked at
    uint64 next;         // a full transaction id that no snapshot of now has seen the beginning of
    uint64 xmin;         // the snapshot's
    uint64 moment;       // the moment at which the snapshot was taken (rounds.h)
    HeapProbe probe;     // for rows that are not read by page
    storage::NearbyBuffer nearby;
    uint64 fetches;  // entries looked up in the heap, which facts told nothing about
};

void open_row_visibility(RowVisibility *rows, Relation heap, Snapshot snapshot);
void close_row_visibility(RowVisibility *rows);

// Sets visible[i], for entries in any order, to whether the entry has a visible row. Entries for which it is
// true already are left out. All TIDs are possible ones (is_possible_tid).
void find_visible(RowVisibility *rows, const ItemPointerData *tids, uint64 count, bool *visible);

// ---- block by block, for callers that have many entries of each at hand -----------------------------------

// These take three steps. All blocks that something is to be known of are named first, in any order and any
// number of times (want_block); then their pages are looked at together; then facts can be read, until the
// next call of find_visible.
void want_block(RowVisibility *rows, BlockNumber block);
void look_at_wanted_blocks(RowVisibility *rows);
void forget_wanted_blocks(RowVisibility *rows);

// Wants blocks of group n (block_facts.h), a bit each, and returns for how many of them that takes a look at
// the page.
uint32 want_blocks_of_group(RowVisibility *rows, uint32 number, uint64 blocks);

// Copies the rows' words of those of its blocks for which facts hold, one behind the other; returns the
// blocks.
uint64 copy_facts(const RowVisibility &rows, uint32 number, uint64 blocks, uint64 *copy);

// Returns those of the blocks on which, at this moment, index entries can be of visible rows alone, as far as
// facts say: others may add rows to a page for which facts hold. *checks becomes the number of pages that
// were looked at.
uint64 find_plain_blocks(RowVisibility *rows, uint32 number, uint64 blocks, uint64 *checks);

// Reads a page, and copies it if there can be index entries of it without a visible row: bit i % 64 of
// invisible[i / 64] says so of offset number i + 1. Returns whether there can. It leaves dead rows on the
// page, because those still have their values. The page is pinned and locked only meanwhile.
bool find_invisible(RowVisibility *rows, BlockNumber block, char *copy, uint64 *invisible);

// Returns the facts of a block's entries: words as rows_of() has them. nullptr when there are none, and
// find_visible decides.
const uint64 *find_facts(const RowVisibility *rows, BlockNumber block);

// Returns whether the entry with this offset number has a visible row, by so many words.
inline bool is_visible(const uint64 *facts, uint32 words, OffsetNumber offset) {
    const auto place = static_cast<OffsetNumber>(offset - 1);
    return place < words * 64 && ((facts[place / 64] >> (place % 64)) & 1) != 0;
}

}  // namespace pg_gpu::table
