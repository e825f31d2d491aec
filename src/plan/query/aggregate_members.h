// Aggregates over a table's members: its partitions, or itself and its inheritance children.
#pragma once

#include "plan/query/aggregate_path.h"

namespace pg_gpu::plan {

// The query's target list over this table, which may be a member of the one that the query names.
List *columns_over(PlannerInfo *root, const RelOptInfo *table);

// Expressions over a table as those over a member of it.
List *translate_list(PlannerInfo *root, List *expressions, Index table, Index member);
PathTarget *translate_target(PlannerInfo *root, PathTarget *target, Index table, Index member);

// Those of the tables below this one that may have rows, as far as the planner knows: RelOptInfos.
const List *live_members(PlannerInfo *root, Index table);

// Has one of them a gpu_column index, whether or not it answers?
bool is_any_indexed(const List *members);

// A relation for groups of a table, or of a member, which give `target`. It stands beside those that core
// has, whose paths are part of others already.
RelOptInfo *make_groups(const RelOptInfo *table, PathTarget *target);

// What groups that are parts of others give, so that a final aggregate can compute the target and HAVING from
// them: what is grouped by, transition states, and columns that depend on what is grouped by.
PathTarget *make_partial_target(PlannerInfo *root, const PathTarget *target, Node *having);

// An aggregate over a table as one over a member of it, whose groups give the same; they stand beside those
// that core has for the member.
TableAggregate aggregate_of_member(const TableAggregate &table, RelOptInfo *member);

// Adds to `output`, which holds the groups of `table`, paths that finalize states, which are rows of
// `groups`. `having` is over the table.
void add_final_paths(PlannerInfo *root, RelOptInfo *table, RelOptInfo *output, List *having,
                     RelOptInfo *groups, Path *states, bool is_sortable);

// Adds to `output`, which holds the groups of `table`, a path that finalizes what is aggregated of each
// member by itself, by a GpuAggregate where there can be one. `having` is over the table. Returns nullptr, or
// why this can't be done with these aggregates.
const char *consider_members(PlannerInfo *root, RelOptInfo *table, RelOptInfo *output, const List *members,
                             const GroupPathExtraData *extra);

}  // namespace pg_gpu::plan
