// The dictionary merge: the union of the inputs' dictionaries, and for each input the map from its codes to
// the union's (X_M and X_D in Krueger and others, "Applicability of GPU Computing for Efficient Merge in
// In-Memory Databases", 2011).
#pragma once

#include "cost/cost.h"
#include "column/build/column_cursor.h"

namespace pg_gpu::column {

// A merge's knowledge of one column of one input.
struct InputColumn {
    uint64 *null_bits;
    uint64 *map;  // by number: the new code, or what to write instead
    uint64 map_count;
    bool *used;  // by number; nullptr: all are
    // Integers.
    bool raw;               // has no dictionary
    const uint64 *entries;  // sorted
    const uint32 *numbers;  // numbers of the entries; nullptr: they are numbered in order
    uint64 count;
    uint64 lowest;  // least of the integers of inputs without a dictionary
    uint64 highest;
    bool any;
    IntegerTable *table;  // values of inputs without a dictionary, shared by all inputs
    // Raw numerics' values as strings, which have the table's numbers.
    const ChunkColumn *formatted;
};

struct IntegerUnion {
    uint64 *entries;
    uint64 count;
    uint64 lowest;
    uint64 highest;
    bool any;           // is there a value at all?
    bool complete;      // holds all inputs' values
    InputColumn table;  // raw inputs' values, as one more input
    bool has_table;
};

struct StringUnion {
    uint64 count;
    uint64 bytes;  // written
    uint64 whole_bytes;
    uint64 longest;
    uint64 *blocks;
    uint64 block_count;
};

void open_integers(InputColumn *column, const Input &input, int number);
// Opens strings, and integers too, if they are numerics that have become integers.
void open_strings(InputColumn *column, const Input &input, int number);

// Calls take(numeric, its place) for a dictionary's entries until it returns false; nullptr: it isn't one
// that can be an integer. Returns false then.
template <typename Take>
bool read_scaled_entries(RunReader *reader, int number, Take take) {
    StringCursor cursor;
    begin_strings(&cursor, reader, number);
    bool goes_on = true;
    while (goes_on && next_string(&cursor)) {
        ScaledNumeric scaled;
        goes_on = take(read_scaled(cursor.value, &scaled) ? &scaled : nullptr, cursor.ordinal);
    }
    end_strings(&cursor);
    if (reader->stale)
        report_stale(reader);
    return goes_on;
}

// The scale that the inputs' numerics have if it is the same in all; false when there is none, or several.
bool find_common_scale(const Input *inputs, int count, int number, uint8 *scale);
// Opens numerics of this scale as integers; false when live rows of a dictionary have others.
bool open_scaled(InputColumn *column, const Input &input, int number, uint8 scale);

// Gathers raw inputs' distinct values, unless they are too many for a dictionary of `rows` rows to pay, whose
// entries have so many bits (0: as many as the values need). Up to `listed` of them are gathered whether it
// pays or not, if memory allows.
void tabulate_raw(InputColumn *columns, const Input *inputs, int count, int number, uint64 rows,
                  uint32 entry_bits, uint64 listed, IntegerUnion *merged);

// Merged by the server where pg_gpu.path or the costs have it so: the path taken.
client::Path unite_integers(InputColumn *columns, int count, IntegerUnion *merged);

// Makes an input's map lead to values less `base` instead of codes.
void map_to_values(InputColumn *column, const IntegerUnion &merged, uint64 base);

// Writes the union to the stream as it goes.
void unite_strings(InputColumn *columns, const Input *inputs, int count, int number, StreamWriter *stream,
                   StringUnion *merged);

}  // namespace pg_gpu::column
