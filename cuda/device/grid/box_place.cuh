// The place of boxes in a grid: the slots of each column that they touch, found by a few lanes a box.
#pragma once

#include <cstdint>

#include "device/grid/scale.cuh"

namespace gpu_engine::device {

inline constexpr unsigned every_lane = 0xffffffffU;

// A warp finds the slots of so many boxes together; each box has so many lanes, of which lane 2c + s finds
// the slot of column c's bound s.
template <int D>
inline constexpr int boxes_together = D <= 2   ? 8
                                      : D <= 4 ? 4
                                               : 2;
template <int D>
inline constexpr int lanes_a_box = 32 / boxes_together<D>;

// A box within a grid as its warp knows it, in shared memory.
template <int D, typename Key>
struct BoxPlace {
    Key low[D];
    Key width[D];
    std::uint32_t slots[D];    // touched
    std::uint32_t strides[D];  // cells between a column's slots
    std::uint32_t first_cell;  // first of the cells that are touched
    std::uint32_t tests;  // bit 2c: the first slot of column c reaches beyond the box; bit 2c + 1: the last
    std::uint32_t box;
    bool empty;

    __device__ __forceinline__ std::uint32_t test_low(int column) const { return tests >> (2 * column) & 1; }
    __device__ __forceinline__ std::uint32_t test_high(int column) const {
        return tests >> (2 * column + 1) & 1;
    }
};

template <int D, typename Key>
__device__ __forceinline__ bool inside(const GridView<Key> &grid, const BoxPlace<D, Key> &place,
                                       std::uint32_t position, std::uint32_t tested) {
    bool in = true;
#pragma unroll
    for (int c = 0; c < D; ++c) {
        if ((tested >> c & 1) != 0) {
            in = in && key_at(grid, c, position) - place.low[c] <= place.width[c];
        }
    }
    return in;
}

// Fills the warp's places with the slots that its boxes touch, of the first level or of a lower grid each.
// All lanes call it, each for the box that it works on; a lane without a box has `none`.
template <int D, typename Key, bool FirstLevel>
__device__ __forceinline__ void find_slots(const GridView<Key> &grid, const Key *top, const BoxBatch &boxes,
                                           bool none, std::uint32_t box, std::uint32_t lower_grid,
                                           std::uint32_t tested, std::uint32_t null_only,
                                           BoxPlace<D, Key> *places) {
    const unsigned group = threadIdx.x % 32 / lanes_a_box<D>;
    const unsigned column = threadIdx.x % lanes_a_box<D> / 2;
    const bool is_high = threadIdx.x % 2 != 0;
    BoxPlace<D, Key> &place = places[group];
    LowerGrid lower = {};
    if (!FirstLevel && !none) {
        lower = read_grid(grid.grids, lower_grid);
    }
    const bool in_use = !none && column < D;
    const bool bounded = in_use && (tested >> column & 1) != 0;
    std::uint32_t key_slots = 0;
    std::uint32_t all_slots = 0;
    const Key *lower_scale = grid.lower_scales + lower.first_scale;
    if constexpr (FirstLevel) {
        if (in_use) {
            key_slots = grid.shapes[column].slots;
            all_slots = grid.shapes[column].all_slots;
        }
    } else {
#pragma unroll
        for (int c = 0; c < D; ++c) {
            const std::uint32_t last_slot = lower.last_slot[c];
            lower_scale += c < column ? last_slot : 0;
            key_slots = c == column ? last_slot + 1 : key_slots;
        }
        all_slots = key_slots;
    }
    SlotPlace<Key> found = {0, 0, 0};
    Key key = 0;
    bool test = false;
    if (bounded) {
        const bool wide = (grid.wide >> column & 1) != 0;
        key = read_key<Key>(is_high ? boxes.high[column] : boxes.low[column], wide, box);
        if constexpr (FirstLevel) {
            found = find_slot(grid.shapes[column], top, grid.scales[column], key);
        } else {
            found = find_lower_slot(lower_scale, key_slots - 1, key);
        }
        const Key highest = sizeof(Key) == 8 && !wide ? static_cast<Key>(UINT32_MAX) : highest_of<Key>();
        test = is_high ? key < (found.slot + 1 == key_slots ? highest : found.next - 1) : key > found.lowest;
    }
    const Key high = __shfl_down_sync(every_lane, key, 1);
    const std::uint32_t high_slot = __shfl_down_sync(every_lane, found.slot, 1);
    const bool takes_null = !bounded && (null_only >> column & 1) != 0;
    const bool empty =
        none || (in_use && !is_high && (bounded ? high < key : takes_null && key_slots == all_slots));
    constexpr unsigned own_lanes = (1U << lanes_a_box<D>)-1;
    const unsigned first_lane = group * lanes_a_box<D>;
    const unsigned tests = __ballot_sync(every_lane, test) >> first_lane & own_lanes;
    const unsigned empties = __ballot_sync(every_lane, empty) >> first_lane & own_lanes;
    // The loop finds the cells between the slots of each column, and the first cell that is touched.
    const std::uint32_t low_slot = bounded ? found.slot : takes_null ? key_slots : 0;
    std::uint32_t stride = 1;
    std::uint32_t first_cell = lower.first_cell;
    std::uint32_t own_stride = 1;
#pragma unroll
    for (int c = D - 1; c >= 0; --c) {
        own_stride = c == column ? stride : own_stride;
        first_cell += __shfl_sync(every_lane, low_slot, 2 * c, lanes_a_box<D>) * stride;
        stride *= __shfl_sync(every_lane, all_slots, 2 * c, lanes_a_box<D>);
    }
    // All lanes must be done with what was there before.
    __syncwarp();
    if (column < D && !is_high) {
        place.low[column] = key;
        place.width[column] = high - key;
        place.slots[column] = bounded ? high_slot - low_slot + 1 : takes_null ? 1 : all_slots;
        place.strides[column] = own_stride;
        if (column == 0) {
            place.first_cell = first_cell;
            place.tests = tests;
            place.box = box;
            place.empty = empties != 0;
        }
    }
    __syncwarp();
}

}  // namespace gpu_engine::device
