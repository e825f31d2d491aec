// Keys of groups whose rows have equal values of different bytes (1.0 and 1.00): as a row of the group has
// them.
#pragma once

#include "plan/query/aggregate_output.h"
#include "table/table.h"

namespace pg_gpu::plan {

struct KeyRows {
    bool is_open;
    Relation index;
    ExprContext *context;
    TupleTableSlot *row;  // of the index's columns, or a joined one
    JoinedTables *joins;
    table::HeapProbe probe;
    ExprState **keys;  // nullptr: all values of the key have the same bytes
};

// Allocates in the current memory context, which must last until end_key_rows.
void begin_key_rows(KeyRows *rows, const AggregateRequest &request, const AggregateOutput &output);
// Does nothing where none were begun.
void end_key_rows(KeyRows *rows);

// Puts the group's keys of that kind in.
void read_key_row(KeyRows *rows, const AggregateOutput &output, uint64 group, Datum *values, bool *nulls);

}  // namespace pg_gpu::plan
