// The conditions that a query puts on columns: scan keys, made ready to be looked at once a dictionary entry
// or once a query.
#pragma once

#include "column/format/format.h"
#include "column/tail_tuple.h"
#include "column/scan/like_pattern.h"
#include "table/table.h"

namespace pg_gpu::column {

enum class KeyKind : uint8 {
    IsNull,
    IsNotNull,
    Ranges,    // ordered integers, compared by their codes
    Strings,   // strings that are equal only if they have the same bytes
    Evaluate,  // by the operator
};

struct CodeRange {
    uint64 low;
    uint64 high;  // inclusive
};

// Ranges are in order and apart from each other.
struct CodeRanges {
    CodeRange *item;
    uint32 count;
};

struct Key {
    KeyKind kind;
    int column;
    CodeRanges ranges;  // Ranges
    // Strings: in order.
    Bytes *strings;
    uint32 string_count;
    // Evaluate: any of the arguments.
    FmgrInfo function;
    Oid collation;
    Datum *arguments;
    uint32 argument_count;
    const LikePattern *
        // Patterns of the arguments, where the operator can be decided by values' bytes; or nullptr.
        *patterns;
    // The operator is a comparison of numerics: ranges by scale, made when they are first asked for.
    bool compares_numerics;
    MemoryContext context;
    CodeRanges *scaled;
    // May the operator see values of rows that the query can't see? It mustn't raise errors about them.
    bool is_safe;
};

struct Condition {
    Key *keys;
    int count;
    bool matches_nothing;
};

inline bool is_all_safe(const Condition &condition) {
    for (int i = 0; i < condition.count; i++)
        if (!condition.keys[i].is_safe)
            return false;
    return true;
}

// Allocates in the current memory context. Keys without a function get their operator's.
void make_condition(Relation index, const Format &format, const ScanKeyData *keys, int count,
                    Condition *condition);

bool evaluate(const Key &key, Datum value);

// Returns the same for a string that `patterns` decide about.
inline bool is_like_any(const Key &key, const Bytes &value) {
    for (uint32 i = 0; i < key.argument_count; i++)
        if (is_like(*key.patterns[i], value))
            return true;
    return false;
}

inline bool is_in_ranges(const CodeRanges &ranges, uint64 code) {
    for (uint32 low = 0, high = ranges.count; low < high;) {
        const uint32 middle = low + (high - low) / 2;
        if (code < ranges.item[middle].low)
            high = middle;
        else if (code > ranges.item[middle].high)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

inline bool is_among_strings(const Key &key, const Bytes &value) {
    for (uint32 low = 0, high = key.string_count; low < high;) {
        const uint32 middle = low + (high - low) / 2;
        const int order = compare_bytes(value, key.strings[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

// Returns the codes of a run's numerics that match (scaled_numeric.h), of a key that compares numerics.
const CodeRanges &ranges_of_scale(const Key &key, uint8 scale);

// Returns the values that match a key in a run without a dictionary, by their codes; nullptr: that isn't
// known.
const CodeRanges *ranges_in(const ColumnHeader &header, const Key &key);

// Can no row of the run match?
bool is_excluded(const RunHeader &header, const Condition &condition);

// Does a row of the tail match? `buffer` is for strings.
bool item_matches(const Key &key, const ColumnType &type, const TupleValue &value, ValueBuffer *buffer);

}  // namespace pg_gpu::column
