// The index's part of finding the entries that counts have and whose rows the snapshot doesn't see
// (table/entry_counter.h). What an entry has is its row in memory (format.h).
#pragma once

#include "grid/scan.h"
#include "table/table.h"

namespace pg_gpu::grid {

// The cost of searching a run for a row, in entries looked at one by one.
inline constexpr uint64 kCostOfSearch = 64;

// Leaves those rows that counted entries of the view have, by their first lane. Unknown when more than
// `budget` entries must be looked at for that. The reader's condition takes all rows that are of interest.
Outcome keep_listed(const ViewReader &reader, CountedBy counted_by, EntryRows *rows, uint64 budget);

// Notes the view's entries of wanted line pointers, dead ones too; false when a page was recycled.
bool look_for(const ViewReader &reader, WantedPointers *wanted);

// How many of the rows, which are by their first lane, match.
uint64 count_rows(const Format &format, const Condition &condition, const EntryRows &rows);

}  // namespace pg_gpu::grid
