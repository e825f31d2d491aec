// Rows that a GpuQuery gives as its tables have them: the first ones in an order, or all of a join. Above,
// PostgreSQL computes the target list, so that a row has the columns that this reads, and what it is sorted
// by.
#pragma once

#include "plan/query/groups.h"
#include "plan/query/top.h"

namespace pg_gpu::plan::query {

struct GivenRows {
    List *row;  // expressions over the tables
    PathTarget *target;
    List *order;     // as top.h has it, where functions come behind the row's columns; NIL: none
    List *pathkeys;  // the same
    // Of those that come first; 0: all are wanted, or as many as is told when they are asked. kAllSorted: all
    // in an order.
    int64 count;
    List *limits;  // LIMIT's and OFFSET's expressions then
    // Of windows (windows.h), which a row has behind its columns: WindowFuncs, how many rows their conditions
    // are expected to leave, and what PostgreSQL would run.
    List *functions;
    List *windows;
    double expected;
    Path *replaced;
};

// More rows than that are better sorted by PostgreSQL alone.
inline constexpr int64 kMaxFirstRows = 1000000;

// What groups or rows are to be computed from, and the expressions of its tuples: of one table by an index,
// which conditions must be asked of, too; *is_late: columns that it lacks are read in the table. False, with
// the reason: it can't be done.
bool make_any_query(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query, List **row,
                    bool *is_late, Refusal *refusal);

// The expressions of the query's results: those of its tuples, but for what is read in the table.
List *result_expressions(const TableAggregate &table, List *row, bool is_late);

// How many rows are expected.
double expect_given(const TableAggregate &table);

// What PostgreSQL would run without the node: it gives the same rows in the same order.
Path *make_replaced_rows(const TableAggregate &table);

// Adds what clauses sort by to the rows, where it isn't there, and to their order, which may be empty, since
// expressions without columns don't tell rows apart. False, with the reason: the engine can't.
bool add_order(PlannerInfo *root, const List *clauses, GivenRows *given, Refusal *refusal);

// Reads how many rows LIMIT and OFFSET take. Returns why that can't be told the engine; nullptr: it can.
const char *read_limit(const Query *query, GivenRows *given);

// Rows that are given from `input` as paths of `output`.
TableAggregate table_of_rows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                             const GivenRows &given);

// Has explain_why say why there are none.
void decline_rows(const TableAggregate &table, const Refusal &refusal);

// Adds the columns that expressions read. False, with the reason: they are of something else.
bool add_columns(List *expressions, List **row, Refusal *refusal);

// Sets what the rows come from, and PostgreSQL's own path of these; false: explain_why knows why not.
bool begin_given(TableAggregate *table);

// Why a statement's rows aren't for a node; nullptr: they may be.
const char *refuse_rows(PlannerInfo *root, const RelOptInfo *input);

// Offers a path of a join's rows, of a statement without groups whose tables are all joined. PostgreSQL's own
// paths are those that there are so far.
void consider_joined_rows(PlannerInfo *root, RelOptInfo *join);

// Are the rows those that pass a table's conditions, in no order?
bool are_passing_rows(const TableAggregate &table);
// Offers paths of those rows of a table that pass its conditions, where these take most rows away: the engine
// finds them in less time than the session reads the index, and whatever stands above takes them.
void consider_passing_rows(PlannerInfo *root, RelOptInfo *table);

// Offers paths of all rows of a table that is the statement's only one, in the order that windows or DISTINCT
// ON want.
void consider_sorted_rows(PlannerInfo *root, RelOptInfo *table);
// The same of a table with partitions or children, whose own paths core drops before it plans windows or
// DISTINCT ON. `output` has core's paths of that stage: copies of them get the sorted rows.
void consider_sorted_members(PlannerInfo *root, RelOptInfo *table, RelOptInfo *output);

// Offers paths of the first rows of `ORDER BY … LIMIT …` to `output`. False: there are none.
bool consider_first_rows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

}  // namespace pg_gpu::plan::query
