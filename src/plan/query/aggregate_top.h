// `GROUP BY … ORDER BY sum(x) DESC LIMIT n`: groups that can't be among the first n needn't become rows. What
// is left out is decided by the first ORDER BY expression alone, and groups that it doesn't distinguish stay,
// so the plan's own sort and limit above the node give what they would have given of all groups.
#pragma once

#include "gpu_engine/aggregate_top.h"
#include "plan/query/aggregate_results.h"

namespace pg_gpu::plan {

inline constexpr TopGroups kAllGroups = {-1, 0, false};

// Is it an operator of the type's own order? *descending tells which way.
bool is_own_order(Oid operator_oid, Oid type, bool *descending);

// How many rows LIMIT and OFFSET want together; 0: that isn't known, or they are too many.
int64 wanted_rows(const Query *query);

// What the statement's ORDER BY and LIMIT leave. Aggregates, target list and HAVING are over the table.
TopGroups find_top(const Query *parse, List *columns, const List *having, const List *aggregates);

// The order as records of groups have it; a count of 0 where all groups are wanted.
gpu_engine::AggregateTop order_of_groups(const AggregateQuery &query, const CompiledAggregate &compiled);

// Leaves the groups that can be among the first ones. Their new table lies in the current memory context.
void keep_top(const gpu_engine::AggregateTop &top, gpu_engine::GroupTable *groups);

}  // namespace pg_gpu::plan
