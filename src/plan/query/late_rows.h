// Rows whose columns the index lacks: the engine finds them by the columns that it has, and the node reads
// them in the table, by the numbers that the engine gives of them (SourceKind::Number).
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/groups.h"
#include "table/visibility.h"

namespace pg_gpu::plan::query {

// ---- planning ---------------------------------------------------------------------------------------------

// Is there a column among a row's expressions that only the table has?
bool lacks_columns(const IndexOptInfo *index, const List *row);

// The expression of a row's number, behind those that rows are sorted by.
Node *make_row_number();

// What it takes to read so many rows in the table.
Cost cost_late_rows(const TableAggregate &table, double rows);

// ---- execution --------------------------------------------------------------------------------------------

struct LateRows {
    Relation heap;
    Relation index;
    table::HeapProbe probe;
    ProjectionInfo *projection;  // of a row of the table to the node's own tuple
    int distance;                // how many rows ahead pages are read
    const ItemPointerData *tids;
    uint64 count;
    uint64 next;
    // Of rows with windows' functions: the engine's records of them, of so many words.
    const uint64 *records;
    uint32 record_words;
};

// `tuple` are the expressions of the node's own tuple. Windows' functions are the last ones, and NULL at
// first.
void begin_late_rows(LateRows *rows, CustomScanState *node, Relation heap, Relation index, List *tuple,
                     int functions);
void end_late_rows(LateRows *rows);

// Takes the rows that the engine has found, in their order or, if they have none, in the table's. In the
// current memory context. `functions` of the query's results are windows'. False: the view is stale, or has
// no such rows.
bool take_late_rows(LateRows *rows, column::ColumnView *view, const CompiledQuery &compiled,
                    const RecordLayout &layout, column::QueryResult *records, bool is_ordered,
                    uint32 functions);

// Puts the next row into the node's own tuple; *record: the engine's, if that has functions. False: there is
// none.
bool next_late_row(LateRows *rows, CustomScanState *node, const uint64 **record);

}  // namespace pg_gpu::plan::query
