// The requests of plan nodes and the paths that they took, which EXPLAIN (ANALYZE) shows.
#pragma once

#include "rpc/rpc.h"

namespace pg_gpu::client {

// Counts by path the requests, and what the path that answered needed for them. The time is that of
// computing, without the way there.
struct Usage {
    uint64 requests[kPaths];
    uint64 items[kPaths];
    double milliseconds[kPaths];
    uint64 helped;     // requests to the device that the host engine computed a part of, or all
    uint64 bytes;      // bytes that went to the server process and came from it
    uint64 fallbacks;  // requests that a path didn't answer
    char last_reason[128];
    // Runs that the session looked through beside the server process, each time one was asked about the rest.
    uint64 small_runs;    // with fewer entries than pg_gpu.min_mirror_entries
    uint64 lacking_runs;  // not resident
    // Number of runs of which no row can match, by the bounds that they have of their columns.
    uint64 skipped_runs;
};

// Returns the session's use of all kinds of requests together, since its start: gpu.stat_reset() leaves it
// alone.
const Usage &session_usage();

// Adds a request to the session's.
void count_usage(Path path, uint64 items, uint64 bytes, double milliseconds);

// Says of the session's last request that the host engine had what no device had room for.
void count_help_of_host();

// Adds a request that a path didn't answer.
void count_fallback(const char *reason);

void count_local_runs(uint64 small, uint64 lacking);
void count_skipped_runs(uint64 runs);

// Adds what the session has used since `before`.
void add_usage_since(const Usage &before, Usage *total);

}  // namespace pg_gpu::client
