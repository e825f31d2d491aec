// Reservations for runs that are being written, and the end of the file.
#pragma once

#include "storage/runs.h"

namespace pg_gpu::storage {

// The blocks that a run may take while it is being written.
struct Reservation {
    ReservationOwner owner;
    uint32 pages;  // pages that it is expected to need
    uint32 most;   // the most pages that it can need
};

// Reserves the pages it is expected to need in the metapage, durably, and sets the entry's extents: a crash
// in the middle of the merge leaves a reservation that the next holder of the same lock overwrites. The
// caller holds the owner's lock of the run list and no content locks; none are held on return.
void reserve_pages(Relation index, const RunKind *kind, const Reservation &reservation, RunEntry *entry);

// Reserves some more of them for a run that has outgrown its extents, under the same locks. Raises an error
// when the run has `most` pages already.
void reserve_more_pages(Relation index, const RunKind *kind, const Reservation &reservation, RunEntry *entry);

// Drops what a crashed or cancelled merge has left reserved. The caller holds the lock of recent runs, with
// `old_too` that of old runs as well, so that no living merge owns it.
void forget_reservations(Relation index, const RunKind *kind, bool old_too);

// Returns whether the file has a free end that VACUUM may cut off. The caller has the table locked.
bool has_free_end(Relation index, const RunKind *kind);

// Cuts a free end off the file where nobody is using the index. VACUUM looks for such a moment for
// kTruncationTakesMs. Returns false when there was none.
inline constexpr long kTruncationTakesMs = 200;
bool truncate_free_end(Relation index, const RunKind *kind);

}  // namespace pg_gpu::storage
