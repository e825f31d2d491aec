// A window's functions over rows in its order.
#pragma once

#include "common/query/plan.h"
#include "host/parallel.h"
#include "host/query/rows.h"

namespace gpu_engine::host {

// Returns the rows, which are in the order of the window's sort keys, with its functions behind their
// columns. `layout` is that of the rows, `full` that of the result.
QueryRows add_functions(MemoryBudget &budget, const Workers &workers, const query::Query &query,
                        const query::Node &window, const query::RecordLayout &layout,
                        const query::RecordLayout &full, const QueryRows &rows);

}  // namespace gpu_engine::host
