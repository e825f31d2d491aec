// Which session of a database looks for mirrors of what is no more. All of them could, and each would list
// all mirrors.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::client {

// _PG_init calls it while preloading.
void reserve_sweeps();

// Returns whether no session of the database has begun to look within the last `pause_ms`; then this one has.
// Without shared memory none knows of the others.
bool begin_sweep(TimestampTz now, int pause_ms);

}  // namespace pg_gpu::client
