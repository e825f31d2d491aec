// The cost of lossy keys: a scan reads, and fetches rows for, more entries than its conditions let through.
#pragma once

#include "kary/format.h"

namespace pg_gpu::kary {

// Returns the conditions, as clauses and RestrictInfos, that select the entries which a scan finds for the
// index conditions `quals` on a key column. Strings with the key of a constant are left to
// shared_key_selectivity.
List *found_quals(const IndexOptInfo *index, int column, List *quals);

// Returns the part of the table that shares its first bytes with constants of the index conditions.
Selectivity shared_key_selectivity(PlannerInfo *root, const IndexPath *path);

// Says whether the path has conditions for which the scan itself looks at the rows, in the table's order
// (scan.cpp).
bool checks_rows(PlannerInfo *root, const IndexPath *path);

// Returns the cost of looking again at the rows found for lossy keys, which PostgreSQL leaves out of an index
// scan's costs.
Cost recheck_cost(PlannerInfo *root, const IndexPath *path, double rows);

// Returns the cost of reading the table's pages in their order, beyond what PostgreSQL reckons for rows that
// lie together.
Cost table_order_cost(const IndexOptInfo *index, Selectivity selectivity);

// Returns the planner's guess at how many elements an array has.
double array_length(PlannerInfo *root, const ScalarArrayOpExpr *array);

}  // namespace pg_gpu::kary
