// The rows of all tables that a GpuAggregate reads: a view of each, all of them open at the same time.
#pragma once

#include "column/query/aggregate_remote.h"

namespace pg_gpu::plan {

// A table, and the index that answers for it. Several have indexes with the same columns.
struct AggregateMember {
    Relation heap;
    Relation index;
    const column::Format *format;
    column::Condition condition;
};

struct MemberRows {
    column::ColumnView *view;
    column::RemoteRows *remote;  // nullptr: the session looks through all runs
    int first_part;              // among all members' parts
    int part_count;
};

struct AllRows {
    MemberRows *member;
    int count;
};

// All members' parts one behind the other, in the current memory context.
column::AggregateParts make_all_parts(AllRows *rows);

// One member's part of them.
column::AggregateParts parts_of_member(const column::AggregateParts &parts, const MemberRows &member);

// The parts' tables.
Oid *tables_of_parts(const AllRows &rows, const column::AggregateParts &parts);

bool is_any_stale(const AllRows &rows);

// A request's members, and the work for which their views are opened.
struct Opening {
    const AggregateMember *member;
    int count;
    Snapshot snapshot;
    column::RemoteRequest remote;
    bool (*work)(void *context, AllRows *rows);
    void *context;
    uint64 heap_fetches;        // of all members, in the end
    column::BlockRange blocks;  // of each member those whose rows are wanted; all of them of the server
};

// As column::with_rows for all members; what `work` returns doesn't matter.
void with_all_rows(Opening *opening);

// As column::with_rows_on_server: members for which the server isn't asked are read by the session. False:
// none is asked for, or the work has returned false.
bool with_all_rows_on_server(Opening *opening);

}  // namespace pg_gpu::plan
