// EXPLAIN (ANALYZE) of a plan node: which paths answered what it asked, in batches of which size.
#pragma once

#include "client/usage.h"
#include "postgres_headers.h"

namespace pg_gpu::plan {

// With ANALYZE, of a node that was executed: the paths, requests, items a request, and the time on the device
// and on processors. What the paged path answers without counting it, as it does single ranges, has a path
// only. `usage` is what this process has asked for the node; nullptr: it has not executed it. Of what
// parallel workers asked for it nothing is known here, so the number of those who did is shown.
void explain_usage(const client::Usage *usage, const PlanState *node, ExplainState *explain);

}  // namespace pg_gpu::plan
