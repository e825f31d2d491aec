// What complete plans have of GpuQueries and windows.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Is there a GpuQuery in the plan?
bool has_node(const PlannedStmt *planned);

// Does a window of PostgreSQL's take more rows than it has soon gone through?
bool has_large_window(const PlannedStmt *planned);

// Has EXPLAIN show the window functions of GpuQueries as calls, which nothing else looks at any more.
void show_windows(const PlannedStmt *planned);

}  // namespace pg_gpu::plan::query
