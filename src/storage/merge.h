// Merging inside storage: what an insert starts after a seal, and what the background worker runs.
#pragma once

#include "storage/storage.h"

namespace pg_gpu::storage {

// Merges full tiers of small runs in the foreground; hands big ones to a short-lived worker. Raises nothing
// for want of a lock, space or memory. `is_stream`: the statement fills tails one after the other.
void merge_after_seal(Relation index, const RunKind *kind, bool is_stream = false);

enum class MergeStep { Merged, NothingDue, PutOff, Busy };

// The next of the merges that tiers and dead entries call for, of any size: for the worker. Busy: somebody
// has the runs' locks.
MergeStep merge_next(Relation index, const RunKind *kind);

// Asks for a worker if there is something for it to do.
void request_merge_if_due(Relation index, const RunKind *kind);

// Asks for a background worker that merges what tiers and dead entries call for. False when none can be had:
// no slot is free, or the index belongs to this session alone.
bool request_merge_worker(Relation index);

// Gives storage the kind of an index's runs, for the worker: set by the access methods at load time.
using KindResolver = const RunKind *(*)(Relation index);
void set_kind_resolver(KindResolver resolver);

}  // namespace pg_gpu::storage
