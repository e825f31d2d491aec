// Percentiles of a group's values.
#pragma once

#include <cmath>

#include "host/query/group_plan.h"
#include "host/query/order_words.h"

namespace gpu_engine::host {

// As orderedsetaggs.c computes them. `values` tells how many rows() there are, and value_at(number) in their
// order.
template <typename Type, typename Group>
void find_percentile(const AccumulatorPlan &accumulator, double fraction, const Group &values,
                     std::uint64_t *result) {
    const auto rows = static_cast<double>(values.rows());
    if (accumulator.requested.kind == query::AccumulatorKind::percentile_discrete) {
        const double number = std::ceil(fraction * rows);
        query::Words<Type>::write(
            value_of_order<Type>(values.value_at(number < 1 ? 0 : static_cast<std::uint64_t>(number) - 1)),
            result);
        return;
    }
    const double place = fraction * (rows - 1);
    const double below = std::floor(place);
    if (accumulator.requested.kind != query::AccumulatorKind::percentile_continuous) {
        const double wanted =
            accumulator.requested.kind == query::AccumulatorKind::percentile_below ? below : std::ceil(place);
        query::Words<Type>::write(value_of_order<Type>(values.value_at(static_cast<std::uint64_t>(wanted))),
                                  result);
        return;
    }
    if constexpr (std::is_same_v<Type, double>) {
        const auto first = value_of_order<double>(values.value_at(static_cast<std::uint64_t>(below)));
        const auto second =
            value_of_order<double>(values.value_at(static_cast<std::uint64_t>(std::ceil(place))));
        const bool is_between = below != std::ceil(place);
        query::Words<double>::write(is_between ? first + (place - below) * (second - first) : first, result);
    }
}

}  // namespace gpu_engine::host
