// EXPLAIN of a GpuQuery's joins.
#pragma once

#include "plan/query/tree.h"

namespace pg_gpu::plan::query {

// As SQL would say it, one join behind the other in the order in which they are run: on the left side are the
// tables whose rows are matched with those that are held in memory. `names` are as in a
// node's Planning.
void explain_joins(const QueryTree &tree, const AggregateQuery &query, const List *names,
                   ExplainState *explain);

}  // namespace pg_gpu::plan::query
