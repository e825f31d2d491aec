// Inside the table layer: reads WAL's files record by record, with PostgreSQL's own reader.
#pragma once

#include "compat.h"

namespace pg_gpu::table {

// Calls clear_current for the blocks that the records change which begin at `*next` or behind it and end at
// `end` or before it, and moves `*next` to where the first other record begins. `end` must be flushed, or on
// a standby replayed. False when something can't be followed: a file can't be read, a record is damaged, or
// files come and go without naming blocks. Raises no error.
bool read_changed_blocks(XLogRecPtr *next, XLogRecPtr end, TimeLineID timeline);

}  // namespace pg_gpu::table
