// How the tables of a GpuQuery are joined, as planner and executor hand it on.
#pragma once

#include <initializer_list>

#include "plan/query/query.h"

namespace pg_gpu::plan::query {

enum class TreeKind : uint8 {
    Table,
    Join,     // of two nodes before it
    Groups,   // of a node before it: a subquery that the engine computes, too
    Windows,  // of a node before it: a subquery of rows with window functions
    Rows,     // of a node before it: a member of a union, whose columns are computed of its rows
    Append,   // of two nodes before it: a join of members of a union, of which no row has a match
};

// All expressions are over tables' columns: a Var has its table's number, from 1 on, and the column's of that
// table's index. A subquery's rows have the columns of a table of their own, which its target list numbers.
struct TreeNode {
    TreeKind kind;
    int table;  // Table: from 0 on. Groups, Windows and Rows: behind those of all tables
    JoinType join;
    int probed;  // nodes; of a subquery: whose rows it reads
    int build;
    double rows;       // as the planner expects
    List *conditions;  // what a row of the node must pass
    List *pairs;       // Join: which rows of the two sides match
    // Groups and Windows, over the columns of the tables below: what is grouped by, or the rows, with what is
    // computed of them.
    List *keys;
    List *key_operators;  // Groups: OIDs, each key's equality
    List *aggregates;     // Aggrefs, or WindowFuncs
    List *windows;        // Windows: as windows.h has them
    // Groups and Windows, over keys and aggregates (having.h): conditions, and what its columns are. Rows
    // have columns, too, over those of the tables below.
    List *having;
    List *columns;
};

inline bool is_join(const TreeNode &node) {
    return node.kind == TreeKind::Join || node.kind == TreeKind::Append;
}

// Has it columns of its own, with a number behind those of all tables?
inline bool has_own_columns(const TreeNode &node) {
    return node.kind == TreeKind::Groups || node.kind == TreeKind::Windows || node.kind == TreeKind::Rows;
}

struct QueryTree {
    TreeNode *nodes;
    int count;
    int table_count;
    int groups_count;
};

inline const TreeNode &root_of(const QueryTree &tree) {
    return tree.nodes[tree.count - 1];
}

// The tables of a node's rows.
Bitmapset *tables_of(const QueryTree &tree, int node);

// Above an anti join that an outer one has become, the columns of its build side are NULL. The lists are the
// query's keys or aggregates.
void replace_lost_columns(QueryTree *tree, std::initializer_list<List **> lists);

// A tree is packed as numbers alone, which can be copied. Its expressions are the query's conditions, one
// node's behind those of the nodes before it.
List *pack_tree(const QueryTree &tree);
List *expressions_of(const QueryTree &tree);

// With the conditions of the query; NIL: of one table.
QueryTree unpack_tree(const List *packed, const AggregateQuery &query);

}  // namespace pg_gpu::plan::query
