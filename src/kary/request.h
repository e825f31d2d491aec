// Requests of gpu_kary to the server process: lookups, ranges and counts in runs of keys, and arrays that are
// sorted or merged there.
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
extern const client::RequestCost sort_cost;
extern const client::RequestCost merge_cost;

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

// ---- sorting and merging (request_arrays.cpp) -------------------------------------------------------------

// Entries on the server, ordered by (key, TID), that only this session knows. Lost when the connection is,
// and with the end of the transaction; reading it then answers false, and the caller must do without it.
struct ServerArray {
    uint64 connection;
    uint64 handle;  // 0: none
    uint64 entries;
    client::RequestKind kind;  // the request that made it, of which reading it is a part
    client::Path path;
    Oid index;  // the index that the entries are of
    int key_bits;
};

// Sorts entries: begin_sort, append_to_sort as often as needed, finish_sort.
bool begin_sort(const client::Choice &choice, int key_bits, uint64 entries, ServerArray *array);
bool append_to_sort(ServerArray *array, const void *keys, const ItemPointerData *tids, uint64 count);
bool finish_sort(ServerArray *array);

// Makes an array of the live entries of the runs (their mirrored part) on the server.
bool merge_kary(const client::RunSet &set, const client::Choice &choice, ServerArray *array);

// Reads entries from `first` on: *count of them, at least one, at most `most`.
bool read_kary(const ServerArray &array, uint64 first, uint64 most, const void **keys,
               const ItemPointerData **tids, uint64 *count);

// The array becomes the mirror of a run that was written from it, entry by entry. Once the run is listed.
void name_kary(ServerArray *array, Relation index, const storage::RunEntry &run);
// Gives the array back. Does nothing to one that is lost.
void drop_kary(ServerArray *array);

}  // namespace pg_gpu::kary
