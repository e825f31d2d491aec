// The index entries that counts of entries have and whose rows the snapshot doesn't see.
// src/storage/README.md, "Counts beside changed blocks", says why these are all.
#pragma once

#include "table/entry_counter.h"

namespace pg_gpu::table {

// Returns whether the entries of this table without a visible row can be found under this snapshot.
bool may_find_invisible(Relation heap, Snapshot snapshot);

// Returns whether the blocks that aren't all-visible are so few that the search may end within the budget.
bool may_pay_to_find_invisible(Relation heap, uint64 budget);

// Finds those of the view. `budget` is how many entries would be looked at one by one otherwise; the search
// takes no longer than that, but now and then as long as a look at all of the index's. *candidates becomes
// the number of rows that were searched for. Returns Unknown when it would take longer, or what an entry has
// can't be found out.
Outcome find_invisible_entries(const EntryCounter &counter, uint64 budget, EntryRows *invisible,
                               uint64 *candidates);

}  // namespace pg_gpu::table
