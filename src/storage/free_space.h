// Reservations for runs that are being written, and the end of the file.
#pragma once

#include "storage/runs.h"

namespace pg_gpu::storage {

// The blocks that a run may take while it is being written.
struct Reservation {
    ReservationOwner owner;
    uint32 pages;  // that it is expected to need
    uint32 most;   // that it can need
};

// Reserves the pages it is expected to need in the metapage, durably, and sets the entry's extents: a crash
// in the middle of the merge leaves a reservation that the next holder of the same lock overwrites.
void reserve_pages(Relation index, const RunKind *kind, const Reservation &reservation, RunEntry *entry);

// Reserves some more of them for a run that has outgrown its extents.
void reserve_more_pages(Relation index, const RunKind *kind, const Reservation &reservation, RunEntry *entry);

// Drops what a crashed or cancelled merge has left reserved; its owner's lock is ours.
void forget_reservations(Relation index, const RunKind *kind, bool old_too);

// Has the file a free end that VACUUM may cut off? The table is locked.
bool has_free_end(Relation index, const RunKind *kind);

// Cuts a free end off the file, where nobody is using the index; looks for such a moment for
// kTruncationTakesMs. False when there was none. For VACUUM.
inline constexpr long kTruncationTakesMs = 200;
bool truncate_free_end(Relation index, const RunKind *kind);

}  // namespace pg_gpu::storage
