// Both implementations of grid files share this: how many slots a column gets, the directory's layout, and
// what calls are refused.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu_engine/both.h"
#include "gpu_engine/grid.h"

namespace gpu_engine {

// ---- Slots ---------------------------------------------------------------------------------------

// Grids below the first level have at most so many slots a column, so that the numbers of slots fit into
// bytes.
inline constexpr std::uint32_t max_lower_slots = 256;
// Their scales come from a sample of at most so many entries.
inline constexpr std::uint32_t lower_sample = 512;
// A sample for the first level's scales has so many entries for each slot, and at least `least_sample` in
// all.
inline constexpr std::uint64_t sample_per_slot = 64;
inline constexpr std::uint64_t least_sample = std::uint64_t(1) << 20;

// Returns the largest root with root^degree <= number, at least 1.
GPU_ENGINE_BOTH std::uint64_t whole_root(std::uint64_t number, std::uint32_t degree) {
    const auto power = [degree](std::uint64_t base) {
        std::uint64_t product = 1;
        for (std::uint32_t i = 0; i < degree; ++i) {
            product *= base;
        }
        return product;
    };
    auto root = static_cast<std::uint64_t>(pow(static_cast<double>(number), 1.0 / degree));
    root = root < 1 ? 1 : root;
    while (root > 1 && power(root) > number) {
        --root;
    }
    while (power(root + 1) <= number) {
        ++root;
    }
    return root;
}

// Cuts `columns` columns into slots that make about `cells` cells and no more, column c into at most most[c].
// Slots that a column can't use go to the others, which get equal numbers or one more. `cells` is below 2^32.
GPU_ENGINE_BOTH void choose_slots(std::uint64_t cells, std::uint32_t columns, const std::uint32_t *most,
                                  std::uint32_t *slots) {
    std::uint32_t open = 0;
    for (std::uint32_t c = 0; c < columns; ++c) {
        slots[c] = 0;
        ++open;
    }
    std::uint64_t rest = cells < 1 ? 1 : cells;
    std::uint64_t root = 1;
    for (bool settled = false; !settled && open > 0;) {
        settled = true;
        root = whole_root(rest, open);
        for (std::uint32_t c = 0; c < columns; ++c) {
            if (slots[c] == 0 && most[c] <= root) {
                slots[c] = most[c];
                rest /= most[c];
                --open;
                settled = false;
            }
        }
    }
    std::uint64_t product = 1;
    for (std::uint32_t i = 0; i < open; ++i) {
        product *= root;
    }
    // The last columns come first, because their slots are neighbours in the directory.
    for (std::uint32_t i = columns; i-- > 0;) {
        if (slots[i] == 0) {
            slots[i] = static_cast<std::uint32_t>(root);
            if (root < most[i] && product / root * (root + 1) <= rest) {
                product = product / root * (root + 1);
                ++slots[i];
            }
        }
    }
}

// Cells with more entries get a grid of their own, unless these are all alike.
inline std::uint32_t max_in_a_cell(const GridOptions &options, std::uint32_t columns) {
    const std::uint64_t most = std::uint64_t(options.bucket) << columns;
    return !options.hierarchical || most > Grid::max_entries ? UINT32_MAX : static_cast<std::uint32_t>(most);
}

// Returns the i-th place of a sample with repetition from `count` entries, count < 2^32; the same on every
// run (the finaliser of MurmurHash3).
GPU_ENGINE_BOTH std::uint64_t sample_place(std::uint64_t i, std::uint64_t count) {
    std::uint64_t x = i + 0x9e3779b97f4a7c15ULL;
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    x ^= x >> 33;
    return (x >> 32) * count >> 32;
}

// Returns how many entries are sampled for the scale of a first level of so many slots. It may be all.
inline std::uint64_t sample_size(std::uint64_t entries, std::uint64_t slots) {
    const std::uint64_t wanted =
        slots * sample_per_slot < least_sample ? least_sample : slots * sample_per_slot;
    return wanted >= entries / 2 ? entries : wanted;
}

// Returns how many slots a column of a first level can use, by the distinct keys of a sample. A sample in
// which most keys are distinct doesn't tell, so no limit follows from it.
inline std::uint32_t usable_slots(std::uint64_t distinct, std::uint64_t sampled, std::uint64_t entries,
                                  bool differ) {
    if (sampled < entries && distinct >= sampled / 2) {
        return UINT32_MAX;
    }
    const std::uint64_t least = differ ? 2 : 1;
    return static_cast<std::uint32_t>(distinct < least ? least : distinct);
}

// A run of cells whose entries must be tested is looked at cell by cell where its cells have more entries
// than this on average.
inline std::uint64_t overfull_cells(const GridOptions &options) {
    return options.hierarchical ? std::uint64_t(options.bucket) * 4 : UINT32_MAX;
}

// ---- The directory -------------------------------------------------------------------------------

// Word i of the directory is the position of cell i's first entry, or this bit and the number of the cell's
// grid. Behind a grid's last cell stands the position of its end. The last column's slots are neighbours.
inline constexpr std::uint32_t has_grid = std::uint32_t(1) << 31;

// A grid below the first level.
struct alignas(32) LowerGrid {
    std::uint32_t first;       // position of its first entry
    std::uint32_t first_cell;  // in the directory
    std::uint32_t
        first_scale;  // its columns' scales, one behind the other: the lowest keys of slots 1, 2, ...
    std::uint32_t reserved;
    std::uint8_t last_slot[max_grid_columns];  // last slot of each column
};
static_assert(sizeof(LowerGrid) == 32);

// ---- Calls ---------------------------------------------------------------------------------------

inline Status check_grid(const GridEntries &entries, const GridOptions &options) noexcept {
    if (entries.columns == 0 || entries.columns > max_grid_columns) {
        return make_status(StatusCode::invalid_argument, "a grid has 1 to 8 columns");
    }
    if (entries.count > Grid::max_entries) {
        return make_status(StatusCode::invalid_argument, "more entries than a grid can hold");
    }
    if (options.bucket == 0) {
        return make_status(StatusCode::invalid_argument, "a cell's entries must be at least 1 on average");
    }
    for (std::uint32_t c = 0; c < entries.columns; ++c) {
        if (entries.key_bytes[c] != 4 && entries.key_bytes[c] != 8) {
            return make_status(StatusCode::invalid_argument, "a column's keys have 4 or 8 bytes");
        }
        if (entries.count > 0 && entries.keys[c] == nullptr) {
            return make_status(StatusCode::invalid_argument, "a column has no keys");
        }
    }
    return {};
}

inline Status check_points(const GridPoints &points, std::uint32_t columns, std::uint64_t count) noexcept {
    for (std::uint32_t c = 0; c < columns && count > 0; ++c) {
        if (points.keys[c] == nullptr) {
            return make_status(StatusCode::invalid_argument, "points need keys for every column");
        }
    }
    return {};
}

inline Status check_boxes(const GridBoxes &boxes, std::uint32_t columns) noexcept {
    for (std::uint32_t c = 0; c < columns; ++c) {
        if ((boxes.low[c] == nullptr) != (boxes.high[c] == nullptr)) {
            return make_status(StatusCode::invalid_argument, "a column of boxes has one bound only");
        }
    }
    return {};
}

// Returns the columns that all boxes leave open. Columns of which a box takes NULL only are not among them.
inline std::uint32_t unbounded_columns(const GridBoxes &boxes, std::uint32_t columns) noexcept {
    std::uint32_t unbounded = 0;
    for (std::uint32_t c = 0; c < columns; ++c) {
        unbounded |= boxes.low[c] == nullptr ? 1U << c : 0U;
    }
    return unbounded;
}

}  // namespace gpu_engine
