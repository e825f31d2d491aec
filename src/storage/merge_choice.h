// Which runs are merged next (rule "Tiers").
#pragma once

#include "storage/runs.h"

namespace pg_gpu::storage {

inline constexpr uint16 kMaxLevels = 40;

// The level of a run that a merge has found damaged: no merge takes it again that nobody asked for.
inline constexpr uint16 kSetAsideLevel = 255;

// Runs of this level that make one of the next.
int tier_size(uint16 level, int fanout, bool is_stream);

struct Choice {
    RunEntry *runs;  // the first of those that were chosen from
    int count;       // 0: none
    uint64 weight;   // what the merge takes, in entries of gpu_kary
    uint64 pages;    // that its living entries take now
};

// How much may be merged at once.
struct MergeLimits {
    uint64 weight;
    uint64 pages;
};

inline constexpr MergeLimits kNoLimits = {PG_UINT64_MAX, PG_UINT64_MAX};

// Half of the pages that living entries take now.
uint64 half_of_living_pages(const RunEntry *runs, int count);

// Moves the runs of which no merge may be chosen to the end; returns how many are left.
int leave_out_set_aside(RunEntry *runs, int count);

// Who chooses, and what he may.
struct ChoiceRule {
    const RunKind *kind;
    int fanout;
    bool is_stream;       // whoever inserts fills tails one after the other
    MergeLimits once;     // for a merge with all of his time
    MergeLimits left;     // for this one
    bool takes_pairs;     // of a tier that is too large, two runs already; else as many as make a tier
    int halvings;         // so often half as many runs of a tier as there are, two at least
    uint64 max_together;  // pages that the living entries of several runs, merged, may take
};

// The lowest full tier, or the smallest runs of it that are within the limits. *beyond: there is a tier that
// `once` is too little for, so that somebody else must merge it.
Choice choose_tier(RunEntry *runs, int count, const ChoiceRule &rule, bool *beyond);

// The smallest run in which dead entries have piled up, or the smallest runs that take many more pages than
// one run of them would: what leaves fewer pages.
Choice choose_wasteful(RunEntry *runs, int count, const ChoiceRule &rule, bool *beyond);

// The run that lies last in the file, if the file is mostly free and has room for it further in front. `used`
// is as used_extents says.
Choice choose_last(RunEntry *runs, int count, const ChoiceRule &rule, Extent *used, int used_count,
                   bool *beyond);

// The space of entries in the largest run of an index. In small runs, whose sections begin a page each and
// which have dictionaries of their own, entries take many times as much.
struct Density {
    uint32 pages;
    uint64 entries;
};

Density density_of(const RunEntry *runs, int count);

// About how many pages the runs' living entries will take when they are merged.
uint32 merged_pages(const Density &density, const RunEntry *runs, int count);

}  // namespace pg_gpu::storage
