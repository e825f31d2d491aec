// Rows with window functions that the engine computes (windows.h), as paths of the statement's stage of them.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Why rows aren't sorted for windows; nullptr: they may be.
const char *refuse_windows(PlannerInfo *root, const RelOptInfo *input);

// Offers paths to `output`, of which PostgreSQL has its own, for a statement without groups. Returns why
// there are none; nullptr: there are, or explain_why knows.
const char *consider_windows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

}  // namespace pg_gpu::plan::query
