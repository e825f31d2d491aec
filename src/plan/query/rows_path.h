// Between the planning and the execution of nodes that give rows: GpuSort, the first ones in an order, and
// GpuJoin, all that a join has.
#pragma once

#include "plan/query/join_path.h"

namespace pg_gpu::plan {

// More rows than that are better sorted, or joined, by PostgreSQL alone.
inline constexpr int64 kMaxGivenRows = 1000000;

// custom_private of a path: the packed query, whose keys are what rows are sorted by, and what else the node
// needs.
struct RowsPlanning {
    List *query;
    List *expressions;  // of rows in an order, over the tables: the keys, LIMIT, and OFFSET if there is one
    bool with_ties;
    bool is_ordered;
    Index table;    // 0: rows are of a join
    List *row;      // of a join: the columns that its rows are computed from, as Vars
    List *sources;  // integers: a column of the index's table, or minus one of a joined row, both from 1 on
};

List *pack_planning(const RowsPlanning &planning);
RowsPlanning read_rows_planning(const List *packed);

const CustomPathMethods *sort_path_methods();
const CustomPathMethods *join_path_methods();

// What a node's rows are, and where its path belongs.
struct GivenRows {
    PlannerInfo *root;
    RelOptInfo *input;     // the table, or the join
    const JoinTree *tree;  // nullptr: rows are of a table
    RelOptInfo *output;    // of which there are paths
    RelOptInfo *parent;    // of the path
    PathTarget *scanned;   // what PostgreSQL's sort takes from its scan of the table, or from its join
    PathTarget *target;
    bool is_ordered;  // and the first ones are wanted
};

// Offers paths by all of the table's indexes that can answer.
void add_rows_paths(const GivenRows &rows);

// Columns of the system aren't in the rows that a node gives.
bool has_system_columns(const PathTarget *target, Index table);

}  // namespace pg_gpu::plan
