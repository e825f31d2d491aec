// Inside the client: runs' mirrors in the server process.
#pragma once

#include "client/connection.h"

namespace pg_gpu::client {

protocol::RunName run_name(Relation index, uint64 run_id);

// The runs of a set that have mirrored entries, in the set's order; the numbers of the protocol's requests.
struct LiveRuns {
    int count;
    int places[kMaxRuns];  // in the set
};
LiveRuns live_runs(const RunSet &set);

// Pages that a run's mirrored entries lie on.
uint32 mirrored_pages(const MirrorFormat &format, const storage::RunEntry &run);

// Before a request: false when its runs are known not to be resident and loading them doesn't pay yet.
bool is_worth_asking(const RunSet &set, const LiveRuns &live, const Choice &choice);

// After the answer not_resident: loads the lacking runs, if the setting allows it and it pays. True when they
// are there. Uses the transfer buffer.
bool load_lacking(const RunSet &set, const LiveRuns &live, const Choice &choice, uint64 lacking);

// After the answer stale: brings dead bitmaps up to date.
bool refresh_dead(const RunSet &set, const LiveRuns &live, Path path, uint64 stale);

}  // namespace pg_gpu::client
