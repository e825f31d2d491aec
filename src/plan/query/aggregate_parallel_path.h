// Planning GpuAggregates that parallel workers share.
#pragma once

#include "plan/query/aggregate_compile.h"
#include "plan/query/aggregate_path.h"

namespace pg_gpu::plan {

// Why the rows of this query can't be shared out; nullptr: they can.
const char *refuse_sharing(const AggregateQuery &query, const CompiledAggregate &compiled);

// Offers table.output a path that finalizes what workers give below a Gather, where PostgreSQL would use
// workers for this table, and the session answers from pages.
void consider_workers(const TableAggregate &table, const GroupPathExtraData *extra);

}  // namespace pg_gpu::plan
