// Rows of joined tables that a session keeps for later statements, as long as nothing in a table changes.
#pragma once

#include "column/scan/cached_results.h"
#include "plan/query/join_rows.h"

namespace pg_gpu::plan {

// Where a table's rows are cached.
struct RowCacheEntry {
    column::CacheKey key;  // without an expression: they can't be
    uint64 changes;        // before they were read
    Relation opened;       // for end_cached; nullptr: none
};

// What the rows that the plan gives depend on, and that the table is all-visible now.
RowCacheEntry begin_cached(const JoinedRows &rows, PlanState *plan);
void end_cached(const RowCacheEntry &place);

// Takes rows of an earlier statement, which are good until the transaction ends. False: there are none.
bool find_cached(const RowCacheEntry &place, PlanState *plan, JoinedRows *rows);

// Lets later statements find rows that lie in the current memory context, which is from begin_results, all
// that they refer to included.
void cache_rows(const RowCacheEntry &place, JoinedRows *rows);

// Lets them have by_number, which cached rows have just got, if there is room for it.
void cache_index(const JoinedRows &rows);

}  // namespace pg_gpu::plan
