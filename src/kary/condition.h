// Scan keys reduced to what a sorted run can answer at once.
#pragma once

#include "kary/kary.h"

namespace pg_gpu::kary {

// The entries a scan wants: keyed ones in [low, high], of these only `points` when there are any, and/or NULLs.
template <typename Key> struct Condition {
    bool wants_keys;
    bool wants_nulls;
    Key low;
    Key high; // inclusive
    bool has_points;
    Key *points; // sorted, distinct, within [low, high]
    uint32 point_count;
};

// Combines all scan keys (btree strategies, arrays with any operator, IS [NOT] NULL). Comparisons happen in int8,
// so constants beyond the column's type are no special case. The points are palloc'd.
template <typename Key>
void make_condition(const KeyFormat &format, const ScanKeyData *keys, int key_count, Condition<Key> *condition);

// Sorts and removes duplicates in place; returns the new count.
template <typename Key> uint32 sort_points(Key *points, uint32 count);

// Sets the condition to nothing.
template <typename Key> void match_nothing(Condition<Key> *condition);

} // namespace pg_gpu::kary
