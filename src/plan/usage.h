// EXPLAIN (ANALYZE) of a plan node: which paths answered what it asked, in batches of which size.
#pragma once

#include "client/client.h"
#include "postgres_headers.h"

namespace pg_gpu::plan {

// Requests, and what the path that answered needed for them: computing, without the way there.
struct Usage {
    uint64 requests[client::kPaths];
    uint64 items[client::kPaths];
    double milliseconds[client::kPaths];
};

// The session's, of all kinds of requests together.
Usage session_usage();

// Adds what the session has used since `before`.
void add_usage_since(const Usage &before, Usage *total);

// With ANALYZE, of a node that was executed: the paths, requests, items a request, and the time on the device
// and on processors. What the paged path answers without counting it, as it does single ranges, has a path
// only.
void explain_usage(const Usage &usage, const PlanState *node, ExplainState *explain);

}  // namespace pg_gpu::plan
