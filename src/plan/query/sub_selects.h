// Sub-selects of a statement as it was written, before it is planned.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Which query levels an expression has Vars of, counted from its own.
struct Levels {
    int depth;  // of sub-selects inside the expression
    bool own;
    bool outer;    // the next one
    bool further;  // beyond that
};
Levels levels_of(void *expression);

// Are the query's rows those of its tables, each by itself?
bool is_of_rows(const Query *query);

// Are they groups of these, and all of them?
bool is_of_groups(const Query *query);

// Has the sub-select tables and subqueries alone, joined in any way?
bool is_of_tables(const Query *query);

// Has one of its tables a gpu_column index? Else no GpuQuery could have its rows, and a statement that is
// changed for them needn't be planned twice. The tables are locked.
bool has_column_index(const Query *query);

// The sub-select as a table in FROM.
RangeTblEntry *make_entry(Query *subselect);

}  // namespace pg_gpu::plan::query
