// What a GpuQuery computes, as planner and executor hand it on.
#pragma once

#include "plan/advise/explain_why.h"

namespace pg_gpu::plan {

// Expressions are over the columns of indexes: their Vars have the number of a table, from 1 on, and the
// column's number of its index, from 1 on, or that of tableoid. That of ctid is the row's number in its view
// (late_rows.h).
struct AggregateQuery {
    List *indexes;        // OIDs, by table; InvalidOid: of an input
    List *conditions;     // all of which must hold
    List *keys;           // expressions
    List *key_operators;  // OIDs: each key's equality
    List *aggregates;     // Aggrefs, or WindowFuncs
    bool has_barrier;     // must conditions keep rows from other expressions?
    List *having;         // conditions on groups, or on rows with windows' functions (having.h)
    List *windows;        // of the aggregates, which are WindowFuncs then (windows.h)
};

// Is it `tableoid`, perhaps as a type that is stored alike?
bool is_table_oid(const void *expression);

// As nodes that can be copied, for a path and a plan.
List *pack_query(const AggregateQuery &query);
AggregateQuery unpack_query(List *packed);

// The expression with columns of the index in place of the table's; nullptr, with the reason, when it has
// others, or when it is of a kind that can't be evaluated by entries of a dictionary: volatile, with a
// subquery, of a whole row, of how a value is stored.
Node *over_index(Node *expression, const IndexOptInfo *index, Refusal *refusal);

namespace query {

// By attribute of a table with members, from 0 on: the member's column, from 1 on; 0: it isn't read.
using MemberColumns = const AttrNumber *;

// A partition or child (members.h), which is read by its index, or as the rows of a plan.
struct MemberTable {
    RelOptInfo *relation;
    const IndexOptInfo *index;  // nullptr: of a plan
    Path *rows;                 // of a plan
    MemberColumns columns;
};

struct Members {
    const MemberTable *members;
    int count;
    int attributes;  // the parent's
};

}  // namespace query

// A table that is read, by its index, by those of its partitions or children, or as the rows of a plan that
// gives these columns.
struct ReadTable {
    int scope;
    PlannerInfo *root;
    RelOptInfo *relation;
    const IndexOptInfo *index;
    const query::Members *members;
    Path *rows;
};

// A subquery whose groups the engine computes.
struct ReadGroups {
    int scope;
    PlannerInfo *root;
    RelOptInfo *relation;
};

// Those of a statement, whose scope is 0, and of subqueries in it: each time that one is read it has a scope
// of its own.
struct ReadTables {
    const ReadTable *tables;
    int count;
    const ReadGroups *groups;
    int groups_count;
};

// The same over several tables of a scope: Vars have their table's number, from 1 on,
// and the column's of its index or plan. Groups have the numbers behind those of all tables, and the columns
// of the subquery's target list.
Node *over_tables(Node *expression, const ReadTables &tables, int scope, Refusal *refusal);

// Does the index have all columns of its table that the expression has?
bool has_all_columns(const IndexOptInfo *index, Node *expression);

}  // namespace pg_gpu::plan
