// Rows of joined tables in the memory of the session, found by their keys.
#pragma once

#include "column/format/value.h"
#include "plan/query/join_query.h"

namespace pg_gpu::plan {

// Which of a column's distinct values rows have; NULL has the code `count`. Without `by_row` that isn't
// known.
struct ColumnCodes {
    uint32 *by_row;
    uint32 count;
};

// One table's rows. Those that are cached for later statements (join_cache.h) lie elsewhere until the
// transaction ends.
struct JoinedRows {
    JoinedTable table;
    uint32 count;
    uint32 room;
    // The columns of each row, one row behind the other.
    Datum *values;
    bool *nulls;
    Datum *keys;  // one of `values`, or copied
    size_t key_stride;
    // Keys by their hashes. Rows are numbered from 1 on; 0 is none.
    uint32 *hashes;
    uint32 *slots;
    uint32 mask;
    // Rows' numbers by the key's number less the least one, where numbers lie close to each other: `numbers`
    // isn't 0 then. Else rows are found by their hashes. nullptr: nobody has looked for one yet (index_rows).
    uint32 *by_number;
    int64 least_number;
    uint64 numbers;
    MemoryContext context;  // of the statement; of rows that are cached, theirs
    JoinedRows *cached;     // the same rows, as they are cached for later statements; nullptr: they aren't
    ColumnCodes *codes;     // by column
    uint64 identity;  // of rows that are cached for later statements, which no others have; 0: they aren't
    FmgrInfo hash_outer;
    FmgrInfo hash_inner;
    FmgrInfo equal;
    ExprState *outer;
    ExprState *inner;
    // Are both sides columns whose integers are equal if their numbers are (number_of_code)?
    bool is_by_number;
    column::ColumnType outer_type;
    column::ColumnType inner_type;
};

// All of them. A joined row's columns are those of `row`.
struct JoinedTables {
    int count;
    JoinedRows *table;
    TupleDesc row;
    int index_columns;
    size_t bytes;  // that the rows take
    int cached;    // tables whose rows are an earlier statement's
};

inline constexpr uint32 kNoMatch = 0;

// Rows are numbered from 0 on here.
inline Datum key_of_row(const JoinedRows &rows, uint32 row) {
    return rows.keys[row * rows.key_stride];
}

// Reads the tables' plans to their ends. The current memory context gets the rows, which may take `limit`
// bytes. *problem says why that can't be, in words; nullptr: it is done.
JoinedTables *read_joined_tables(const List *joins, const List *plans, TupleDesc index_row,
                                 ExprContext *context, size_t limit, const char **problem);

// The plans of joined tables, which stand behind the replaced one among a node's children. Those that have
// been read begin anew. Lists lie in the current memory context.
List *joined_plans(const CustomScanState *node, bool are_read);

// Makes by_number, if rows are found by it.
void index_rows(JoinedRows *rows);

// The number of the row that fits a joined row, whose columns up to the table's own are there. Nothing is
// reset in the context.
uint32 find_match(JoinedRows *rows, ExprContext *context, TupleTableSlot *row);

// The same for what the table's key is compared with.
uint32 find_key(JoinedRows *rows, Datum key);

// Puts a row's values into a joined row; kNoMatch: NULLs.
void put_match(const JoinedRows &rows, uint32 number, TupleTableSlot *row);

// Fills in the columns of all joined tables, where the index's are there.
void put_matches(JoinedTables *tables, ExprContext *context, TupleTableSlot *row);

}  // namespace pg_gpu::plan
