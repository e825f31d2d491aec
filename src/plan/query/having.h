// HAVING on the engine: groups that its conditions drop don't leave it. The session tests those that leave
// again, so that conditions which the engine doesn't know may be left out.
#pragma once

#include "plan/query/aggregate_path.h"
#include "plan/query/aggregates.h"

namespace pg_gpu::plan::query {

// The conditions of HAVING that are about the node's own tuples alone, over Vars of kRowVarno. *is_whole:
// these are all of them.
List *make_having(const TableAggregate &table, const List *row, bool *is_whole);

// Compiles those that the engine can test. What is refused is left out. After the query's own steps.
void compile_having(Compiler *compiler, const List *conditions, CompiledQuery *compiled);

}  // namespace pg_gpu::plan::query
