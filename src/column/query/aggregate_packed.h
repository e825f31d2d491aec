// What is added up straight from packed codes, without a step computed for any row: numbers of rows, and sums
// and bounds of a column's own numbers, of rows of which it is known by a bit each whether they count. Groups
// are those of one column with few codes: their keys are computed once for each code.
#pragma once

#include "column/query/aggregate_groups.h"
#include "column/query/aggregate_parts.h"

namespace pg_gpu::column {

// Adds the selected rows of a part for those of the program's accumulators that it can, which is_added[i]
// says then; where there are keys, for all of them or none. All selected rows pass the program's filter.
// False: there is no room for the groups. Means nothing when the run is stale afterwards.
bool add_packed(const AggregatePart &part, const gpu_engine::AggregateProgram &program,
                const gpu_engine::AggregateInput *inputs, AggregateGroups *groups, bool *is_added);

}  // namespace pg_gpu::column
