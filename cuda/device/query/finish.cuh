// From the table of groups to a table of rows.
#pragma once

#include "device/query/groups.cuh"
#include "device/query/operators.h"

namespace gpu_engine::query::on_device {

struct FinishView {
    GroupsView groups;
    std::uint64_t records;
    bool has_null_word;
    const KeyView *keys;
    std::uint32_t key_count;
    const AccumulatorView *accumulators;
    std::uint32_t accumulator_count;
    const OutputView *outputs;  // of the keys, then of the accumulators
};

// How many of the records have groups.
std::uint64_t count_groups(const Call &call, const GroupsView &groups, std::uint64_t records);

// Writes the groups in no order. GroupFlags::groups, which was 0, becomes their number.
void finish_groups(const Call &call, const FinishView &view);

}  // namespace gpu_engine::query::on_device
