// Which heap pages have changed, read from WAL instead of from the pages: beside writers a few records tell
// what otherwise takes a look at each page. The rule, and why each race is safe: ../storage/README.md,
// "Following WAL".
#pragma once

#include "compat.h"

namespace pg_gpu::table {

// A reading of WAL. Whoever looks at a page, with its lock held, after a reading began has what the records
// up to its end did.
struct WalReading {
    uint64 epoch;   // what was current in another one tells nothing; 0: WAL isn't followed
    uint64 number;  // 0: the same
};

// From _PG_init while preloading. Elsewhere WAL isn't followed.
void reserve_wal_follower();

// Makes known which pages were changed by the transactions that the snapshot takes for ended, where reading
// the WAL since the last time takes less than so many looks at pages would. Returns whether that is known:
// then blocks that are current (shared_facts.h) have no change that the snapshot sees.
bool follow_wal(Snapshot snapshot, uint64 looks);

// The reading that began last. To be read before the page is, under its lock or before that.
WalReading last_wal_reading();

// In which blocks may be current; 0: none are.
uint64 wal_epoch();

// Has none begun since? To be asked under the lock under which its answer is used, and that clear_current
// takes.
bool is_last_wal_reading(const WalReading &reading);

}  // namespace pg_gpu::table
