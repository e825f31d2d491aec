// Finds out sooner which of many ranges a code falls into: between the second and the last start codes are
// divided evenly, and of each piece it is known which ranges it touches, most often a single one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu_engine/aggregate_steps.h"

namespace gpu_engine {

struct RangeGuide {
    static constexpr std::uint32_t slot_bits = 12;
    static constexpr std::uint32_t slots = 1 << slot_bits;
    // Rows for which making it pays.
    static constexpr std::uint64_t least_rows = 4 * slots;

    const std::uint64_t *starts;
    std::uint32_t last;          // range
    std::uint32_t shift;         // slots have 2^shift codes
    std::uint64_t first;         // start of the second range
    std::uint32_t below[slots];  // the last range that starts where the slot starts, or before
};

// Is a guide worth making for an input of so many rows?
inline bool wants_range_guide(const AggregateInput &input, std::uint64_t rows) noexcept {
    return input.kind == AggregateInputKind::ranges && input.places > 2 && input.places <= UINT32_MAX &&
           rows >= RangeGuide::least_rows;
}

// There are at least two ranges. Whatever their starts are, what is found is a range.
inline void make_range_guide(const AggregateInput &input, RangeGuide *guide) noexcept {
    guide->starts = static_cast<const std::uint64_t *>(input.values);
    guide->last = static_cast<std::uint32_t>(input.places - 1);
    guide->first = guide->starts[1];
    const std::uint64_t span = guide->starts[guide->last] - guide->first;
    guide->shift = 0;
    while (span >> guide->shift >= RangeGuide::slots) {
        guide->shift++;
    }
    std::uint32_t range = 1;
    for (std::uint32_t slot = 0; slot < RangeGuide::slots; slot++) {
        while (range < guide->last && guide->starts[range + 1] - guide->first <= std::uint64_t{slot}
                                                                                     << guide->shift) {
            range++;
        }
        guide->below[slot] = range;
    }
}

inline std::uint32_t find_range(const RangeGuide &guide, std::uint64_t code) noexcept {
    if (code < guide.first) {
        return 0;
    }
    const std::uint64_t slot =
        std::min<std::uint64_t>((code - guide.first) >> guide.shift, RangeGuide::slots - 1);
    std::uint32_t low = guide.below[slot];
    std::uint32_t high = slot + 1 < RangeGuide::slots ? guide.below[slot + 1] : guide.last;
    while (low < high) {
        const std::uint32_t middle = low + (high - low + 1) / 2;
        if (guide.starts[middle] <= code) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// Does what load_input_tile does, for an input that the guide was made of. `found` has room for each row of
// the tile.
template <typename Code>
inline StepValues load_range_tile(const AggregateInput &input, const RangeGuide &guide, const Code *codes,
                                  const std::uint64_t *column_nulls, const std::uint16_t *positions,
                                  std::uint32_t count, std::int64_t *values, std::uint8_t *null_room,
                                  std::uint32_t *found) {
    for_tile_rows(positions, count,
                  [&](std::uint32_t, std::uint32_t row) { found[row] = find_range(guide, codes[row]); });
    AggregateInput by_range = input;
    by_range.kind = AggregateInputKind::map64;
    by_range.values = static_cast<const std::int64_t *>(input.values) + input.places;
    return load_input_tile(by_range, found, column_nulls, positions, count, values, null_room);
}

}  // namespace gpu_engine
