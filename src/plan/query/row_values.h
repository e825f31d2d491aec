// The places of a query where sub-selects may stand that are computed for each row, and are joined then
// (outer_groups.h): SELECT, WHERE, and below groups what is aggregated and grouped by.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Replaces those of the query's own level. True: there were some.
bool join_row_values(Query *query);

}  // namespace pg_gpu::plan::query
