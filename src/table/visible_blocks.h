// The heap blocks that requests are sent with: which are all-visible, and the block facts of the others.
#pragma once

#include "residency/residency.h"
#include "table/row_visibility.h"

namespace pg_gpu::table {

// The scope of a request decides how many pages are worth a look before it is sent.
enum class Scope {
    AllRows,   // it looks through the whole table
    SomeRows,  // it is about as many rows as are expected, or, where 0 are, as this index's last request was
};

// Reads the visibility map, after the view (rule "Trust"), and looks at the pages of other blocks. The result
// lies in the current memory context.
client::VisibleBlocks read_visible_blocks(RowVisibility *rows, Relation index, Scope scope,
                                          uint64 expected = 0);

// Notes, after a request about some rows, how many entries they were of this index.
void note_requested_rows(Relation index, uint64 entries);

}  // namespace pg_gpu::table
