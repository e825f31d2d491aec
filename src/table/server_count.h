// The table's part in counting with the server's help: facts of its blocks, and looks at the rows of entries
// elsewhere.
#pragma once

#include "table/entry_counter.h"
#include "table/visible_blocks.h"

namespace pg_gpu::table {

// After so many tries, each of which a VACUUM has spoiled, the paged path counts, which takes the run lock.
inline constexpr int kMaxServerTries = 8;

// A RowChecker finds out for the table's rows whether they are visible, from the table or from what is known
// of it.
struct RowChecker {
    Relation index;
    RowVisibility rows;
    BlockNumber heap_blocks;  // number of the table's blocks when it was looked at last
};

void begin_row_checker(RowChecker *checker, Relation heap, Relation index, Snapshot snapshot);
void end_row_checker(RowChecker *checker);

// Sets visible[i] when the entry has a visible row. Raises an error for a TID that cannot be in the table;
// the entries are on this block of the index.
void check_rows(RowChecker *checker, BlockNumber index_block, const ItemPointerData *tids, uint64 count,
                bool *visible);

// Returns how many entries of a count pages look at in the time that a path takes to look at these, as
// take_off_invisible needs it.
uint64 entries_on_pages(client::Path path, uint64 entries);

// may_count_all returns whether it is worthwhile to have all entries of a view counted, of which some runs
// have the most, so that those without a visible row can be subtracted. note_counted_all notes afterwards how
// that came out.
bool may_count_all(const RowChecker &checker, client::Path path, uint64 most);
void note_counted_all(const RowChecker &checker, Outcome outcome);

// Adds what the server counted of the set's runs to counts[0] to counts[answer.items - 1].
void add_server_counts(RowChecker *checker, const client::RunSet &set, const client::CountResult &result,
                       int64 *counts);

}  // namespace pg_gpu::table
