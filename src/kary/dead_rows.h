// Rows that nobody can see any more, as this session has found them by scans of an index. Scans that follow
// pass over their entries, so that a queue's next scan doesn't look at all the rows that were taken from it.
// Why it holds: src/storage/README.md, "Rows that a session knows to be dead".
#pragma once

#include "table/table.h"

namespace pg_gpu::kary {

// A leaf page of a run all of whose entries are dead.
struct DeadLeaf {
    uint64 run_id;
    int64 leaf;
};

// The rows of one index, as of one vacuum_seq.
struct DeadRows {
    static constexpr uint32 kMaxLeaves = 256;
    Oid index;  // InvalidOid: free
    uint64 vacuum_seq;
    uint64 *slots;  // encoded TIDs, in a table of open addressing; 0: free
    uint32 bits;    // of a slot's number
    uint32 count;
    DeadLeaf leaves[kMaxLeaves];  // the newest at `next_leaf` - 1
    uint32 leaf_count;
    uint32 next_leaf;
    uint64 used;
};

// Returns the rows known of an index; nullptr when there are none, and after a VACUUM has ended or the index
// has changed. The pointer is good until the next row is noted, and until the next invalidation message is
// taken in.
const DeadRows *known_dead_rows(Relation index, uint64 vacuum_seq);

// Notes a row that an entry of a view with this vacuum_seq leads to, and that is dead to all snapshots.
void note_dead_row(Relation index, uint64 vacuum_seq, const ItemPointerData &tid);

// Notes a leaf page that has been read from such a view.
void note_dead_leaf(Relation index, uint64 vacuum_seq, const DeadLeaf &leaf);

bool is_known_dead(const DeadRows &known, const DeadLeaf &leaf);

inline uint64 *dead_row_slot(const DeadRows &known, uint64 encoded_tid) {
    const uint64 mask = (uint64{1} << known.bits) - 1;
    uint64 number = (encoded_tid * 0x9e3779b97f4a7c15) >> (64 - known.bits);
    while (known.slots[number] != 0 && known.slots[number] != encoded_tid)
        number = (number + 1) & mask;
    return &known.slots[number];
}

inline bool is_known_dead(const DeadRows &known, const ItemPointerData &tid) {
    return *dead_row_slot(known, table::encode_tid(tid)) != 0;
}

}  // namespace pg_gpu::kary
