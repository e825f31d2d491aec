// Rows of a merge's inputs: their order, and their codes as that order asks for them.
#pragma once

#include "column/build/run_builder.h"

namespace pg_gpu::column {

// Consecutive rows of one input.
struct Segment {
    uint32 input;
    uint32 first;
    uint32 count;
};

struct RowOrder {
    Segment *segments;
    uint64 count;
    uint64 room;
    uint64 rows;
};

// Merges the live rows of all inputs by their places.
void merge_places(const Input *inputs, int count, TidWriter *tids, RowOrder *order);

// A ColumnCursor reads one column's codes of one input forward: either `numbers` of a dictionary, or `values`
// less `base`.
struct ColumnCursor {
    CodeCursor<uint32> number_cursor;
    CodeCursor<uint64> value_cursor;
    bool from_run;
    uint64 start;  // row of the first that is in hand
    uint64 end;
    const uint32 *numbers;
    const uint64 *values;
    uint64 base;
    uint64 at;  // place of the row that is looked for
};

void begin_column_cursor(ColumnCursor *column_cursor, const Input &input, int column);
// Moves forward to a row; how many from there on are in hand, at most `wanted`.
uint32 seek_column_cursor(ColumnCursor *column_cursor, uint64 row, uint32 wanted);
void end_column_cursor(ColumnCursor *column_cursor);

uint64 input_rows(const Input &input);

// Is the row to be left out?
inline bool is_dropped(const Input &input, uint64 row) {
    return input.reader != nullptr && is_dead(input.reader, row);
}

}  // namespace pg_gpu::column
