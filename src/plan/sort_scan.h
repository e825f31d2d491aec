// Custom Scan (GpuSort): the first rows of a table in an order, from a gpu_column index.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

void register_sort_scan();

}  // namespace pg_gpu::plan
