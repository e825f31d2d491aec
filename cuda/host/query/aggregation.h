// An aggregate: each thread has groups of its own, which are put together in the end.
#pragma once

#include <memory>
#include <vector>

#include "host/engine.h"
#include "host/query/accumulate.h"

namespace gpu_engine::host {

// The result of an aggregate in the making: a part of records for each part of the groups, and the number of
// a group is its part << 32 | its place there.
struct MergedGroups {
    std::vector<std::unique_ptr<GroupTable>> tables;
    // By thread: the numbers of its groups here. Only where there are sets of values.
    std::vector<Buffer<std::uint64_t>> numbers;
};

// Puts the threads' groups together. Returns false where a sum has no room.
bool merge_groups(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                  std::vector<std::unique_ptr<Accumulating>> *locals, MergedGroups *merged);

// Makes the result's records, apart from what comes from sets of values. Returns false where a result has no
// room.
bool write_groups(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                  const query::RecordLayout &layout, MergedGroups *merged, RowParts *rows);

// Writes what comes from sets of values into the result's records. Returns false where a result has no room.
bool write_value_sets(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                      const query::RecordLayout &layout,
                      const std::vector<std::unique_ptr<Accumulating>> &locals, const MergedGroups &merged,
                      RowParts *rows);

}  // namespace gpu_engine::host
