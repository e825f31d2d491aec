// Between the planning and the execution of GpuAggregates.
#pragma once

#include "column/query/aggregate_parts.h"
#include "plan/query/aggregate_query.h"

namespace pg_gpu::plan {

// custom_private of a path: the packed query, the expressions of the node's own tuples, HAVING's conditions,
// and what a grouping set leaves out (GroupingSet).
struct AggregatePlanning {
    List *query;
    List *row;     // keys, what depends on them, then Aggrefs
    List *having;  // expressions
    List *set;
};

inline AggregatePlanning read_planning(const CustomPath *path) {
    return {static_cast<List *>(linitial(path->custom_private)),
            static_cast<List *>(lsecond(path->custom_private)),
            static_cast<List *>(lthird(path->custom_private)),
            static_cast<List *>(lfourth(path->custom_private))};
}

struct JoinTree;
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
    AggSplit split;       // are aggregates' values wanted, or serialized states?
    PathTarget *scanned;  // what PostgreSQL's aggregate takes from a scan of the table
    List *clauses;        // SortGroupClauses: what is grouped by
    List *set;            // of grouping sets one: as pack_set makes it (aggregate_sets.h); else NIL
    // How the table whose indexes answer is joined with others (join_path.h); nullptr: it isn't.
    const JoinTree *tree = nullptr;
    // Partitions or children: RelOptInfos, all of which one node reads. NIL: it reads the table itself.
    const List *members = NIL;
    // A part of the statement's plan, which its ORDER BY, its LIMIT and its aggregates don't concern.
    bool is_part = false;
    // So many parallel workers share the rows out with the leader, each of whom gives states of its groups;
    // 0: one process reads all.
    int workers = 0;
    // Of a GpuQuery over joined tables: how the engine joins them (engine_plan.h), what is read of them, and
    // PostgreSQL's own path of the joined rows; nullptr: it isn't.
    const query::EnginePlan *plan = nullptr;
    const ReadTables *read = nullptr;
    Path *rows = nullptr;
    // Of a GpuQuery whose rows are those of the tables themselves (given_rows.h); nullptr: they are groups.
    const query::GivenRows *given = nullptr;
};

// A table that the node reads, and its index.
struct AggregateSource {
    RelOptInfo *table;
    const IndexOptInfo *index;
    column::IndexSummary summary;
    const column::Format *format;
};

// The table whose indexes answer, or whose members' do.
RelOptInfo *indexed_table(const TableAggregate &table);

bool is_column_index(const IndexOptInfo *index);

// Is there one, whether or not it answers?
bool has_column_index(const RelOptInfo *table);

// Expressions of the node's tuples: what is grouped by, what depends on that, then the aggregates that target
// and HAVING are computed from; they mean nothing where it refuses.
List *row_of(const TableAggregate &table, Refusal *refusal);

// What the node would compute from this index of a table; false, with the reason, when it can't. *row are the
// expressions of its tuples. *others are as add_conditions makes them. Over joined tables there is no index,
// and conditions are the caller's.
bool make_query(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query, List **row,
                Refusal *refusal, List **others = nullptr);

// Adds WHERE over the index's columns; false, with the reason, when it can't be asked of the index. *others
// get the RestrictInfos with columns that the index hasn't; nullptr: there may be none.
bool add_conditions(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query,
                    Refusal *refusal, List **others = nullptr);

AggregateSource make_source(RelOptInfo *table, const IndexOptInfo *index);

// Offers a path of a node that answers the query, which is over the first source's index, from all sources.
// With a bitmap (bitmap_rows.h) only of its rows. False: that can't be done.
bool consider_sources(const TableAggregate &table, const AggregateSource *sources, int count,
                      AggregateQuery query, List *row, Path *bitmap = nullptr);

// Offers paths to `output` for those of the table's indexes that can answer; with members one for all
// together. False: there are none.
bool consider_table(const TableAggregate &table);

// The same, of each grouping set where there are any.
void consider_indexes(const TableAggregate &table);

// Groups of the table, or with workers of the rows that one of them takes at a time.
double estimate_groups(const TableAggregate &table);

// Which statements have groups for a node. They return nullptr, or why it isn't one.
const char *refuse_statement(PlannerInfo *root, const RelOptInfo *input);
const char *refuse_groups(PlannerInfo *root);

bool is_parent(PlannerInfo *root, const RelOptInfo *input);

// The statement's groups of these rows, and the same of SELECT DISTINCT.
TableAggregate groups_of(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                         const GroupPathExtraData *extra, const List *members);
TableAggregate distinct_rows_of(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                                const List *members);

// Offer GpuAggregates for them. They return why there are none of this kind of statement.
const char *consider_groups(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                            const GroupPathExtraData *extra);
const char *consider_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

// How many GpuAggregates have been offered by this process.
uint64 count_offered();

// PostgreSQL's own scan of a table, or of its members where there are any, without workers.
Path *scan_plainly(PlannerInfo *root, RelOptInfo *table, const List *members);

// PostgreSQL's own aggregate over these rows of the table, before scan target and groups.
Path *aggregate_plainly(const TableAggregate &table, Path *rows, PathTarget *target, List *having);

// What PostgreSQL would run without parallel workers: it stands by for what the index can't answer after
// all. It gives the node's own tuples in the same order, before HAVING; with a bitmap (bitmap_rows.h) of its
// rows.
Path *make_replaced_path(const TableAggregate &table, const List *row, List *pathkeys, Path *bitmap);

// The rows of several paths one behind the other.
Path *append_paths(PlannerInfo *root, RelOptInfo *output, List *paths);

const CustomPathMethods *aggregate_path_methods();

}  // namespace pg_gpu::plan
