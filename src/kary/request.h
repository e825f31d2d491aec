// Requests of gpu_kary to the server process: lookups, ranges and counts in runs of keys.
#pragma once

#include "residency/residency.h"

namespace pg_gpu::kary {

// The first `mirrored_entries` entries of storage::kEntrySection, whose pages hold `per_page` keys from the
// content's first byte on, then as many TIDs (the last page: the rest of both), ordered by (key, TID).
extern const client::MirrorKind kary_mirror;
struct KaryMirror : client::MirrorFormat {
    uint32 key_bytes;  // on pages: 4, 8, 12 (the low 8, then the high 4), 16
    uint32 per_page;
};

extern const client::RequestCost lookup_cost;
extern const client::RequestCost range_cost;
extern const client::RequestCost count_cost;

// Live entries with one of the keys, which are best sorted. Runs that aren't mirrored are loaded first when
// pg_gpu.mirror has it so and it pays; dead bitmaps as new as the set's vacuum_seq.
bool lookup_kary(const client::RunSet &set, const client::Choice &choice, const void *keys, uint64 key_count,
                 client::EntriesResult *result);

// The same without offsets, for many distinct keys: these take eight bytes for each key and run, where most
// runs have no entry of most keys.
enum class Matched { Numbered, Tids, Number };
struct MatchedEntries {
    uint64 count;
    const ItemPointerData
        *tids;  // in the order of the keys; unless it is their number alone that is asked for
    // Number of the key that each has, where that was requested; the server process's word.
    const uint32 *items;
};
struct MatchesResult {
    uint64 items;  // the first so many are answered; ask again for the others
    uint64 count;  // entries of all runs
    MatchedEntries runs[client::kMaxRuns];
};
bool match_kary(const client::RunSet &set, const client::Choice &choice, const void *keys, uint64 key_count,
                Matched form, MatchesResult *result);

// Finds live entries from low[i] to high[i], both included, with their keys when they are wanted.
bool range_kary(const client::RunSet &set, const client::Choice &choice, const void *low, const void *high,
                uint64 range_count, bool with_keys, client::EntriesResult *result);

bool count_kary(const client::RunSet &set, const client::Choice &choice, const void *low, const void *high,
                uint64 range_count, const client::VisibleBlocks &visible, client::CountResult *result);

}  // namespace pg_gpu::kary
