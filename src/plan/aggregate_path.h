// Between the planning and the execution of GpuAggregates.
#pragma once

#include "plan/aggregate_query.h"

namespace pg_gpu::plan {

// custom_private of a path: the packed query, the expressions of the node's own tuples, HAVING's conditions,
// and what a grouping set leaves out (GroupingSet).
struct AggregatePlanning {
    List *query;
    List *row;     // keys, then Aggrefs
    List *having;  // expressions
    List *set;
};

inline AggregatePlanning read_planning(const CustomPath *path) {
    return {static_cast<List *>(linitial(path->custom_private)),
            static_cast<List *>(lsecond(path->custom_private)),
            static_cast<List *>(lthird(path->custom_private)),
            static_cast<List *>(lfourth(path->custom_private))};
}

// An aggregate over one table, perhaps a partition. All expressions are over this table.
struct TableAggregate {
    PlannerInfo *root;
    RelOptInfo *input;   // the table
    RelOptInfo *output;  // its groups, of which there are paths; reltarget is what they give
    List *columns;       // the query's target list
    List *having;
    AggSplit split;       // are aggregates' values wanted, or serialized states?
    PathTarget *scanned;  // what PostgreSQL's aggregate takes from a scan of the table
    List *clauses;        // SortGroupClauses: what is grouped by
    List *set;            // of grouping sets one: as pack_set makes it (aggregate_sets.h); else NIL
};

// Is there one, whether or not it answers?
bool has_column_index(const RelOptInfo *table);

// Adds paths for those of the table's indexes that can answer to `output`.
void consider_table(const TableAggregate &table);

double estimate_groups(const TableAggregate &table);

// PostgreSQL's own aggregate over these rows of the table, before scan target and groups.
Path *aggregate_plainly(const TableAggregate &table, Path *rows, PathTarget *target, List *having);

// The rows of several paths one behind the other.
Path *append_paths(PlannerInfo *root, RelOptInfo *output, List *paths);

const CustomPathMethods *aggregate_path_methods();

void install_aggregate_planner();

}  // namespace pg_gpu::plan
