// Aggregates of distinct values that the engine lacks, as string_agg(DISTINCT x, ','), take the rows of a
// subquery that has each value once, which the engine groups. What other aggregates take of these rows are
// parts: counts, sums and extremes.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Has a query such an aggregate?
bool has_distinct_arguments(const Query *query);

// True: the query reads such a subquery now.
bool group_distinct_arguments(Query *query);

}  // namespace pg_gpu::plan::query
