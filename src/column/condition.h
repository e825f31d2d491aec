// What a query asks of columns: scan keys, made ready to be looked at once a dictionary entry or once a
// query.
#pragma once

#include "column/item.h"

namespace pg_gpu::column {

enum class KeyKind : uint8 {
    IsNull,
    IsNotNull,
    Ranges,    // of ordered integers, by their codes
    Strings,   // where equal means the same bytes
    Evaluate,  // by the operator
};

struct CodeRange {
    uint64 low;
    uint64 high;  // inclusive
};

struct Key {
    KeyKind kind;
    int column;
    // Ranges: in order, apart from each other.
    CodeRange *ranges;
    uint32 range_count;
    // Strings: in order.
    Bytes *strings;
    uint32 string_count;
    // Evaluate: any of the arguments.
    FmgrInfo function;
    Oid collation;
    Datum *arguments;
    uint32 argument_count;
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

inline bool is_in_ranges(const Key &key, uint64 code) {
    for (uint32 low = 0, high = key.range_count; low < high;) {
        const uint32 middle = low + (high - low) / 2;
        if (code < key.ranges[middle].low)
            high = middle;
        else if (code > key.ranges[middle].high)
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

// Does a row of the tail match? `buffer` is for strings.
bool item_matches(const Key &key, const ColumnType &type, const ItemValue &value, ValueBuffer *buffer);

}  // namespace pg_gpu::column
