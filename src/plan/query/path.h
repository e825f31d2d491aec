// Planning a GpuQuery: which statements it answers, from which index, and what it costs.
#pragma once

#include "plan/query/groups.h"
#include "plan/query/index_conditions.h"

namespace pg_gpu::plan::query {

// What a request costs beside what it computes.
Cost cost_request();

// Offers paths for the table's indexes that can answer, or for the joined tables. False: there are none.
bool consider_query(const TableAggregate &table);

// How the engine could join the tables. False: it can't.
bool begin_joined_query(TableAggregate *join);

// Is a condition one that scan keys are made of, which rows are tested for by their codes?
bool is_tested_by_code(Node *condition, const IndexColumns &columns);
// Those that are, and the others.
void divide_conditions(const List *conditions, const IndexColumns &columns, List **by_code, List **others);

}  // namespace pg_gpu::plan::query
