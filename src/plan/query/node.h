// A GpuQuery: the node whose rows are groups of one table, computed by the engine's query processor.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// custom_private of a path: the packed query (query.h), the expressions of the node's own tuples,
// HAVING's conditions, whether a map's expression may raise an error, which groups are wanted (top.h), of
// grouping sets one (grouping_sets.h), and how tables are joined (tree.h), with names: a List of
// Strings for each table, its own, and of an input its columns'.
struct Planning {
    List *query;
    List *row;
    List *having;
    bool maps_may_fail;
    List *order;
    int64 count;
    List *set;
    List *tree;
    List *names;
    bool gives_rows;        // its rows are the tables' (given_rows.h)
    List *limits;           // what tells how many first rows are wanted
    List *members;          // by table, as pack_members makes them (members.h); NIL: no table has any
    bool needs_processors;  // devices can't compute it
    bool is_late;           // rows are read in the table (late_rows.h)
};
List *pack_planning(const Planning &planning);
Planning unpack_planning(List *packed);

const CustomPathMethods *query_path_methods();

// Registers the node.
void register_query_node();

}  // namespace pg_gpu::plan::query
