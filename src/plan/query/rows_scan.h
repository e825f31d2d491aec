// Custom Scan (GpuSort): the first rows of a table, or of a join, in an order; and Custom Scan (GpuJoin): all
// rows of a join. Both find the rows of one table by its gpu_column index.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

void register_rows_scans();

}  // namespace pg_gpu::plan
