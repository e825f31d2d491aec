// Groups by the codes of a single run's dictionary: the engine reads codes as they are, and only the entries
// of groups that leave it are read.
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/columns.h"

namespace pg_gpu::plan::query {

// Which numberings may have a view's codes for numbers. Views are by table.
void find_numbers_by_code(const ViewColumns *views, Program *program);

// Reads the values that records have, while the views are open; in the program's memory context.
// False: the run is stale.
bool read_code_values(const ViewColumns *views, const CompiledQuery &compiled, const RecordLayout &layout,
                      column::QueryResult *records);

}  // namespace pg_gpu::plan::query
