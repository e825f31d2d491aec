// Sharing a GpuAggregate's rows out among a leader and its parallel workers: ranges of the table's blocks,
// which they take one after the other. Each of them answers for its ranges in views of its own.
#pragma once

#include "column/scan/view.h"

namespace pg_gpu::plan {

// Into how many ranges rows are shared out for so many workers, and how many each process is to take then.
inline constexpr int kRangesPerProcess = 2;
int count_processes(int workers);
int count_ranges(int workers);

// What has become of the ranges so far.
struct RangeTotals {
    uint64 ranges;   // that were answered for
    uint64 refused;  // of these by the plan that stands by
    uint64 groups;
    uint64 heap_fetches;
    uint32 passes;      // the most that a range took
    char problem[128];  // why a range was refused, if any was
};

// Lies in shared memory.
struct SharedAggregate {
    BlockNumber blocks;  // of the table, when it was shared out
    uint32 ranges;
    pg_atomic_uint32 taken;
    slock_t lock;  // of the totals
    RangeTotals totals;
};

void begin_sharing(SharedAggregate *shared, Relation heap, int workers);
// For another execution, before anybody takes part in it.
void begin_sharing_again(SharedAggregate *shared);

// Takes the next range. False: all are taken.
bool take_range(SharedAggregate *shared, column::BlockRange *blocks);

void add_totals(SharedAggregate *shared, const RangeTotals &totals);
RangeTotals read_totals(SharedAggregate *shared);

// An aggregate over a scan of the table as one over these blocks of it.
Plan *plan_over_blocks(const Plan *plan, const column::BlockRange &blocks);

}  // namespace pg_gpu::plan
