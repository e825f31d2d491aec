// LATERAL subqueries that give the first rows of those that equal a row, as
//     SELECT p.id, x.y FROM part AS p CROSS JOIN LATERAL (SELECT y FROM piece WHERE piece.k = p.k ORDER BY z
//     LIMIT 3) AS x
// become subqueries that number the rows of each key in their order, and are joined by the key:
//     SELECT p.id, x.y FROM part AS p JOIN (SELECT y, k AS key1, row_number() OVER (PARTITION BY k ORDER BY
//     z) AS number FROM piece) AS x ON x.key1 = p.k AND x.number <= 3
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Changes those of the query's own level. True: there were some.
bool number_lateral_rows(Query *query);

}  // namespace pg_gpu::plan::query
