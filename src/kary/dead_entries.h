// What this session knows of the index entries of dead line pointers, whose rows can't tell their keys any
// more. Why it holds: README.md, "Counts beside changed blocks".
#pragma once

#include "kary/format.h"

namespace pg_gpu::kary {

// The entries that an index has of one dead line pointer are consecutive in DeadEntries. One that has none
// stands there once, with `absent`.
struct DeadEntry {
    uint64 place;  // place_of_tid
    Key128 key;
    NullMask nulls;
    bool absent;
};

// Of one index, as of one vacuum_seq.
struct DeadEntries {
    Oid index;  // InvalidOid: free
    uint64 vacuum_seq;
    DeadEntry *entries;  // by place
    uint64 count;
    uint64 debt;  // entries that counts have looked at one by one for want of such knowledge
    uint64 used;
};

// No more line pointers are remembered of an index.
inline constexpr uint64 kMaxDeadEntries = 1 << 16;

// What is known of an index; nothing when a VACUUM has ended or the index has changed since. Good until the
// next call, and until the next message of a change is taken in.
DeadEntries *known_dead_entries(Relation index, uint64 vacuum_seq);

// The first entry of a dead line pointer; nullptr when nothing is known of it.
const DeadEntry *find_dead_entry(const DeadEntries &known, uint64 place);

// Adds entries of line pointers that nothing was known of, in any order.
void add_dead_entries(DeadEntries *known, const DeadEntry *entries, uint64 count);

}  // namespace pg_gpu::kary
