// The table's part in counting with the server's help: facts of its blocks, and the snapshot's word on the
// entries elsewhere.
#pragma once

#include "table/entry_counter.h"
#include "table/visible_blocks.h"

namespace pg_gpu::table {

// A stream of VACUUMs ends this many tries; then the paged path counts, which takes the run lock.
inline constexpr int kMaxServerTries = 8;

// Has the table or what is known of it tell whose rows are visible.
struct RowChecker {
    Relation index;
    RowVisibility rows;
    BlockNumber heap_blocks;  // as last looked at
};

void begin_row_checker(RowChecker *checker, Relation heap, Relation index, Snapshot snapshot);
void end_row_checker(RowChecker *checker);

// visible[i]: does the entry have a visible row? ERROR for a TID that cannot be in the table; the entries are
// on this block of the index.
void check_rows(RowChecker *checker, BlockNumber index_block, const ItemPointerData *tids, uint64 count,
                bool *visible);

// For take_off_invisible: how many entries of a count pages look at in the time that a path takes to look at
// these.
uint64 entries_on_pages(client::Path path, uint64 entries);

// Is it worth having all entries of a view counted, of which some runs have the most, so that those without a
// visible row can be taken off? Afterwards it is noted how that came out.
bool may_count_all(const RowChecker &checker, client::Path path, uint64 most);
void note_counted_all(const RowChecker &checker, Outcome outcome);

// Adds what the server counted of the set's runs to counts[0] to counts[answer.items - 1].
void add_server_counts(RowChecker *checker, const client::RunSet &set, const client::CountResult &result,
                       int64 *counts);

}  // namespace pg_gpu::table
