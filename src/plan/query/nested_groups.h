// Subqueries whose rows are groups, as in
//     SELECT … FROM (SELECT a, sum(b) AS s FROM t GROUP BY a) AS g JOIN u ON … WHERE g.s > …
// which the engine computes in the same query as what is around them, so that their rows never leave it.
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/groups.h"
#include "plan/query/tree.h"

namespace pg_gpu::plan::query {

// ---- for the planner --------------------------------------------------------------------------------------

// Are the statement's rows these groups, so that they can be nested in a statement around it?
bool is_nestable(const TableAggregate &groups);

// What the groups' target list and HAVING are over their results (having.h). False: there are others.
bool make_group_expressions(const TableAggregate &groups, const List *row, List **having, List **columns);

// Sets what is computed of the groups, whose tables are those of the scope. False, with the reason, when it
// can't be asked of their indexes.
bool add_groups(const TableAggregate &groups, const ReadTables &tables, int scope, TreeNode *node,
                Refusal *refusal);

// ---- the compiler -----------------------------------------------------------------------------------------

// A node of groups: an aggregate, and what is computed of its rows. Of a member of a union there is no
// aggregate.
struct CompiledGroups {
    CompiledQuery query;  // without a tree
    NodeSteps steps;      // of the aggregate, or of the member's rows
    // Over the aggregate's columns.
    NodeSteps column_steps;
    uint16 filter;  // no_step: all groups, or rows
    Value *values;  // by column of the subquery: a step of these
    uint16 *shown;  // the step that tells how many digits a decimal shows; no_step: the value tells
};

// Compiles conditions and columns over the results. False, with the compiler's refusal: the engine can't
// compute them.
bool compile_group_columns(Compiler *compiler, const List *having, const List *columns,
                           CompiledGroups *groups);

// Compiles the node of the tree.
const CompiledGroups *compile_nested(Compiler *compiler, const QueryTree &tree, int number);

}  // namespace pg_gpu::plan::query
