// HAVING on the engine: groups that its conditions drop don't leave it. The session tests those that leave
// again, so that conditions which the engine doesn't know may be left out.
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/groups.h"

namespace pg_gpu::plan::query {

// An expression over a group's results: Vars of kRowVarno in place of the expressions of the row. nullptr: it
// is of something else, too, or volatile.
Node *over_results(Node *expression, const List *row);

// The conditions of HAVING that are about the node's own tuples alone, over Vars of kRowVarno. *is_whole:
// these are all of them.
List *make_having(const TableAggregate &table, const List *row, bool *is_whole);

// May a result raise an error? PostgreSQL computes all of them before HAVING.
bool may_results_fail(const CompiledQuery &compiled);

// Returns the steps of what `work` compiles, which is over the results of groups.
template <typename Work>
NodeSteps over_groups(Compiler *compiler, const CompiledQuery &groups, Work work) {
    const bool had_tables = compiler->has_tables;
    const NodeSteps before = begin_node_steps(compiler->program);
    compiler->groups = &groups;
    compiler->has_tables = false;
    work();
    compiler->groups = nullptr;
    compiler->has_tables = had_tables;
    return begin_node_steps(compiler->program, before);
}

// Compiles those that the engine can test. What is refused is left out. After the query's own steps.
void compile_having(Compiler *compiler, const List *conditions, CompiledQuery *compiled);

}  // namespace pg_gpu::plan::query
