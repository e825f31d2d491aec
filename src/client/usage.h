// What the session has asked, and who answered: for EXPLAIN (ANALYZE) of those who asked.
#pragma once

#include "client/client.h"

namespace pg_gpu::client {

// By path: requests, and what the path that answered needed for them: computing, without the way there.
struct Usage {
    uint64 requests[kPaths];
    uint64 items[kPaths];
    double milliseconds[kPaths];
};

// The session's, of all kinds of requests together, since its start: gpu.stat_reset() leaves it alone.
const Usage &session_usage();

// Adds a request to the session's.
void count_usage(Path path, uint64 items, double milliseconds);

// Adds what the session has used since `before`.
void add_usage_since(const Usage &before, Usage *total);

}  // namespace pg_gpu::client
