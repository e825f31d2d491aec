// What an index's columns are like, and how runs' codes and loose rows' values become a query's columns.
#pragma once

#include "column/query/query_request.h"
#include "plan/query/expression.h"
#include "plan/query/inputs.h"
#include "plan/query/members.h"

namespace pg_gpu::plan::query {

// By the headers of all runs, for the planner, which doesn't know the rows of the tail. In the current memory
// context.
ColumnFacts *read_index_facts(Relation index, const column::Format &format);

// Of a table whose rows are its members': the columns that any of these read. nullptr: they keep values of a
// column in several ways.
ColumnFacts *combine_facts(const ColumnFacts *const *facts, const MemberColumns *columns, int members,
                           int attributes);

// The same of an input, of whose columns these are the expressions.
ColumnFacts *guess_input_facts(const List *columns);

inline constexpr int kMaxScale = 38;
inline constexpr uint8 kSpecialScale = UINT8_MAX;

// Which scales numerics have, and the greatest number of each without its point.
struct DecimalSpan {
    double most[kMaxScale + 1];
    bool has_scale[kMaxScale + 1];
};

// The numerics of a run's dictionary.
struct DecimalRun {
    DecimalSpan span;
    uint64 count;
    uint64 *words;     // two of each
    uint8 *scales;     // kSpecialScale: the first word is which special numeric it is
    bool has_special;  // some aren't finite
    bool has_odd;      // some have too many digits
};

// A view's columns, or an input's.
struct ViewColumns {
    column::RemoteRows *rows;  // nullptr: it is an input
    ColumnFacts *facts;
    const DecimalRun **decimals;  // by run and column; nullptr: it has no dictionary of numerics
    const InputRows *input;
    int table;              // of the query's, from 0 on
    MemberColumns columns;  // of a member of that table; nullptr: columns are numbered as the table's
};

// Those of all tables, in their order: a table with members has one of each.
struct TableViews {
    const ViewColumns *views;
    int count;
};

// The view's column, from 0 on, for one of its table's.
inline int column_of_view(const ViewColumns &view, int column) {
    return view.columns == nullptr ? column : view.columns[column] - 1;
}

inline bool is_empty(const column::ColumnHeader &header, uint64 entries) {
    return header.nulls >= entries;
}

// By all rows that the view has. Only the columns that are used are looked at. In the current memory context.
ViewColumns read_view_columns(column::RemoteRows *rows, const Bitmapset *used);

ViewColumns read_input_columns(const InputRows *input);

// The columns of one table's scan: by run of its view, and the input of its loose rows.
struct ScanColumns {
    const engine::RunColumn **by_run;
    engine::InputSource own_rows;
};

// A numeric that PostgreSQL has computed, as a number of the scale. False: it has no room.
inline constexpr const char *kNoRoomForDigits = "a computed numeric isn't finite, or has too many digits";
bool read_computed(Numeric numeric, int scale, Int128 *number, uint8 *shown);

// How large maps of runs' codes are made: with values, or by names alone, under which the server process may
// keep them from requests before.
enum class MapForm : uint8 { Named, Whole };

// Makes them by view. Returns nullptr, or why that can't be done.
const char *make_scan_columns(const TableViews &views, Program *program, ExprContext *context, MapForm maps,
                              ScanColumns *scans);

}  // namespace pg_gpu::plan::query
