// UNION, INTERSECT and EXCEPT as groups of UNION ALL, which the engine has:
//     SELECT k FROM a EXCEPT SELECT k FROM b
//     SELECT k FROM (SELECT k, true AS is_left FROM a UNION ALL SELECT k, false FROM b) AS u
//     GROUP BY k HAVING bool_and(is_left)
// and of EXCEPT ALL
//     SELECT k FROM (SELECT k, count(*) FILTER (WHERE is_left) - count(*) FILTER (WHERE NOT is_left) AS count
//     FROM … GROUP BY k) AS g, generate_series(1, count)
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// False: the query isn't such an operation of tables' rows, and nothing has changed.
bool group_set_operation(Query *query);

}  // namespace pg_gpu::plan::query
