// Tables that the table of a GpuAggregate's index is joined with, as planner and executor hand them on. A
// joined row has the index's columns, and behind them those that each of the tables' plans gives.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// Its rows are found by a column of the index's table, or by one of a table before this one: each of its
// columns depends on one column of the index, by codes of which it can be looked up.
struct JoinedTable {
    JoinType type;  // inner, left, semi or anti
    int root;       // the index's column, from 0 on
    int first;      // its own columns in a joined row, from 0 on
    int columns;    // how many it has there
    int previous;   // the table that `outer` is over, from 0 on; -1: the index's
    int rows;       // that it is expected to have
    int kept;       // how many of a million of the table's rows these are
    Expr *outer;    // what its key is compared with
    Expr *inner;    // its key
    Oid equality;   // of `outer` and `inner`, in this order
    Oid collation;
    char *condition;  // the same for EXPLAIN
};

inline constexpr int kMaxJoinedTables = 16;

// Must a row have a match to be there?
inline bool is_required(const JoinedTable &table) {
    return table.type == JOIN_INNER || table.type == JOIN_SEMI;
}

// As nodes that can be copied.
List *pack_joined_table(const JoinedTable &table);
JoinedTable unpack_joined_table(const List *joins, int number);

// The table, from 0 on, that a joined row's column is of; -1: the index's.
int table_of_column(const List *joins, int column);

// The index's column that a joined row's column depends on.
int root_of_column(const List *joins, int column);

// The columns of a joined row, from 0 on, that an expression is over.
Bitmapset *columns_of(const void *expression);

// The index's columns that an expression over joined rows depends on.
Bitmapset *roots_of(const List *joins, const void *expression);

// How many rows of joined tables an expression is expected to be evaluated for in each run.
double expected_matches(const List *joins, const void *expression);

bool is_over_joined_table(const List *joins, const void *expression);

}  // namespace pg_gpu::plan
