// Sub-selects that compute an aggregate for each row, wherever they stand in SELECT and WHERE, as
//     SELECT id, (SELECT count(*) FROM piece WHERE piece.k = part.k) FROM part
// which become groups that are joined by an outer join: a row without a group has what the aggregate gives of
// no rows.
//     SELECT id, CASE WHEN g.k IS NULL THEN 0 ELSE g.n END
//     FROM part LEFT JOIN (SELECT k, count(*) AS n FROM piece GROUP BY k) AS g ON g.k = part.k
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Replaces those of the query's own level. True: there were some.
bool join_outer_groups(Query *query);

}  // namespace pg_gpu::plan::query
