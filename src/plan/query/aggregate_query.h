// What a GpuAggregate is to answer, as planner and executor hand it on.
#pragma once

#include "plan/advise/explain_why.h"

namespace pg_gpu::plan {

// Of the groups only those are wanted that can be among the first ones, by an aggregate.
struct TopGroups {
    int aggregate;  // by number; -1: all groups are wanted
    int count;
    bool descending;
};

// Expressions are over one index's columns, or over the rows of a join (join_query.h): their Vars have varno
// 1 and the column's number, from 1 on, or that of tableoid.
struct AggregateQuery {
    List *indexes;        // OIDs: one of each table that is read, whose columns are alike
    List *conditions;     // all of which must hold
    List *keys;           // expressions
    List *key_operators;  // OIDs: each key's equality; of rows in an order what they are sorted by
    List *aggregates;     // Aggrefs
    bool has_barrier;     // must conditions keep rows from other expressions?
    TopGroups top;
    bool is_of_sets;  // one of several grouping sets, each of which has a node
    List *joins;      // packed JoinedTables, each behind those that it depends on
    // NIL: groups are wanted. Of rows in an order: integers, a truth value for each key. Do NULLs come first?
    List *nulls_first;
    // Of groups: what they come in the order of, as choose_order makes it (aggregate_order.h). NIL: in any.
    List *order;
    bool has_bitmap;  // the conditions are about the rows of a bitmap that other indexes have made
    List *having;     // of a GpuQuery: conditions on groups (having.h)
};

inline bool wants_rows(const AggregateQuery &query) {
    return query.nulls_first != NIL;
}

// Is it `tableoid`, perhaps as a type that is stored alike?
bool is_table_oid(const void *expression);

// As nodes that can be copied, for a path and a plan.
List *pack_query(const AggregateQuery &query);
AggregateQuery unpack_query(List *packed);

struct JoinTree;

// The expression with columns of the index in place of the table's, and columns of joined rows in place of
// those of joined tables (nullptr: there are none); nullptr, with the reason, when it has others, or when it
// is of a kind that can't be evaluated by entries of a dictionary: volatile, with a subquery, of a whole row,
// of how a value is stored.
Node *over_index(Node *expression, const IndexOptInfo *index, const JoinTree *tree, Refusal *refusal);

// A table that is read, by its index, or as the rows of a plan that gives these columns.
struct ReadTable {
    RelOptInfo *relation;
    const IndexOptInfo *index;  // nullptr: of a plan
    Path *rows;                 // of a plan
};
struct ReadTables {
    const ReadTable *tables;
    int count;
};

// The same over several tables: Vars have their table's number, from 1 on, and the column's of its index or
// plan.
Node *over_tables(Node *expression, const ReadTables &tables, Refusal *refusal);

// Does the index have all columns of its table that the expression has?
bool has_all_columns(const IndexOptInfo *index, Node *expression);

}  // namespace pg_gpu::plan
