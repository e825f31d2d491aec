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
    // Of a subquery, whose rows are groups of those that `probed` gives.
    const TableAggregate *groups;
    // Of a join.
    JoinType type;
    const EnginePlan *probed;
    const EnginePlan *build;
    List *clauses;  // RestrictInfos
    // Of a join that no statement has, which leaves the rows that are wanted (wanted_groups.h): equalities of
    // the probed side and of the build side, whose tables are of a scope of its own. It has no clauses.
    List *equalities;
    int tables;
    int all_groups;  // its own and those below
    double expected_rows;
    double operators;
};

// What the engine does, in operators.
double operators_of_join(const EnginePlan &probed, const EnginePlan &build, double rows);
// Of groups of which a part is computed.
double operators_of_groups(const EnginePlan &groups, double part);

}  // namespace pg_gpu::plan::query
