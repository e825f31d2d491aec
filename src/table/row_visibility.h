// Which of many index entries have a row that a snapshot sees.
#pragma once

#include "storage/storage.h"
#include "table/shared_facts.h"

namespace pg_gpu::table {

// Answers for one table and snapshot. It keeps no page pinned between two requests.
struct RowVisibility {
    Relation heap;
    Snapshot snapshot;
    bool by_page;     // the heap is read page by page; else row by row, by its table access method
    bool uses_facts;  // block facts are used and made
    CommandId command;
    uint32 table;        // its number among the block facts
    uint32 round;        // of what the snapshot sees; 0: nothing was asked yet
    uint64 request;      // this one, for the block facts
    FactsFile file;      // the table's, for the facts of all sessions
    FactsGroup *wanted;  // groups with blocks to be looked at
    uint64 next;         // full transaction id that no snapshot of now has seen the beginning of
    uint64 xmin;         // the snapshot's
    uint64 moment;       // at which it was taken (rounds.h)
    HeapProbe probe;     // not by page
    storage::NearbyBuffer nearby;
    uint64 fetches;  // entries looked up in the heap, which facts told nothing about
};

void open_row_visibility(RowVisibility *rows, Relation heap, Snapshot snapshot);
void close_row_visibility(RowVisibility *rows);

// Sets visible[i] for those of the entries, in any order, of which it isn't true yet. All TIDs are possible
// ones (is_possible_tid).
void find_visible(RowVisibility *rows, const ItemPointerData *tids, uint64 count, bool *visible);

// ---- block by block, for callers that have many entries of each at hand -----------------------------------

// All blocks that something is to be known of are named first, in any order and as often as it comes; then
// their pages are looked at together; then facts tell, until the next call of find_visible.
void want_block(RowVisibility *rows, BlockNumber block);
void look_at_wanted_blocks(RowVisibility *rows);
void forget_wanted_blocks(RowVisibility *rows);

// Blocks of group n (block_facts.h), a bit each: wants them, and returns for how many that takes a look.
uint32 want_blocks_of_group(RowVisibility *rows, uint32 number, uint64 blocks);

// Copies the rows' words of those of its blocks that facts hold of, one behind the other; returns which.
uint64 copy_facts(const RowVisibility &rows, uint32 number, uint64 blocks, uint64 *copy);

// Those of them on which, at this moment, no index entry can be but those of visible rows, as far as facts
// tell: others may add rows to a page for which facts hold. *looks pages were looked at.
uint64 find_plain_blocks(RowVisibility *rows, uint32 number, uint64 blocks, uint64 *checks);

// Reads a page, and copies it if there can be index entries of it without a visible row: bit i % 64 of
// invisible[i / 64] says so of offset number i + 1. Returns whether there can. It leaves dead rows on the
// page, because those still have their values.
bool find_invisible(RowVisibility *rows, BlockNumber block, char *copy, uint64 *invisible);

// Returns the facts of a block's entries: words as rows_of() has them; nullptr: there are none, and
// find_visible decides.
const uint64 *find_facts(const RowVisibility *rows, BlockNumber block);

// Does the entry with this offset number have a visible row, by so many words?
inline bool is_visible(const uint64 *facts, uint32 words, OffsetNumber offset) {
    const auto place = static_cast<OffsetNumber>(offset - 1);
    return place < words * 64 && ((facts[place / 64] >> (place % 64)) & 1) != 0;
}

}  // namespace pg_gpu::table
