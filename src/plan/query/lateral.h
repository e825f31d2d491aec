// LATERAL subqueries that compute aggregates of the rows that equal a row, as
//     SELECT p.id, x.n FROM part AS p CROSS JOIN LATERAL (SELECT count(*) AS n FROM piece WHERE piece.k =
//     p.k) AS x
// of which each has one row: its columns become sub-selects where they are named, and these are joined
// (outer_groups.h).
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Replaces those of the query's own level. True: there were some.
bool replace_lateral_aggregates(Query *query);

}  // namespace pg_gpu::plan::query
