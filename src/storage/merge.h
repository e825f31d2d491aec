// Merging inside storage: what an insert starts after a seal, and what the background worker runs.
#pragma once

#include "storage/merge_choice.h"

namespace pg_gpu::storage {

// Merges full tiers of small runs in the foreground; hands big ones to a short-lived worker. Raises nothing
// for want of a lock, space or memory. `is_stream`: the statement fills tails one after the other.
void merge_after_seal(Relation index, const RunKind *kind, bool is_stream = false);

// Beyond: what is left is more than the limits allow. Busy: somebody has the runs' locks. Deferred: the merge
// failed. InUse: only a free end is left, which readers keep from being cut off.
enum class MergeStep { Merged, NothingDue, Beyond, Deferred, Busy, InUse };

// Several merges of old runs, one after the other.
struct OldMerges {
    MergeLimits once;
    MergeLimits left;
    bool takes_pairs;  // set where nobody else will merge what is more than the limits
    int moves_left;
    int halvings;  // halves so often the number of a tier's runs that are merged
    MergeStep step;
};
OldMerges begin_old_merges(const MergeLimits &limits);

// Makes the next of the merges that tiers, dead entries and a loose file call for. One that fails for a lack
// or for damage keeps no other from being tried. Takes the runs' locks and gives them back; never waits for
// them.
MergeStep merge_next(Relation index, const RunKind *kind, OldMerges *merges);

// Merges what is called for within VACUUM's limits and asks a worker for the rest; where none can be had it
// does more itself. Never raises for lack of space or lock. Not in parallel mode.
void merge_in_vacuum(Relation index, const RunKind *kind);

// Asks for a worker if there is something to merge or to cut off.
void request_work_if_due(Relation index, const RunKind *kind);

// Takes runs below the horizon that have no living entry off the list, which needs no room. The caller holds
// the old-runs lock and no content locks. Returns the number of their pages, and in *dropped, unless that is
// nullptr, of the runs.
uint64 drop_dead_runs(Relation index, const RunKind *kind, uint64 horizon, int *dropped);

// Asks for a background worker that merges what tiers and dead entries call for. Returns false when none can
// be had: no slot is free, or the index belongs to this session alone.
bool request_merge_worker(Relation index);

// The access methods set it at load time, so that the worker finds the kind of an index's runs.
using KindResolver = const RunKind *(*)(Relation index);
void set_kind_resolver(KindResolver resolver);

}  // namespace pg_gpu::storage
