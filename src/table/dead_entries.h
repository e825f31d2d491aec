// This session's knowledge of index entries of dead line pointers, whose rows no longer say which values
// these have. Why it holds: src/storage/README.md, "Counts beside changed blocks".
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::table {

// The entries that an index has of one dead line pointer are consecutive in DeadEntries. One that has none
// stands there once, without a row.
struct DeadEntry {
    static constexpr uint64 kNoRow = PG_UINT64_MAX;
    uint64 encoded_tid;  // encode_tid
    uint64 row;          // number of the entry's row among DeadEntries::rows
};

// The dead entries of one index, as of one vacuum_seq.
struct DeadEntries {
    Oid index;  // InvalidOid: free
    uint64 vacuum_seq;
    DeadEntry *entries;  // sorted by encoded TID
    uint64 count;
    uint64 *rows;  // values of the entries, laid out as the index's EntryCounter has them
    uint64 row_count;
    uint64 debt;  // entries that counts have looked at one by one for want of such knowledge
    uint64 used;
};

// At most so many line pointers of an index are remembered.
inline constexpr uint64 kMaxDeadEntries = 1 << 16;

// Returns the entries known of an index; none when a VACUUM has ended or the index has changed since. The
// pointer is good until the next call, and until the next invalidation message is taken in.
DeadEntries *known_dead_entries(Relation index, uint64 vacuum_seq);

// Returns the first entry of a dead line pointer; nullptr when nothing is known of it.
const DeadEntry *find_dead_entry(const DeadEntries &known, uint64 encoded_tid);

// Adds entries of line pointers of which nothing was known, in any order, and their rows of `row_words`
// words.
void add_dead_entries(DeadEntries *known, const DeadEntry *entries, uint64 count, const uint64 *rows,
                      uint64 row_count, uint64 row_words);

}  // namespace pg_gpu::table
