// Which rows a window's functions look at, the same for both engines.
#pragma once

#include <algorithm>

#include "common/query/operation.h"

namespace gpu_engine::query {

// A row's place among all rows in the window's order: the first and the last row of its partition, and of
// those that equal it by all sort keys.
struct WindowPlace {
    std::uint64_t row;
    std::uint64_t partition_first;
    std::uint64_t partition_last;
    std::uint64_t peers_first;
    std::uint64_t peers_last;
};

// Rows from `first` on, without `end`.
struct FrameRows {
    std::uint64_t first;
    std::uint64_t end;

    GPU_ENGINE_BOTH bool is_empty() const { return first == end; }
};

// Which rows a frame has, and in which order the last sort key has them.
struct Frame {
    std::int64_t first;
    std::int64_t last;
    bool descends;
    bool nulls_first;

    GPU_ENGINE_BOTH bool is_by_values() const { return first == values_first || last == values_last; }
};

inline Frame frame_of_node(const Query &query, const Node &window) {
    const SortKey last = window.sort_keys.count == 0
                             ? SortKey{}
                             : query.sort_keys[window.sort_keys.first + window.sort_keys.count - 1];
    return {window.frame_first, window.frame_last, last.descends != 0, last.nulls_first != 0};
}

// The first of the rows from `first` on of which a test isn't true, as it is of all before; or `end`.
template <typename Test>
GPU_ENGINE_BOTH std::uint64_t find_first_without(std::uint64_t first, std::uint64_t end, Test test) {
    while (first < end) {
        const std::uint64_t middle = first + (end - first) / 2;
        if (test(middle)) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

// `values` are the columns of a frame by values: is_null(row) of the key, and whether the key of one row is
// less or greater than what another row's frame begins or ends with (is_less_than_from and so on).
template <typename Values>
GPU_ENGINE_BOTH FrameRows frame_of(const Frame &frame, const WindowPlace &place, const Values &values) {
    const auto row = static_cast<std::int64_t>(place.row);
    const auto partition_begin = static_cast<std::int64_t>(place.partition_first);
    const auto partition_end = static_cast<std::int64_t>(place.partition_last);
    const bool is_of_peers = frame.is_by_values() && values.is_null(place.row);
    std::int64_t first = partition_begin;
    if (frame.first == peers_first || (frame.first == values_first && is_of_peers)) {
        first = static_cast<std::int64_t>(place.peers_first);
    } else if (frame.first == values_first) {
        first = static_cast<std::int64_t>(
            find_first_without(place.partition_first, place.partition_last + 1, [&](std::uint64_t other) {
                return values.is_null(other) ? frame.nulls_first
                       : frame.descends      ? values.is_greater_than_from(other, place.row)
                                             : values.is_less_than_from(other, place.row);
            }));
    } else if (frame.first != partition_first && row + frame.first > first) {
        first = row + frame.first;
    }
    std::int64_t last = partition_end;
    if (frame.last == peers_last || (frame.last == values_last && is_of_peers)) {
        last = static_cast<std::int64_t>(place.peers_last);
    } else if (frame.last == values_last) {
        last = static_cast<std::int64_t>(find_first_without(
                   place.partition_first, place.partition_last + 1,
                   [&](std::uint64_t other) {
                       return values.is_null(other) ? frame.nulls_first
                              : frame.descends      ? !values.is_less_than_to(other, place.row)
                                                    : !values.is_greater_than_to(other, place.row);
                   })) -
               1;
    } else if (frame.last != partition_last && row + frame.last < last) {
        last = row + frame.last;
    }
    if (last < first) {
        return {place.row, place.row};
    }
    return {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last) + 1};
}

inline constexpr std::uint64_t not_in_partition = UINT64_MAX;

// The row whose argument a function gives; not_in_partition: there is none.
GPU_ENGINE_BOTH std::uint64_t row_of_function(AccumulatorKind kind, std::uint32_t detail,
                                              const WindowPlace &place, const FrameRows &frame) {
    switch (kind) {
        case AccumulatorKind::earlier:
            return place.row - place.partition_first >= detail ? place.row - detail : not_in_partition;
        case AccumulatorKind::later:
            return place.partition_last - place.row >= detail ? place.row + detail : not_in_partition;
        case AccumulatorKind::first_of_frame:
            return frame.is_empty() ? not_in_partition : frame.first;
        case AccumulatorKind::nth_of_frame:
            return detail < frame.end - frame.first ? frame.first + detail : not_in_partition;
        default:
            return frame.is_empty() ? not_in_partition : frame.end - 1;
    }
}

// How many rows come before the row, of its partition; and how many there are.
GPU_ENGINE_BOTH std::uint64_t part_of_row(std::uint64_t before, std::uint64_t rows, std::uint64_t parts) {
    const std::uint64_t least = rows / parts;
    const std::uint64_t larger = rows % parts;
    const std::uint64_t in_larger = larger * (least + 1);
    return before < in_larger ? before / (least + 1) : larger + (before - in_larger) / least;
}

// An int64 that a function gives of the row's place; `groups` are those of equal rows that come before.
GPU_ENGINE_BOTH std::uint64_t number_of_function(AccumulatorKind kind, std::uint32_t detail,
                                                 const WindowPlace &place, std::uint64_t groups) {
    const std::uint64_t before = place.row - place.partition_first;
    switch (kind) {
        case AccumulatorKind::row_number:
            return before + 1;
        case AccumulatorKind::rank:
            return place.peers_first - place.partition_first + 1;
        case AccumulatorKind::dense_rank:
            return groups + 1;
        default:
            return part_of_row(before, place.partition_last - place.partition_first + 1, detail) + 1;
    }
}

// The same of percent_rank and cume_dist.
GPU_ENGINE_BOTH double share_of_function(AccumulatorKind kind, const WindowPlace &place) {
    const std::uint64_t others = place.partition_last - place.partition_first;
    if (kind == AccumulatorKind::cume_dist) {
        return static_cast<double>(place.peers_last - place.partition_first + 1) /
               static_cast<double>(others + 1);
    }
    return others == 0
               ? 0.0
               : static_cast<double>(place.peers_first - place.partition_first) / static_cast<double>(others);
}

}  // namespace gpu_engine::query
