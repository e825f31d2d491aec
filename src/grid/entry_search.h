// The index's part of finding the entries that counts have and whose rows the snapshot doesn't see
// (table/entry_counter.h). What an entry has is its row in memory (format.h).
#pragma once

#include "grid/scan.h"
#include "table/table.h"

namespace pg_gpu::grid {

// Returns what the entry counter needs of the access method to count `count` requests in the reader's view.
// Its condition takes all rows that are of interest.
EntryCounter entry_counter_of(const ViewReader &reader, CountedBy counted_by, uint32 count);

// Returns how many of the rows, which are sorted by their first lane, match.
uint64 count_rows(const Format &format, const Condition &condition, const EntryRows &rows);

}  // namespace pg_gpu::grid
