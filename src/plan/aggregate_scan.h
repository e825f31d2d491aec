// Aggregates and groups over one table, answered from a gpu_column index: a custom scan in place of
// PostgreSQL's aggregate over a scan of the table.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// Called from _PG_init. The planner then weighs a GpuAggregate wherever a query computes aggregates of one
// table, or groups it, and a gpu_column index has all columns that the query names.
void register_aggregate_scan();

}  // namespace pg_gpu::plan
