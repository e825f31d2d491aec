// Scans of gpu_text's indexes that PostgreSQL doesn't offer.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// Adds to the table's paths those that read the index before a policy of row security is checked, and those
// in the order of a score alone where the statement goes on with other keys.
void add_more_paths(PlannerInfo *root, RelOptInfo *relation);

}  // namespace pg_gpu::plan
