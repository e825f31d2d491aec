// Scans whose entries are looked up in the table by the access method itself: rows come in the table's order,
// each page of it read once, and are those that meet the scan keys, so that nothing is left to recheck.
#pragma once

#include "kary/condition.h"
#include "kary/heap_rows.h"
#include "kary/row_test.h"

namespace pg_gpu::kary {

struct CheckedRows {
    LookupResult entries;
    HeapRows rows;
    RowTest *test;
    TupleTableSlot *slot;
    // The entries whose rows lie on one page.
    ItemPointerData tids[kRowsAtOnce];
    bool passed[kRowsAtOnce];
    int count;
    int at;
};

// Finds the entries, in one view. The snapshot must be an MVCC one. The keys must be detoasted, and stay as
// they are until the end.
template <typename Key>
void begin_checked_rows(CheckedRows *checked, Relation heap, Relation index, Snapshot snapshot,
                        const KeyFormat &format, const Condition<Key> &condition, ScanKeyData *keys,
                        int key_count);
void end_checked_rows(CheckedRows *checked);

// Gives the TID of the next entry whose row the snapshot sees and that meets the scan keys; false at the end.
bool next_checked_entry(CheckedRows *checked, ItemPointerData *tid);

// Gives the same entries in both directions, as amgettuple needs it. Entries that were returned are kept in
// the current memory context. PostgreSQL starts scans that have no order forwards.
struct CheckedScan {
    CheckedRows rows;
    ItemPointerData *tids;
    int64 room;
    int64 count;
    int64 at;  // place of the entry last returned; -1 before the first, count behind the last
    int64 marked;
    bool complete;
};

bool step_checked_scan(CheckedScan *scan, bool forward, ItemPointerData *tid);

}  // namespace pg_gpu::kary
