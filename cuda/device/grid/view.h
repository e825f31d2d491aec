// A grid file in a device's memory, as its kernels see it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/grid/grid.h"
#include "device/call.h"
#include "device/heap_blocks.h"
#include "device/kary/dead.h"
#include "gpu_engine/grid.h"

namespace gpu_engine::device {

// The first level's scale of one column. Its keys, padded with the highest one to a power of two less one,
// are searched through every 2^shift-th of them first: these are copied into shared memory, as a complete
// binary tree in breadth-first order whose root has index 1.
struct ScaleShape {
    std::uint32_t slots;      // number of slots of keys
    std::uint32_t all_slots;  // and that of NULL, where there is one
    std::uint32_t top_begin;  // among the trees of all columns
    std::uint8_t height;      // height of the tree
    std::uint8_t shift;
};

// Key is that of the scales: 32 bits where all columns have such keys.
template <typename Key>
struct GridView {
    const void *keys[max_grid_columns];  // in the order of the cells; NULLs are 0
    const Key *scales[max_grid_columns];
    const Key *top;
    const std::uint32_t *directory;
    const LowerGrid *grids;
    const Key *lower_scales;
    ScaleShape shapes[max_grid_columns];
    std::uint32_t top_keys;
    std::uint32_t top_height;  // height of the highest tree
    std::uint32_t columns;
    std::uint32_t probe;  // the column that tells most keys apart
    std::uint32_t wide;   // bit c: column c has 64 bits
    std::uint32_t max_in_a_cell;
    std::uint32_t overfull;
    std::uint32_t levels;
};

// The trees of all columns together have at most so many bytes.
inline constexpr std::uint64_t top_bytes = 32 << 10;

// A piece of a batch, whose arrays are on the device.
struct PointBatch {
    const void *keys[max_grid_columns];
    std::uint64_t count;
};
struct BoxBatch {
    const void *low[max_grid_columns];
    const void *high[max_grid_columns];
    const std::uint8_t *open;
    const std::uint8_t *null;
    std::uint32_t unbounded;  // columns that no box bounds
    std::uint64_t count;
};

// ---- What is asked, each in files of its own ----------------------------------------------------

// Sets counts[i] to the number of live entries that are point i. Where that is 1, places[i] becomes the
// entry's position. `places` may be null.
template <typename Key>
void count_matches(const Call &call, const GridView<Key> &grid, const PointBatch &points,
                   const DeadView &dead, std::uint32_t *counts, std::uint32_t *places);
// Writes the TIDs of these entries to out[offsets[i]] up to out[offsets[i + 1] - 1].
template <typename Key>
void write_matches(const Call &call, const GridView<Key> &grid, const PointBatch &points,
                   const DeadView &dead, const std::uint32_t *counts, const std::uint32_t *places,
                   const Tid *tids, const std::uint64_t *offsets, Tid *out);

// Sets counts[i] to the number of live entries in box i.
template <typename Key>
void count_boxes(const Call &call, const GridView<Key> &grid, const BoxBatch &boxes, const DeadView &dead,
                 std::uint32_t *counts);

// The work done with each live entry of a box.
struct EachJob {
    const Tid *tids;
    bool by_block;                // else all are taken alike
    KnownBlocks known;            // entries known to be visible by this are only counted
    std::uint64_t *on;            // counts of these, added to; null when they are known already
    std::uint64_t *elsewhere;     // counts of those on unknown blocks, added to; null when they are written
    std::uint64_t *cursors;       // per box: the next place in `out`
    const std::uint64_t *limits;  // per box: the place behind its last
    Tid *out;
};
template <typename Key>
void each_in_boxes(const Call &call, const GridView<Key> &grid, const BoxBatch &boxes, const DeadView &dead,
                   const EachJob &job);

// Calls run(std::integral_constant<int, columns>).
template <typename Run>
void with_columns(std::uint32_t columns, Run run) {
    switch (columns) {
        case 1:
            return run(std::integral_constant<int, 1>());
        case 2:
            return run(std::integral_constant<int, 2>());
        case 3:
            return run(std::integral_constant<int, 3>());
        case 4:
            return run(std::integral_constant<int, 4>());
        case 5:
            return run(std::integral_constant<int, 5>());
        case 6:
            return run(std::integral_constant<int, 6>());
        case 7:
            return run(std::integral_constant<int, 7>());
        default:
            return run(std::integral_constant<int, 8>());
    }
}

}  // namespace gpu_engine::device
