// What a path is made of while it is planned: the query, and what it reads of each table.
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/groups.h"
#include "plan/query/tree.h"

namespace pg_gpu::plan::query {

// The indexes that are read of a table: none of an input, several of one with members.
struct TableIndexes {
    const IndexOptInfo *const *indexes;
    int count;
};

struct Offer {
    const TableAggregate *table;
    const TableIndexes *tables;  // of the tree
    int table_count;
    QueryTree tree;
    AggregateQuery query;
    List *names;  // of joined tables, then of groups
    List *row;
    bool is_late;  // rows are read in the table (late_rows.h)
    CompiledQuery compiled;
    bool maps_may_fail;
    bool needs_processors;  // devices can't compute it
    bool is_having_whole;   // the engine tests all of HAVING, if there is any
    double evaluations;     // of expressions, for tables that are looked into
};

TableIndexes indexes_of(const ReadTable &table);

// What a statement calls a table, and of an input, a table with members or a subquery its columns.
List *names_of(const ReadTable &table);
List *names_of(const ReadGroups &groups);

// An expression of the query over the statement's tables.
Node *over_statement(const Offer &offer, Node *expression);

// The index that a refused expression is over.
ExpressionSource source_of(const Offer &offer, Node *expression);

// What is known of the columns of a table of the tree, whose conditions are left those that codes aren't
// tested for. nullptr: it has members that can't be read as one table.
const ColumnFacts *find_table_facts(const Offer &offer, TreeNode *node);

// PostgreSQL's plans of what is read without an index, in the order of the tables and their members.
List *plans_of_inputs(const ReadTables &tables);

// The members of all tables, for the executor; NIL: none has any.
List *pack_all_members(const ReadTables &tables);

}  // namespace pg_gpu::plan::query
