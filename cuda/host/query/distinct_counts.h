// How many values each group has, where nothing needs their order.
#pragma once

#include "host/query/aggregation.h"

namespace gpu_engine::host {

// Writes the counts of a set whose values are only counted into the result's records, in which they are 0.
void write_distinct_counts(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                           const query::RecordLayout &layout,
                           const std::vector<std::unique_ptr<Accumulating>> &locals,
                           const MergedGroups &merged, std::uint32_t set, RowParts *rows);

}  // namespace gpu_engine::host
