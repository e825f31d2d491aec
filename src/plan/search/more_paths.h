// Scans of gpu_text's indexes that PostgreSQL doesn't offer.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// Adds to the table's paths bitmap scans at the cost of those whose rows aren't searched again.
void add_more_paths(PlannerInfo *root, RelOptInfo *relation);

}  // namespace pg_gpu::plan
