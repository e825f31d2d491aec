// What an engine plan is, for those who make it (engine_plan.h).
#pragma once

#include "plan/query/engine_plan.h"

namespace pg_gpu::plan::query {

struct EnginePlan {
    PlannerInfo *root;
    RelOptInfo *relation;
    const IndexOptInfo *index;  // of a table
    const Members *members;     // of one with partitions or children
    Path *rows;                 // of an input (inputs.h)
    // Of a subquery, whose rows are groups of those that `probed` gives, or these with so many windows.
    const TableAggregate *groups;
    int windows;
    // Of a join.
    JoinType type;
    const EnginePlan *probed;
    const EnginePlan *build;
    List *clauses;  // RestrictInfos
    // Of a member of a union (unions.h): what its columns are, over the tables of `probed`, which are of a
    // scope of their own.
    List *columns;
    bool is_append;         // of members of a union, or of them and one more
    bool tests_conditions;  // the union's, since the members don't
    // Of a join that no statement has, which leaves the rows that are wanted (left_out.h): equalities of
    // the probed side and of the build side, whose tables are of a scope of its own. It has no clauses.
    List *equalities;
    int tables;
    int all_groups;  // its own and those below
    int all_windows;
    double expected_rows;
    double operators;
};

// What the engine does, in operators: for a row of a table, for one that the session reads, for one that is
// put into a hash table or looked for there, or of which is only asked whether its key is there, for one that
// comes of it, for a pair that is looked at because there is no key, and for a row that a window is sorted
// with.
inline constexpr double kScanOperators = 0.02;
inline constexpr double kInputOperators = 5.0;
inline constexpr double kBuildOperators = 1.0;
inline constexpr double kProbeOperators = 0.3;
inline constexpr double kExistsOperators = 0.1;
inline constexpr double kGiveOperators = 0.05;
inline constexpr double kPairOperators = 0.02;
inline constexpr double kSortOperators = 1.0;

double operators_of_join(const EnginePlan &join);

// A table that is a member of a union; nullptr: the engine can't read it.
const EnginePlan *plan_member_table(PlannerInfo *root, RelOptInfo *table);

// A subquery of groups, or of rows with windows; nullptr: it isn't one that the engine computes.
const EnginePlan *plan_groups(PlannerInfo *root, RelOptInfo *subquery);

// All rows of a subquery that the engine computes; nullptr: it can't, or needs parameters or rows of plans
// for it.
const EnginePlan *plan_all_rows(PlannerInfo *root);
// Of groups of which a part is computed.
double operators_of_groups(const EnginePlan &groups, double part);

}  // namespace pg_gpu::plan::query
