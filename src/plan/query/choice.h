// Where the planner is told of GpuQueries: for a statement's groups, its distinct rows, and its first rows.
#pragma once

namespace pg_gpu::plan::query {

void install_query_planner();

}  // namespace pg_gpu::plan::query
