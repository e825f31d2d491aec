// Between the planning and the execution of GpuAggregates.
#pragma once

#include "plan/aggregate_query.h"

namespace pg_gpu::plan {

// custom_private of a path: the packed query, the expressions of the node's own tuples, and HAVING's
// conditions.
struct AggregatePlanning {
    List *query;
    List *row;     // keys, then Aggrefs
    List *having;  // expressions
};

inline AggregatePlanning read_planning(const CustomPath *path) {
    return {static_cast<List *>(linitial(path->custom_private)),
            static_cast<List *>(lsecond(path->custom_private)),
            static_cast<List *>(lthird(path->custom_private))};
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
};

// Is there one, whether or not it answers?
bool has_column_index(const RelOptInfo *table);

// Adds paths for those of the table's indexes that can answer.
void consider_table(const TableAggregate &table);

double estimate_groups(const TableAggregate &table);

// PostgreSQL's own aggregate over these rows of the table, before scan target and groups.
Path *aggregate_plainly(const TableAggregate &table, Path *rows, PathTarget *target, List *having);

const CustomPathMethods *aggregate_path_methods();

void install_aggregate_planner();

}  // namespace pg_gpu::plan
