// Copies of the tail's tuples, and of those of runs that are sealed tails as they were: one page with the
// tuples, and behind them its dead bitmap.
#pragma once

#include "storage/runs.h"

namespace pg_gpu::storage {

// Tuples of the tail, or of a sealed one.
struct Items {
    char *tail_tuples;
    uint32 bytes;
    uint64 *dead = nullptr;  // a bit for each; nullptr for the tail
};

inline bool is_dead(const Items &tail_tuples, uint32 number) {
    return tail_tuples.dead != nullptr && ((tail_tuples.dead[number / 64] >> (number % 64)) & 1) != 0;
}

// A TailVisitor whose context is an Items, with room for kContentBytes.
void copy_tail(const char *tail_tuples, uint32 bytes, void *context);

// Copies a sealed tail's tuples, which have `least` bytes each at least, and its dead bits; both are
// palloc'd. Returns false when the page was recycled, and raises an error unless the tuples are as many as
// the run's entries.
bool read_sealed_tuples(Relation index, const RunKind *kind, const RunEntry &run, uint32 least,
                        Items *tail_tuples);
// Does for such a run what RunKind::read_tids does.
uint32 read_sealed_tids(Relation index, const RunKind *kind, const RunEntry &run, Page page, uint32 least,
                        ItemPointerData *tids);

}  // namespace pg_gpu::storage
