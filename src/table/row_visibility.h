// Which of many index entries have a row that a snapshot sees.
#pragma once

#include "storage/near_buffer.h"
#include "table/block_facts.h"

namespace pg_gpu::table {

// Answers for one table and snapshot. It keeps no page pinned between two questions.
struct RowVisibility {
    Relation heap;
    Snapshot snapshot;
    bool by_page;     // the heap is read page by page; else row by row, by its table access method
    bool uses_facts;  // block facts are used and made
    CommandId command;
    uint32 table;     // its number among the block facts
    uint32 round;     // 0: nothing was asked yet
    uint64 next;      // full transaction id that no snapshot of now has seen the beginning of
    uint64 xmin;      // the snapshot's
    HeapProbe probe;  // not by page
    storage::NearBuffer near;
    uint64 fetches;  // entries looked up in the heap, which facts told nothing about
};

void open_row_visibility(RowVisibility *rows, Relation heap, Snapshot snapshot);
void close_row_visibility(RowVisibility *rows);

// Sets visible[i] for those of the entries, in any order, of which it isn't true yet. All TIDs are possible
// ones (is_possible_tid).
void find_visible(RowVisibility *rows, const ItemPointerData *tids, uint64 count, bool *visible);

// What is known of a block's entries, for callers that have many of one block at hand; nullptr: nothing, and
// find_visible tells. Good until the next question.
const BlockFacts *known_facts(RowVisibility *rows, BlockNumber block);

// Does the entry with this offset number, at most MaxHeapTuplesPerPage, have a visible row?
inline bool is_visible(const BlockFacts &facts, OffsetNumber offset) {
    return ((facts.rows[(offset - 1) / 64] >> ((offset - 1) % 64)) & 1) != 0;
}

}  // namespace pg_gpu::table
