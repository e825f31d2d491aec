// `SELECT DISTINCT ON (…) … ORDER BY …`: the first row of each group in an order, which is the one whose
// number in a window is 1 (windows.h). Only these rows leave the engine.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Offers paths to `output`, of which PostgreSQL has its own. Returns why there are none; nullptr: there are,
// or explain_why knows.
const char *consider_distinct_on(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

}  // namespace pg_gpu::plan::query
