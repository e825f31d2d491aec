// Snapshots that see the same. Why that may be told by what they list: ../storage/README.md, "Block facts".
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::table {

// A number for what an MVCC snapshot sees, with its xmin as a full transaction id; never 0. Snapshots with
// the same number see the same rows. One of a transaction that may have changed something gets a new number
// each time.
uint32 round_of(Snapshot snapshot, uint64 xmin);

}  // namespace pg_gpu::table
