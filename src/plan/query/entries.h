// Groups by the codes of a single run's dictionary: the engine reads codes as they are, and only the entries
// of groups that leave it are read.
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/columns.h"

namespace pg_gpu::plan::query {

// May the source's codes in the view stand for its values?
bool are_codes_values(const ViewColumns &columns, const Source &source);

// Reads the values of the keys that records have, while the view is open; in the program's memory context.
// False: the run is stale.
bool read_code_values(const ViewColumns &columns, const CompiledQuery &compiled, const RecordLayout &layout,
                      column::QueryResult *records);

}  // namespace pg_gpu::plan::query
