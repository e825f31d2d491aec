// A table that nothing changes in: as long as that is so, every statement sees the same rows in its index.
#pragma once

#include "column/column.h"

namespace pg_gpu::column {

// Returns a constant for the index's content. It equals an earlier one as long as the same rows are there,
// and all of them are visible to everyone: results that were found between two equal ones hold for any
// snapshot. nullptr: not everyone sees all of the table.
//
// Rows come into the index's tail, and leave the index by VACUUM only, which counts up vacuum_seq. A row that
// is deleted, or gets another version with an entry of its own, makes the table one that isn't all-visible
// until then; versions that share an entry have the same values in the index. The rule Trust of
// src/storage/README.md says in which order to look.
Const *describe_whole_table(Relation heap, Relation index, Snapshot snapshot);

}  // namespace pg_gpu::column
