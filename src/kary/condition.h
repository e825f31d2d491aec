// Scan keys reduced to what a sorted run can answer at once.
#pragma once

#include "kary/kary.h"
#include "keys/keys.h"

namespace pg_gpu::kary {

// Further conditions on a column of the entries within a condition's ranges. Codes are stored codes.
template <typename Key>
struct ColumnFilter {
    const KeyColumn *column;
    Key low;
    Key high;           // inclusive
    const Key *points;  // sorted; nullptr: all within the bounds
    uint32 point_count;
    const InstantTest *instant;  // or nullptr
};

// The entries a scan wants: of those partitions whose NULLs fit, the ones in a range of keys, or in one of
// many ranges of the same extent, that also pass the filters.
template <typename Key>
struct Condition {
    bool nothing;        // no entry matches
    bool recheck;        // not every entry that matches belongs to a row that does
    NullMask nulls;      // columns that must be NULL
    NullMask not_nulls;  // columns that must not
    Key low;
    Key high;  // inclusive
    bool has_points;
    Key *points;  // sorted, distinct; each joined with low and high gives the ends of a range
    uint32 point_count;
    // The place of one array element for each point, if points are hashes of an array's elements; otherwise
    // nullptr.
    const uint32 *elements;
    const ColumnFilter<Key> *filters;
    uint32 filter_count;
};

// Says whether the condition wants entries with these columns NULL.
template <typename Key>
inline bool wants(const Condition<Key> &condition, NullMask nulls) {
    return !condition.nothing && (nulls & condition.not_nulls) == 0 &&
           (nulls & condition.nulls) == condition.nulls;
}

// A condition's ranges in one partition. From `low` to `high` covers all of them.
template <typename Key>
struct Ranges {
    Key low;
    Key high;
    Key point_low;  // joined to a point these give the ends of its range
    Key point_high;
};

template <typename Key>
inline Ranges<Key> ranges_in(const KeyFormat &format, const Condition<Key> &condition, NullMask nulls) {
    const Key low = without_nulls(format, nulls, condition.low);
    const Key high = without_nulls(format, nulls, condition.high);
    if (!condition.has_points || condition.point_count == 0)
        return {low, high, low, high};
    return {join_keys(condition.points[0], low), join_keys(condition.points[condition.point_count - 1], high),
            low, high};
}

// Says whether the filters let the key pass.
template <typename Key>
bool passes_filters(const Condition<Key> &condition, Key key);

// Says whether an entry matches.
template <typename Key>
bool matches(const KeyFormat &format, const Condition<Key> &condition, NullMask nulls, Key key);

// Combines all scan keys: btree strategies, arrays with any operator, IS [NOT] NULL. Constants may be of any
// type that the operator family compares the column with. What the condition points to is palloc'd, except
// that it refers to `format`.
template <typename Key>
void make_condition(const KeyFormat &format, const ScanKeyData *keys, int key_count,
                    Condition<Key> *condition);

// Makes the key that equals values, one for each column, of types that the operator family compares the
// columns with. Returns false when no key does. A timestamptz that stands for a date or timestamp is an
// ERROR.
template <typename Key>
bool make_key(const KeyFormat &format, const Datum *values, const Oid *types, Key *key);

// Sorts and removes duplicates in place; returns the new count.
template <typename Key>
uint32 sort_points(Key *points, uint32 count);

// Receives entries batch by batch; `reset` is called when the scan starts again in a new view. Entries of
// many points that the server process has found come without keys: by `add_points` where there is one, with
// the numbers of their points, else by `add`, with null keys. Where only a count is wanted TIDs are null,
// too.
template <typename Key>
struct EntrySink {
    void *context;
    void (*reset)(void *context);
    void (*add)(void *context, const Key *keys, ItemPointerData *tids, uint32 count);
    void (*add_points)(void *context, const uint32 *points, const ItemPointerData *tids,
                       uint32 count) = nullptr;
};

// Collects all live entries of one view that match, in no particular order. The heap decides which are
// visible.
template <typename Key>
void collect_entries(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition,
                     const EntrySink<Key> &sink);

// Counts the entries that collect_entries would give. Where no entry is dead it reads no TID.
template <typename Key>
uint64 count_entries(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition);

}  // namespace pg_gpu::kary
