// WITH queries that are read several times, as
//     WITH month AS (SELECT m, sum(x) AS s FROM fact GROUP BY m)
//     SELECT … FROM month AS a JOIN month AS b ON b.m = a.m - 1
// PostgreSQL computes such a query once and keeps its rows. As a subquery of each place it may be a part of
// what the engine computes there, so that its rows needn't leave the engine.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Has those of all levels planned as subqueries of each place that reads them. True: there were some. Those
// that say MATERIALIZED, or that PostgreSQL has reasons to compute once, stay, and so do those that may have
// other rows each time.
bool inline_queries(Query *query);

}  // namespace pg_gpu::plan::query
