// Copies of the tail's items, and of those of runs that are sealed tails as they were: one page with the
// items, and behind them its dead bitmap.
#pragma once

#include "storage/runs.h"

namespace pg_gpu::storage {

// A TailVisitor whose context is a TailCopy.
struct TailCopy {
    char *items;  // room for kContentBytes
    uint32 bytes;
};
void copy_tail(const char *items, uint32 bytes, void *context);

// A copy of a sealed tail's items, palloc'd, which have `least` bytes each at least; nullptr when the page
// was recycled, ERROR unless they are as many as the run's entries.
char *read_sealed_items(Relation index, const RunKind *kind, const RunEntry &run, uint32 least,
                        uint32 *bytes);
// What RunKind::read_tids gives of such a run.
uint32 read_sealed_tids(Relation index, const RunKind *kind, const RunEntry &run, Page page, uint32 least,
                        ItemPointerData *tids);

}  // namespace pg_gpu::storage
