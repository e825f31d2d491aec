// Planning joins that a GpuAggregate answers: how the planner's join relation is made of the index's table
// and others, each of which has at most one row for a row of it.
#pragma once

#include "plan/query/aggregate_path.h"
#include "plan/query/join_query.h"

namespace pg_gpu::plan {

struct JoinTreeTable {
    RelOptInfo *table;
    JoinType type;
    int previous;  // in the tree; -1: the index's table
    int first;     // of its columns among those of all joined tables
    Path *path;    // of its rows
    Expr *outer;
    Expr *inner;
    Oid equality;
    Oid collation;
};

struct JoinTree {
    RelOptInfo *table;  // whose index answers
    int count;
    JoinTreeTable joined[kMaxJoinedTables];
    List *conditions;  // expressions: what a joined row must pass
    Path *rows;        // PostgreSQL's join, without parallel workers
};

// Adds paths for the groups of a join, by the indexes of any of its tables; of groups also by transition
// states, if their aggregates have any. Returns why there can't be any.
const char *consider_joins(const TableAggregate &join, bool may_be_partial);

// How the join can be made of one of its tables that has a gpu_column index, and isn't partitioned, and the
// others: JoinTrees. NIL: *refused says why it can't.
List *make_join_trees(PlannerInfo *root, RelOptInfo *join, const char **refused);

// The join whose right side is the table; nullptr: inner ones.
SpecialJoinInfo *find_special_join(PlannerInfo *root, Index table);

SpecialJoinInfo *make_inner_join(const RelOptInfo *left, const RelOptInfo *right);

// The cheapest path of a relation's rows that no outer row and no parallel worker is needed for; nullptr
// without one.
Path *find_serial_path(const RelOptInfo *relation);

// The cheapest path that reads all of the table's rows in this process; nullptr without one.
Path *find_rows_path(PlannerInfo *root, RelOptInfo *table);

// The same tree with a partition or child in place of the table whose index answers.
const JoinTree *tree_of_member(PlannerInfo *root, const JoinTree &tree, RelOptInfo *member);

// The column, from 1 on, that a joined row has this column in behind so many of the index; 0 without one.
AttrNumber find_joined_column(const JoinTree &tree, int index_columns, const Var *var);

// The paths of the joined tables' rows, in the tree's order.
List *joined_paths(const JoinTree &tree);

// Adds what reading and hashing the joined tables costs.
void add_join_cost(const JoinTree &tree, Path *path);

// Puts the joined tables into the query; false, with the reason, when they can't be joined by this index.
bool add_joined_tables(PlannerInfo *root, const JoinTree &tree, const IndexOptInfo *index,
                       AggregateQuery *query, Refusal *refusal);

}  // namespace pg_gpu::plan
