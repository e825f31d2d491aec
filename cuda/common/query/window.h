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

GPU_ENGINE_BOTH FrameRows frame_of(std::int64_t frame_first, std::int64_t frame_last,
                                   const WindowPlace &place) {
    const auto row = static_cast<std::int64_t>(place.row);
    const auto partition_begin = static_cast<std::int64_t>(place.partition_first);
    const auto partition_end = static_cast<std::int64_t>(place.partition_last);
    std::int64_t first = partition_begin;
    if (frame_first == peers_first) {
        first = static_cast<std::int64_t>(place.peers_first);
    } else if (frame_first != partition_first && row + frame_first > first) {
        first = row + frame_first;
    }
    std::int64_t last = partition_end;
    if (frame_last == peers_last) {
        last = static_cast<std::int64_t>(place.peers_last);
    } else if (frame_last != partition_last && row + frame_last < last) {
        last = row + frame_last;
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
        default:
            return frame.is_empty() ? not_in_partition : frame.end - 1;
    }
}

}  // namespace gpu_engine::query
