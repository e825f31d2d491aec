// EXPLAIN (ANALYZE) of a plan node: which paths answered what it asked, in batches of which size.
#pragma once

#include "cost/usage.h"
#include "postgres_headers.h"

namespace pg_gpu::plan {

// Shows, with ANALYZE, the paths of a node that was executed, the number of its requests, the items a
// request, the bytes that travelled, the time on the device and on processors, and what a server process was
// not asked about, or didn't answer, and why. Answers that the paged path doesn't count, such as
// single ranges, show as a path only. `usage` is what this process has asked for the node; it is nullptr
// where this process has not executed it. Parallel workers don't tell what they asked, so their number is
// shown.
void explain_usage(const client::Usage *usage, const PlanState *node, ExplainState *explain);

}  // namespace pg_gpu::plan
