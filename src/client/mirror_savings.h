// Inside the client: what requests would have saved had a run been resident, which is weighed against what
// loading it costs.
#pragma once

#include "gpu_engine/protocol.h"
#include "postgres_headers.h"

namespace pg_gpu::client {

// From _PG_init while preloading: room for the sums in shared memory.
void reserve_mirror_savings();

// Sums are of all sessions together, so that short sessions load what many of them miss, and many sessions
// don't each miss it as long as one would. A session whose costs are its user's own, and one that shared
// memory has no room for, has sums of its own. There is room for some hundred runs; where there are more,
// those that were missed least begin at zero again.
void add_saving(const gpu_engine::protocol::RunName &run, double microseconds);
double saving_of_run(const gpu_engine::protocol::RunName &run);
void forget_saving(const gpu_engine::protocol::RunName &run);

}  // namespace pg_gpu::client
