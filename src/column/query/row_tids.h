// Rows of a view by number: those of its runs, one run behind the other, then the loose ones. A query may
// take a row's number as a column (ColumnForm::row), by which the session finds the row in the table.
#pragma once

#include "column/scan/view.h"

namespace pg_gpu::column {

// The number of a run's first row; `run_count`: of the first loose row.
uint64 first_row_number(const ColumnView *view, int run);

// Makes TIDs of numbers of rows. False: the view is stale, or a number is no row's.
bool read_row_tids(ColumnView *view, const uint64 *numbers, uint64 count, ItemPointerData *tids);

}  // namespace pg_gpu::column
