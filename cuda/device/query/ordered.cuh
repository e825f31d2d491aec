// Accumulators that take a group's values in their order: percentiles, the mode, and each value once.
#pragma once

#include "device/query/groups.cuh"

namespace gpu_engine::query::on_device {

// The values of an accumulator, with the slots of their groups. Words compare as the values do.
struct OrderedValues {
    Buffer<Word> slots;
    Buffer<Word> low;
    Buffer<Word> high;  // of int128 only
    Buffer<Word> listed;
    std::uint64_t count;

    OrderedValues(const Call &call, std::uint64_t values, ValueType type);
    // By group, and in each by value.
    void sort(const Call &call);
};

// Adds to the groups what sorted values come to; `fraction` is a percentile's.
void add_ordered_values(const Call &call, const OrderedValues &values, const GroupsView &groups,
                        const AccumulatorView &accumulator, double fraction);

}  // namespace gpu_engine::query::on_device
