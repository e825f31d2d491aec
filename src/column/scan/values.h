// Values of a column's selected rows, with how many rows have each: a dictionary's once a run, others row by
// row. No value is seen that no selected row has.
#pragma once

#include "column/scan/view.h"

namespace pg_gpu::column {

// counts[code] (2^bits, at most 32) for one run's column; returns how many selected rows are NULL.
uint64 count_codes(ColumnView *view, int run, int column, uint32 *counts);

// Integers in so few bits count as if they had a dictionary of all numbers.
inline constexpr uint32 kMaxCountedBits = 16;
static_assert(kMaxCountedBits < kLeastScaledBits);

// Moves the values whose bit is set to the front; how many.
inline uint32 take_selected(const uint64 *values, uint64 bits, uint64 *taken) {
    uint32 count = 0;
    for (; bits != 0; bits &= bits - 1)
        taken[count++] = values[__builtin_ctzll(bits)];
    return count;
}

// Calls visit(codes, bits) for each group of a column's codes in one run that the session reads, with the
// bits of its selected rows that have a value; returns how many selected rows are NULL.
template <typename Code, typename Visit>
uint64 visit_selected(ColumnView *view, int run, int column, Visit visit) {
    RunReader *reader = &view->runs[run];
    const ColumnHeader &header = reader->header.column[column];
    uint64 *null_bits = read_null_bits(reader, column);
    uint64 nulls = 0;
    CodeCursor<Code> cursor;
    begin_codes(&cursor, reader, header.codes, header.bits, reader->run.entries);
    uint64 word = 0;
    while (const uint32 groups = next_groups(&cursor)) {
        for (uint32 i = 0; i < groups; i++, word++) {
            uint64 bits = view->selected[run][word];
            if (null_bits != nullptr) {
                nulls += static_cast<uint64>(__builtin_popcountll(bits & null_bits[word]));
                bits &= ~null_bits[word];
            }
            visit(cursor.values + i * kGroup, bits);
        }
    }
    end_codes(&cursor);
    if (null_bits != nullptr)
        pfree(null_bits);
    return nulls;
}

// Calls on_integer(code, rows) or on_string(bytes, rows), and on_integers(differences, count, base, header)
// for integers, and numerics that are some, that come row by row, at most 64 at a time; returns how many rows
// are NULL. Means nothing when a run is stale afterwards.
template <typename OnInteger, typename OnIntegers, typename OnString>
uint64 visit_values(ColumnView *view, int column, OnInteger on_integer, OnIntegers on_integers,
                    OnString on_string) {
    const bool is_integer = view->format->types[column].is_integer;
    uint64 nulls = 0;
    for (int run = 0; run < view->run_count; run++) {
        RunReader *reader = &view->runs[run];
        const ColumnHeader &header = reader->header.column[column];
        if (is_remote(view, run) && view->counted == nullptr)
            continue;
        if (is_dictionary(header) || header.bits <= kMaxCountedBits) {
            auto *counts = allocate_zeroed<uint32>(UINT64CONST(1) << header.bits);
            nulls += count_codes(view, run, column, counts);
            if (!is_dictionary(header)) {
                for (uint64 i = 0; i < UINT64CONST(1) << header.bits; i++)
                    if (counts[i] > 0)
                        on_integer(i + header.base, uint64{counts[i]});
            } else if (is_integer) {
                uint64 *entries = read_integer_dictionary(reader, column);
                for (uint64 i = 0; i < header.distinct && !reader->stale; i++)
                    if (counts[i] > 0)
                        on_integer(entries[i], uint64{counts[i]});
                pfree(entries);
            } else {
                StringCursor cursor;
                begin_strings(&cursor, reader, column);
                while (next_string(&cursor))
                    if (counts[cursor.ordinal] > 0)
                        on_string(cursor.value, uint64{counts[cursor.ordinal]});
                end_strings(&cursor);
            }
            pfree(counts);
            continue;
        }
        nulls += visit_selected<uint64>(view, run, column, [&](const uint64 *values, uint64 bits) {
            if (bits == PG_UINT64_MAX) {
                on_integers(values, kGroup, header.base, header);
            } else if (bits != 0) {
                uint64 taken[kGroup] = {};
                const uint32 count = take_selected(values, bits, taken);
                on_integers(taken, count, header.base, header);
            }
        });
    }
    for (uint32 i = 0; i < view->loose_count; i++) {
        if (!view->loose[i].selected)
            continue;
        const TupleValue &value = view->loose[i].values[column];
        if (value.is_null)
            nulls++;
        else if (is_integer)
            on_integer(value.integer, uint64{1});
        else
            on_string(value.bytes, uint64{1});
    }
    return nulls;
}

// ---- distinct values --------------------------------------------------------------------------------------

// One of a column's values, as its type's equality distinguishes them, with the number of rows that have it.
struct DistinctValue {
    uint64 integer;
    Bytes bytes;
    uint64 count;
};

struct DistinctValues {
    DistinctValue *values;
    uint64 count;
    uint64 nulls;
    bool is_ordered;  // by btree's default operators; else in no order that means anything
};

// Returns a column's distinct values, palloc'd in the current memory context together with strings' bytes.
DistinctValues find_distinct(ColumnView *view, int column);

inline Datum datum_of_value(const ColumnType &type, const DistinctValue &value, ValueBuffer *buffer) {
    return type.is_integer ? decode_integer(type, value.integer) : datum_of(type, value.bytes, buffer);
}

}  // namespace pg_gpu::column
