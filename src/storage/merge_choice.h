// The choice of the runs that are merged next (rule "Tiers").
#pragma once

#include "storage/runs.h"

namespace pg_gpu::storage {

inline constexpr uint16 kMaxLevels = 40;

// A run of this level was found damaged by a merge: afterwards only merges that somebody asked for take it.
inline constexpr uint16 kSetAsideLevel = 255;

// Returns the number of runs of this level that make one of the next.
int tier_size(uint16 level, int fanout, bool is_stream);

struct Choice {
    RunEntry *runs;  // the first of the runs that were chosen
    int count;       // 0: none
    uint64 weight;   // cost of the merge, in entries of gpu_kary
    uint64 pages;    // pages that its living entries take now
};

// The most that may be merged at once.
struct MergeLimits {
    uint64 weight;
    uint64 pages;
};

inline constexpr MergeLimits kNoLimits = {PG_UINT64_MAX, PG_UINT64_MAX};

// Returns half of the pages that living entries take now.
uint64 half_of_living_pages(const RunEntry *runs, int count);

// Moves the runs of which no merge may be chosen to the end; returns how many are left.
int leave_out_set_aside(RunEntry *runs, int count);

// The rule of a choice: how many runs make a tier, and how much may be merged.
struct ChoiceRule {
    const RunKind *kind;
    int fanout;
    bool is_stream;    // whoever inserts fills tails one after the other
    MergeLimits once;  // for a merge that has all of the chooser's time
    MergeLimits left;  // for this merge
    // Of a tier that is beyond the limits two runs are worth merging; else only as many as make a tier.
    bool takes_pairs;
    int halvings;  // halves so often the number of a tier's runs that are merged, two at least
    // The most pages that the living entries of several runs may take once they are merged.
    uint64 max_together;
};

// Chooses the lowest full tier, or the smallest runs of it that are within the limits. *beyond is set when
// there is a tier that `once` is too little for, so that somebody else must merge it.
Choice choose_tier(RunEntry *runs, int count, const ChoiceRule &rule, bool *beyond);

// Chooses the smallest run in which dead entries have piled up, or the smallest runs that take many more
// pages than one run of them would, of both what leaves fewer pages.
Choice choose_wasteful(RunEntry *runs, int count, const ChoiceRule &rule, bool *beyond);

// Chooses the run that lies last in the file, if the file is mostly free and has room for it further in
// front. `used` is the result of used_extents.
Choice choose_last(RunEntry *runs, int count, const ChoiceRule &rule, Extent *used, int used_count,
                   bool *beyond);

// The space of entries in the largest run of an index. In small runs, whose sections begin a page each and
// which have dictionaries of their own, entries take many times as much.
struct Density {
    uint32 pages;
    uint64 entries;
};

Density density_of(const RunEntry *runs, int count);

// Estimates the pages that the runs' living entries will take when they are merged.
uint32 merged_pages(const Density &density, const RunEntry *runs, int count);

}  // namespace pg_gpu::storage
