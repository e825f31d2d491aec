// Planning GpuSorts: the first rows of a table, or of a join, in an order.
#pragma once

namespace pg_gpu::plan {

void install_sort_planner();

}  // namespace pg_gpu::plan
