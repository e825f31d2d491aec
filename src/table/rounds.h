// Snapshots that see the same. Why that may be told by what they list: ../storage/README.md, "Block facts".
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::table {

// Returns a number for what an MVCC snapshot sees, with its xmin as a full transaction id; never 0. Snapshots
// with the same number see the same rows. A snapshot of a transaction that may have changed something gets a
// new number each time.
uint32 round_of(Snapshot snapshot, uint64 xmin);

// Returns such a number that holds for all sessions, of the snapshot for which round_of was called last; 0
// when sessions don't share rounds, or not this one.
uint64 shared_round();

// Returns the last of these numbers; 0 when sessions don't share rounds. Pages that are read after this call
// are read after the snapshots of this round, and of all before it, were taken.
uint64 last_shared_round();

// _PG_init calls it while preloading.
void reserve_shared_rounds();

// Returns a number, the same in all sessions, that grows with the moment at which an MVCC snapshot was taken,
// with its xmax as a full transaction id: what had ended for a snapshot had ended for those with the same
// number or a greater one. 0 when nothing is known of when it was taken.
uint64 moment_of(Snapshot snapshot, uint64 xmax);

}  // namespace pg_gpu::table
