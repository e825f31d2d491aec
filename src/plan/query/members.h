// Tables with partitions or children, all of which one scan of a query reads: as one table, whose columns are
// numbered as the parent's attributes are. Each member has columns of its own, those of its index, or those
// of the rows that the session reads of it.
#pragma once

#include "plan/query/index_conditions.h"
#include "plan/query/query.h"

namespace pg_gpu::plan::query {

// ---- for the planner --------------------------------------------------------------------------------------

bool is_parent_table(PlannerInfo *root, const RelOptInfo *relation);

// Those that may have rows, as far as the planner knows. Returns nullptr, with the reason, where they can't
// be one table.
const Members *find_members(PlannerInfo *root, const RelOptInfo *parent, const char **refused);

// PostgreSQL's own scan of them all, which gives the parent's columns that are read.
Path *read_plainly(PlannerInfo *root, RelOptInfo *parent, const Members &members);

// Has the table a gpu_column index, or one of its members that may have rows, whether or not it answers?
bool has_any_index(PlannerInfo *root, const RelOptInfo *table);

// ---- from the planner to the executor ---------------------------------------------------------------------

// What is read of a table: a member's index, or its rows.
struct PackedMember {
    Oid table;
    Oid index;  // invalid: it is an input
    MemberColumns columns;
    int attributes;  // the parent's
};

// As nodes that can be copied, by table; NIL: it has no members.
List *pack_members(PlannerInfo *root, const Members *members);
int count_members(const List *packed);
PackedMember unpack_member(const List *packed, int number);

// ---- expressions ------------------------------------------------------------------------------------------

// An expression over the parent's columns as one over a member's.
Node *over_member(Node *expression, MemberColumns columns);

// Divides a parent's conditions as divide_conditions does: all members' rows are tested by codes for the same
// ones. `columns` are those of the members that have an index.
void divide_common_conditions(const List *conditions, const IndexColumns *columns,
                              const MemberColumns *numbers, int count, List **by_code, List **others);

// ---- for the executor -------------------------------------------------------------------------------------

// The tables none of whose rows PostgreSQL's plan would read, which has been begun: OIDs.
List *find_pruned_tables(PlanState *plan);

// Is it a plan of a member's rows that PostgreSQL has pruned, so that it mustn't be begun?
bool is_pruned(const Plan *plan, const EState *estate);

}  // namespace pg_gpu::plan::query
