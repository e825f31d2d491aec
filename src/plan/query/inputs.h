// Tables of a query without a gpu_column index, and subqueries, VALUES, functions and the like: the rows of a
// plan of PostgreSQL's, which the session reads before it asks, and which the request takes along. So these
// must be few.
#pragma once

#include "column/tail_tuple.h"

namespace pg_gpu::plan::query {

// Which relations are inputs.

// Of more rows than this no input is expected.
inline constexpr double kMaxExpectedRows = 100000;

// Why the relation's rows can't be an input; nullptr: they can.
const char *refuse_input(PlannerInfo *root, RelOptInfo *relation);

// What PostgreSQL would run in place of a path, if that is a GpuQuery's; else the path.
const Path *without_engine(const Path *path);

// The cheapest path of the rows by parallel workers, or nullptr. Paths of workers that are freed later must
// not be among the relation's.
Path *gather_rows(PlannerInfo *root, const RelOptInfo *relation);

// PostgreSQL's cheapest path of a relation's rows, perhaps of parallel workers; nullptr where each needs a
// row of an outer table.
Path *cheapest_rows(const RelOptInfo *relation);

// May a query's rows raise an error, whichever of them are wanted?
bool may_query_fail(const Query *query);

// How a column is kept that has this expression.
column::ColumnType type_of_input(const void *expression);

// The rows, as those of an index's tail are.
struct InputRows {
    TupleDesc descriptor;
    column::ColumnType *types;
    int columns;
    column::TupleValue *values;  // row by row
    uint64 count;
};

// Reads all rows, from the first one on, in the current memory context. Returns nullptr, or why they can't be
// an input.
const char *read_input(PlanState *plan, InputRows *input);

}  // namespace pg_gpu::plan::query
