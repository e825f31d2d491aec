// Groups of groups: a query takes the rows of a subquery that has finer groups, which the engine computes.
// What aggregates take of these are parts: counts, sums and extremes. So aggregates of distinct values that
// the engine lacks, as string_agg(DISTINCT x, ','), take each value once, and several grouping sets are
// computed from one pass over the tables.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Has a query such an aggregate, or several grouping sets?
bool wants_finer_groups(const Query *query);

// True: the query reads such a subquery now.
bool group_finer(Query *query);

// Has a query window functions of groups?
bool has_grouped_windows(const Query *query);

// True: the query reads its groups from a subquery now, so that windows are of its rows (windowed_rows.h).
bool nest_groups(Query *query);

}  // namespace pg_gpu::plan::query
