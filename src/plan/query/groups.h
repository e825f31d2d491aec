// Groups of a table or of joined tables, for which a GpuQuery is planned: which statements have them, what
// they are computed from, and the aggregate of PostgreSQL's that stands by.
#pragma once

#include "plan/query/query.h"

namespace pg_gpu::plan {

namespace query {
struct EnginePlan;
struct GivenRows;
}  // namespace query

// An aggregate over one table, perhaps a partition, or over a join. All expressions are over the table, or
// over those that are joined.
struct TableAggregate {
    PlannerInfo *root;
    RelOptInfo *input;   // the table, or the join
    RelOptInfo *output;  // its groups, of which there are paths; reltarget is what they give
    List *columns;       // the query's target list
    List *having;
    PathTarget *scanned;  // what PostgreSQL's aggregate takes from a scan of the table
    List *clauses;        // SortGroupClauses: what is grouped by
    List *set;            // of grouping sets one: as pack_set makes it (grouping_sets.h); else NIL
    // Over joined tables: how the engine joins them (engine_plan.h), what is read of them, and PostgreSQL's
    // own path of the joined rows; nullptr: it is over one table.
    const query::EnginePlan *plan = nullptr;
    const ReadTables *read = nullptr;
    int scope = 0;  // of the tables among these
    Path *rows = nullptr;
    // Where the rows are those of the tables themselves (given_rows.h); nullptr: they are groups.
    const query::GivenRows *given = nullptr;
};

bool is_column_index(const IndexOptInfo *index);

// Is there one, whether or not it answers?
bool has_column_index(const RelOptInfo *table);

// What the node would compute from this index of a table; false, with the reason, when it can't. *row are the
// expressions of its tuples. Over joined tables there is no index, and conditions are the caller's.
bool make_query(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query, List **row,
                Refusal *refusal);

// Adds WHERE over the index's columns; false, with the reason, when it can't be asked of the index.
bool add_conditions(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query,
                    Refusal *refusal);

double estimate_groups(const TableAggregate &table);

// Why the statement's groups or distinct rows aren't for a node; nullptr: they may be.
const char *refuse_groups(PlannerInfo *root, const RelOptInfo *input);
const char *refuse_statement(PlannerInfo *root, const RelOptInfo *input);

// The statement's groups of these rows, and the same of SELECT DISTINCT, whose rows are groups of the
// table's.
TableAggregate groups_of(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                         const GroupPathExtraData *extra);
TableAggregate distinct_rows_of(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

// What PostgreSQL would run: its aggregate over its cheapest path of the rows, so that the fallback doesn't
// read a whole table where an index would do. It stands by for what the engine can't answer after all, and
// gives the node's own tuples before HAVING.
Path *make_replaced_path(const TableAggregate &table, const List *row);

// The rows of several paths one behind the other.
Path *append_paths(PlannerInfo *root, RelOptInfo *output, List *paths);

}  // namespace pg_gpu::plan
