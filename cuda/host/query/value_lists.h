// Percentiles of values that are mostly different: each row's value is kept, and of a group's values those
// that are wanted are selected (std::nth_element), which takes less than to look for each value and to sort
// all.
#pragma once

#include "host/query/aggregation.h"

namespace gpu_engine::host {

// Has a thread listed a set's values?
bool are_any_listed(const std::vector<std::unique_ptr<Accumulating>> &locals, std::uint32_t set);

// Writes the percentiles of such a set into the result's records. Threads that haven't listed its values list
// them now. Throws Failure when there is no memory.
void write_listed_percentiles(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                              const query::RecordLayout &layout,
                              const std::vector<std::unique_ptr<Accumulating>> &locals,
                              const MergedGroups &merged, std::uint32_t set, RowParts *rows);

}  // namespace gpu_engine::host
