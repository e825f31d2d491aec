// The functions on gpu_column's indexes share what is declared here.
#pragma once

#include "column/gpu_column.h"
#include "functions/index_access.h"

namespace pg_gpu::functions {

// Opens an index for reading by a function of this name, with all checks. Raises an ERROR unless it is of
// gpu_column.
OpenIndex open_columns(Oid index_oid, Snapshot snapshot, const char *what);

// Returns a column's name: that of the table for its own columns, and the index's for expressions.
const char *column_name(const OpenIndex &open, int column);

// Returns the number of the index's column of this name. Raises an ERROR with a HINT when there is none.
int find_column(const OpenIndex &open, const char *name);

// Reads a boolean expression over the index's columns: comparisons of columns with constants, IS [NOT] NULL,
// = ANY, all of them to hold. It is the function's argument with that number, from 0 on; values of $1 … in it
// are the arguments behind. A NULL leaves *condition as it is. ERROR with a HINT when it is anything else.
void read_filter(FunctionCallInfo fcinfo, int argument, const OpenIndex &open, const column::Format &format,
                 column::Condition *condition);

}  // namespace pg_gpu::functions
