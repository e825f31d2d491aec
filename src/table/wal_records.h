// Inside the table layer: reads WAL's files record by record, with PostgreSQL's own reader.
#pragma once

#include "compat.h"

namespace pg_gpu::table {

// Where reading goes on.
struct WalPlace {
    XLogRecPtr next;      // where the next record begins
    XLogRecPtr previous;  // and the one before it; 0: isn't known
};

// Calls clear_current for the blocks that the records change which begin at place->next or behind it and end
// at `end` or before it, and moves the place on. `end` must be flushed; or on a standby replayed, and so the
// end of a record (`is_record_end`). False when something can't be followed: a file can't be read, a record
// is damaged or doesn't follow the one before, or files come and go without naming blocks. Raises no error.
bool read_changed_blocks(WalPlace *place, XLogRecPtr end, bool is_record_end, TimeLineID timeline);

}  // namespace pg_gpu::table
