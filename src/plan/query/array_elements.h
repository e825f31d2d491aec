// Elements of a table's arrays, as
//     SELECT tag, count(*) FROM page, unnest(page.tags) AS tag GROUP BY tag
// become a join with the elements of the different arrays that there are:
//     SELECT e.tag, count(*) FROM page, (SELECT unnest(a) AS tag, a FROM (SELECT tags AS a FROM page GROUP BY
//     1) AS arrays) AS e WHERE e.a = page.tags GROUP BY e.tag
// so that only these are read by the session. Equal arrays have the same elements in the same order.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Before the statement's level is planned. True: something was replaced.
bool join_array_elements(Query *query);

// May there be something in the level?
bool has_array_elements(const Query *query);

}  // namespace pg_gpu::plan::query
