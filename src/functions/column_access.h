// What the functions on gpu_column's indexes share.
#pragma once

#include "column/values.h"
#include "functions/index_access.h"

namespace pg_gpu::functions {

// Opened for reading by a function of this name, with all checks; ERROR unless it is gpu_column's.
OpenIndex open_columns(Oid index_oid, Snapshot snapshot, const char *what);

// A column's name: the table's for its own columns, the index's for expressions.
const char *column_name(const OpenIndex &open, int column);

// ERROR with a HINT when the index has no such column.
int find_column(const OpenIndex &open, const char *name);

// Reads a boolean expression over the index's columns: comparisons of columns with constants, IS [NOT] NULL,
// = ANY, all of them to hold. It is the function's argument with that number, from 0 on; values of $1 … in it
// are the arguments behind. A NULL leaves *condition as it is. ERROR with a HINT when it is anything else.
void read_filter(FunctionCallInfo fcinfo, int argument, const OpenIndex &open, const column::Format &format,
                 column::Condition *condition);

}  // namespace pg_gpu::functions
