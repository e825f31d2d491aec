// Scan keys reduced to what a sorted run can answer at once.
#pragma once

#include "kary/kary.h"

namespace pg_gpu::kary {

// The entries a scan wants: keyed ones in [low, high], of these only `points` when there are any, and/or
// NULLs.
template <typename Key>
struct Condition {
    bool wants_keys;
    bool wants_nulls;
    Key low;
    Key high;  // inclusive
    bool has_points;
    Key *points;  // sorted, distinct, within [low, high]
    uint32 point_count;
};

// An int2, int4 or int8 datum as int8.
int64 integer_from_datum(Datum value, Oid type);

// Combines all scan keys (btree strategies, arrays with any operator, IS [NOT] NULL). Comparisons happen in
// int8, so constants beyond the column's type are no special case. The points are palloc'd.
template <typename Key>
void make_condition(const KeyFormat &format, const ScanKeyData *keys, int key_count,
                    Condition<Key> *condition);

// Sorts and removes duplicates in place; returns the new count.
template <typename Key>
uint32 sort_points(Key *points, uint32 count);

// Receives entries batch by batch; `reset` is called when the scan starts again in a new view.
template <typename Key>
struct EntrySink {
    void *context;
    void (*reset)(void *context);
    void (*add)(void *context, const Key *keys, ItemPointerData *tids, uint32 count);
};

// All live entries that match, of one view, in no particular order. The heap decides which are visible.
template <typename Key>
void collect_entries(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition,
                     const EntrySink<Key> &sink);

// How many entries collect_entries would give; without reading a TID where no entry is dead.
template <typename Key>
uint64 count_entries(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition);

// An inclusive range over the integers, NULL bounds open; both open also means NULL keys.
template <typename Key>
void make_range(const KeyFormat &format, const int64 *low, const int64 *high, Condition<Key> *condition);

// Visible rows of the index that match (R4, R8): where the table is all-visible a range costs two searches a
// run, and points cost no look at TIDs. *heap_fetches: entries looked up in the heap.
template <typename Key>
int64 count_visible(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition,
                    uint64 *heap_fetches);

}  // namespace pg_gpu::kary
