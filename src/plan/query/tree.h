// How the tables of a GpuQuery are joined, as planner and executor hand it on.
#pragma once

#include <initializer_list>

#include "plan/query/aggregate_query.h"

namespace pg_gpu::plan::query {

// A table, or a join of two nodes before it. All expressions are over tables' columns: a Var has its table's
// number, from 1 on, and the column's of that table's index.
struct TreeNode {
    int table;  // from 0 on; kNoTable: it is a join
    JoinType join;
    int probed;  // nodes
    int build;
    double rows;       // as the planner expects
    List *conditions;  // what a row of the node must pass
    List *pairs;       // of a join: which rows of the two sides match
};
inline constexpr int kNoTable = -1;

struct QueryTree {
    TreeNode *nodes;
    int count;
    int table_count;
};

inline const TreeNode &root_of(const QueryTree &tree) {
    return tree.nodes[tree.count - 1];
}

// The tables of a node's rows.
Bitmapset *tables_of(const QueryTree &tree, int node);

// Above an anti join that an outer one has become, the columns of its build side are NULL. The lists are the
// query's keys or aggregates.
void replace_lost_columns(QueryTree *tree, std::initializer_list<List **> lists);

// A tree is packed as numbers alone, which can be copied. Its conditions are the query's, one node's behind
// those of the nodes before it.
List *pack_tree(const QueryTree &tree);
List *conditions_of(const QueryTree &tree);

// With the conditions of the query; NIL: of one table.
QueryTree unpack_tree(const List *packed, const AggregateQuery &query);

}  // namespace pg_gpu::plan::query
