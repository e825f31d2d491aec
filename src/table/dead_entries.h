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
    uint64 row;          // number of what the entry has
};

// The dead entries of one index, as of one vacuum_seq.
struct DeadEntries {
    Oid index;  // InvalidOid: free
    uint64 vacuum_seq;
    DeadEntry *entries;  // by place
    uint64 count;
    uint64 *rows;  // as the index's EntryCounter has them
    uint64 row_count;
    uint64 debt;  // entries that counts have looked at one by one for want of such knowledge
    uint64 used;
};

// No more line pointers are remembered of an index.
inline constexpr uint64 kMaxDeadEntries = 1 << 16;

// Returns the entries known of an index; none when a VACUUM has ended or the index has changed since. They
// are good until the next call, and until the next message of a change is taken in.
DeadEntries *known_dead_entries(Relation index, uint64 vacuum_seq);

// The first entry of a dead line pointer; nullptr when nothing is known of it.
const DeadEntry *find_dead_entry(const DeadEntries &known, uint64 encoded_tid);

// Adds entries of line pointers that nothing was known of, in any order, and their rows of `row_words` words.
void add_dead_entries(DeadEntries *known, const DeadEntry *entries, uint64 count, const uint64 *rows,
                      uint64 row_count, uint64 row_words);

}  // namespace pg_gpu::table
