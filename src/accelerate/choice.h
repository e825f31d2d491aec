// The columns that a table's gpu_column index should have, by recorded statements.
#pragma once

#include "plan/advise/advise.h"

namespace pg_gpu::accelerate {

// Statements, and how long they took.
struct Demand {
    int64 calls;
    double milliseconds;
};

// What recorded statements take from a table that an index of these columns would make cheaper.
struct TableDemand {
    plan::Proposal index;
    Demand all;
    double saved_milliseconds;  // if time goes by cost
    Demand *columns;            // by attribute number, from 1
};

struct Workload {
    List *demands;  // TableDemands
    int readers;    // statements that read the table that is looked at
    plan::LeftOut left_out;
};

// Plans the statements without indexes that were made by ourselves, and with those that they ask for. All
// tables are looked at where `table` is InvalidOid.
Workload find_demands(const plan::Recording &recording, Oid table);

// Returns the table's; nullptr: no statement asks for columns.
TableDemand *find_demand(const Workload &workload, Oid table);

// Counts dropped columns, too. Returns 0 where the table is gone.
AttrNumber count_columns(Oid table);

// Returns the operator class that a gpu_column index has the column with; otherwise InvalidOid, and why it
// can't have it.
Oid find_class(Oid table, AttrNumber column, const char **refused);

// Returns all columns that an index can have and that aren't too wide, as many as it has room for.
// `left_out[n]` is why column n isn't among them, or nullptr.
plan::Proposal choose_all_columns(Oid table, const char **left_out);

}  // namespace pg_gpu::accelerate
