// Boxes: a warp walks through a part of a box's rows of cells (host/grid/visit.h has the walk in plain form).
//
// Cells of the rows' ends are small, so eight lanes share one; longer runs are read by the whole warp. Keys
// of several entries are under way at a time in each lane, since it is their way that takes the time. A cell
// with a grid of its own is put on a queue, whose boxes within lower grids are walked through afterwards,
// level by level. When the queue is full the cell's entries are all tested instead.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda_status.h"
#include "device/grid/scale.cuh"
#include "device/kary/dead.cuh"

namespace gpu_engine::device {

inline constexpr unsigned every_lane = 0xffffffffU;
inline constexpr int box_threads = 256;
// How many lanes share a small cell, how many blocks a multiprocessor shall hold, and of how many bytes of
// keys the reads are under way in each lane.
template <int CellLanes, int Blocks, int Bytes>
struct BoxShape {
    static constexpr int cell_lanes = CellLanes;
    static constexpr int blocks = Blocks;
    // Entries of a lane whose keys are read together.
    template <int D, typename Key>
    static constexpr int batch = Bytes / (D * int(sizeof(Key))) >= 8   ? 8
                                 : Bytes / (D * int(sizeof(Key))) >= 4 ? 4
                                                                       : 2;
};

// A box of a small batch is cut into so many parts at most, and a batch into so many warps a multiprocessor.
inline constexpr std::uint64_t most_parts = 4096;
inline constexpr std::uint64_t warps_a_multiprocessor = 32;

// A lower grid to look at for a box, in the columns of `tested`.
struct BoxTask {
    std::uint32_t box;
    std::uint32_t grid;
    std::uint32_t tested;
};

struct BoxQueue {
    BoxTask *tasks;
    std::uint32_t *filled;  // may go beyond the capacity
    std::uint32_t capacity;
    std::uint32_t *bounds;  // tasks of level i are bounds[i - 1] to bounds[i] - 1; the first level has none
};

// What a warp looks at, and what it knows of the box.
template <int D, typename Key>
struct BoxPlace {
    Key low[D];
    Key width[D];
    std::uint32_t low_slot[D];
    std::uint32_t slots[D];      // touched
    std::uint32_t all_slots[D];  // of the grid
    std::uint32_t test_low;      // bit c: the first slot of column c reaches beyond the box
    std::uint32_t test_high;
    std::uint32_t first_cell;
    bool empty;
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

// Finds the slots that box `box` touches; lane 2c + s finds that of column c's bound s. All lanes call it.
template <int D, typename Key, bool FirstLevel>
__device__ __forceinline__ void enter(const GridView<Key> &grid, const Key *top, const BoxBatch &boxes,
                                      std::uint32_t box, std::uint32_t lower_grid, std::uint32_t tested,
                                      std::uint32_t null_only, BoxPlace<D, Key> &place) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned column = lane / 2;
    const bool is_high = lane % 2 != 0;
    LowerGrid lower = {};
    if constexpr (!FirstLevel) {
        lower = read_grid(grid.grids, lower_grid);
    }
    place.first_cell = FirstLevel ? 0 : lower.first_cell;
    SlotPlace<Key> found = {0, 0, 0};
    Key key = 0;
    bool test = false;
    if (column < D && (tested >> column & 1) != 0) {
        const bool wide = (grid.wide >> column & 1) != 0;
        key = read_key<Key>(is_high ? boxes.high[column] : boxes.low[column], wide, box);
        std::uint32_t last_slot;
        if constexpr (FirstLevel) {
            last_slot = grid.shapes[column].slots - 1;
            found = find_slot(grid.shapes[column], top, grid.scales[column], key);
        } else {
            const Key *scale = grid.lower_scales + lower.first_scale;
            for (unsigned c = 0; c < column; ++c) {
                scale += lower.last_slot[c];
            }
            last_slot = lower.last_slot[column];
            found = find_lower_slot(scale, last_slot, key);
        }
        const Key highest = sizeof(Key) == 8 && !wide ? static_cast<Key>(UINT32_MAX) : highest_of<Key>();
        test = is_high ? key < (found.slot == last_slot ? highest : found.next - 1) : key > found.lowest;
    }
    const unsigned tests = __ballot_sync(every_lane, test);
    place.test_low = 0;
    place.test_high = 0;
    place.empty = false;
#pragma unroll
    for (int c = 0; c < D; ++c) {
        place.low[c] = __shfl_sync(every_lane, key, 2 * c);
        const Key high = __shfl_sync(every_lane, key, 2 * c + 1);
        const std::uint32_t low_slot = __shfl_sync(every_lane, found.slot, 2 * c);
        const std::uint32_t high_slot = __shfl_sync(every_lane, found.slot, 2 * c + 1);
        place.test_low |= (tests >> (2 * c) & 1) << c;
        place.test_high |= (tests >> (2 * c + 1) & 1) << c;
        place.width[c] = high - place.low[c];
        place.empty = place.empty || high < place.low[c];
        std::uint32_t key_slots = 1;
        if constexpr (FirstLevel) {
            place.all_slots[c] = grid.shapes[c].all_slots;
            key_slots = grid.shapes[c].slots;
        } else {
            place.all_slots[c] = lower.last_slot[c] + 1U;
        }
        if ((tested >> c & 1) != 0) {
            place.low_slot[c] = low_slot;
            place.slots[c] = high_slot - low_slot + 1;
        } else if (FirstLevel && (null_only >> c & 1) != 0) {
            place.low_slot[c] = key_slots;
            place.slots[c] = 1;
            place.empty = place.empty || key_slots == place.all_slots[c];
        } else {
            place.low_slot[c] = 0;
            place.slots[c] = place.all_slots[c];
        }
    }
}

// Positions whose keys in `tested` must be compared.
struct Run {
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t tested;

    __device__ std::uint32_t size() const { return last - first; }
};

template <int D, typename Key, typename Sink, typename Shape>
class BoxWalk {
  public:
    __device__ __forceinline__ BoxWalk(const GridView<Key> &grid, const BoxPlace<D, Key> &place,
                                       const DeadView &dead, const BoxQueue &queue, std::uint32_t box,
                                       Sink &sink)
        : grid_(grid), place_(place), dead_(dead), queue_(queue), box_(box), sink_(sink) {}

    // Part `part` of `parts` of the rows; all lanes call it.
    __device__ __forceinline__ void walk(std::uint32_t part, std::uint32_t parts) {
        constexpr int along = D - 1;
        std::uint32_t rows = 1;
#pragma unroll
        for (int c = 0; c < along; ++c) {
            rows *= place_.slots[c];
        }
        // With fewer rows than parts, parts share the rows' long runs.
        const std::uint32_t chunks = (rows - 1) / 32 + 1;
        const std::uint32_t row_parts = min(parts, chunks);
        sharers_ = parts / row_parts;
        share_ = part / row_parts;
        if (share_ >= sharers_) {
            return;
        }
        for (std::uint32_t chunk = part % row_parts; chunk < chunks; chunk += row_parts) {
            walk_rows(chunk * 32, min(rows - chunk * 32, 32U));
        }
    }

  private:
    static constexpr std::uint32_t along_bit = 1U << (D - 1);
    static constexpr int cell_lanes = Shape::cell_lanes;
    static constexpr int batch = Shape::template batch<D, Key>;

    __device__ __forceinline__ void walk_rows(std::uint32_t first_row, std::uint32_t rows) {
        constexpr int along = D - 1;
        const unsigned lane = threadIdx.x % 32;
        const bool active = lane < rows;
        std::uint32_t rest = first_row + (active ? lane : 0);
        std::uint32_t stride = place_.all_slots[along];
        std::uint32_t cell = place_.first_cell + place_.low_slot[along];
        std::uint32_t tested = 0;
#pragma unroll
        for (int c = along - 1; c >= 0; --c) {
            std::uint32_t slot = rest;
            if (c > 0) {
                const std::uint32_t quotient = rest / place_.slots[c];
                slot = rest - quotient * place_.slots[c];
                rest = quotient;
            }
            tested |= slot == 0 ? place_.test_low & 1U << c : 0U;
            tested |= slot + 1 == place_.slots[c] ? place_.test_high & 1U << c : 0U;
            cell += (place_.low_slot[c] + slot) * stride;
            stride *= place_.all_slots[c];
        }
        const std::uint32_t slots = place_.slots[along];
        const bool test_low = (place_.test_low & along_bit) != 0;
        const bool test_high = (place_.test_high & along_bit) != 0;
        const bool has_left = test_low || (test_high && slots == 1);
        const bool has_right = test_high && slots > 1;

        const std::uint32_t middle_first = cell + (has_left ? 1 : 0);
        const std::uint32_t middle_last = cell + slots - (has_right ? 1 : 0);
        std::uint32_t left_word = 0;
        std::uint32_t middle_word = 0;
        std::uint32_t middle_end = 0;
        std::uint32_t right_end = 0;
        if (active) {
            left_word = __ldg(grid_.directory + cell);
            middle_word = has_left ? __ldg(grid_.directory + middle_first) : left_word;
            middle_end = middle_last > middle_first ? __ldg(grid_.directory + middle_last) : middle_word;
            right_end = has_right ? __ldg(grid_.directory + middle_last + 1) : middle_end;
        }
        const std::uint32_t left_first = position_of(grid_.grids, left_word);
        const std::uint32_t first = position_of(grid_.grids, middle_word);
        const std::uint32_t last = position_of(grid_.grids, middle_end);
        const std::uint32_t right_last = position_of(grid_.grids, right_end);

        if (share_ == 0 && (has_left || has_right)) {
            Run left = {left_first, has_left ? first : left_first, tested | along_bit};
            Run right = {last, has_right ? right_last : last, tested | along_bit};
            if (__any_sync(every_lane, max(left.size(), right.size()) > grid_.most_in_a_cell)) {
                visit_large(left_word, left);
                visit_large(middle_end, right);
            }
            if (!has_right || !has_left) {
                test_cells(has_left ? left : right, rows);
            } else {
                // Both ends of a row beside each other.
                for (std::uint32_t row = 0; row < rows; row += 16) {
                    const unsigned from = row + lane / 2;
                    test_cells(shuffle(left, right, lane % 2 != 0, from), 2 * min(rows - row, 16U));
                }
            }
        }
        visit_runs(middle_first, middle_last, {first, last, tested});
    }

    // Of lane `from`'s two runs the one that this lane wants.
    __device__ __forceinline__ static Run shuffle(const Run &a, const Run &b, bool want_b, unsigned from) {
        const Run of_a = {__shfl_sync(every_lane, a.first, from), __shfl_sync(every_lane, a.last, from),
                          __shfl_sync(every_lane, a.tested, from)};
        const Run of_b = {__shfl_sync(every_lane, b.first, from), __shfl_sync(every_lane, b.last, from),
                          __shfl_sync(every_lane, b.tested, from)};
        return want_b ? of_b : of_a;
    }

    // Leaves nothing of a lane's cell where that is large.
    __device__ __forceinline__ void visit_large(std::uint32_t word, Run &run) {
        const bool long_run = look(word, run);
        stream_each(long_run, run, 0, 1);
        run.last = long_run ? run.first : run.last;
    }

    // Small cells, one a lane, of the first `cells` lanes; those of others must be empty or repeat.
    __device__ __forceinline__ void test_cells(const Run &own, std::uint32_t cells) {
        constexpr int groups = 32 / cell_lanes;
        // Cells under way at a time in each group of lanes, and so many entries of each for each lane.
        constexpr int together = batch / 2;
        const unsigned lane = threadIdx.x % 32;
        for (std::uint32_t cell = 0; cell < cells; cell += groups * together) {
            std::uint32_t positions[batch];
            std::uint32_t ends[batch];
            std::uint32_t tested[batch];
#pragma unroll
            for (int k = 0; k < together; ++k) {
                const unsigned from = cell + k * groups + lane / cell_lanes;
                const std::uint32_t begin = __shfl_sync(every_lane, own.first, from % 32);
                const std::uint32_t end = __shfl_sync(every_lane, own.last, from % 32);
                const std::uint32_t columns = __shfl_sync(every_lane, own.tested, from % 32);
#pragma unroll
                for (int w = 0; w < 2; ++w) {
                    positions[2 * k + w] = begin + w * cell_lanes + lane % cell_lanes;
                    ends[2 * k + w] = from < cells ? end : 0;
                    tested[2 * k + w] = columns;
                }
            }
            bool more;
            do {
                test<batch>(positions, ends, tested);
                more = false;
#pragma unroll
                for (int k = 0; k < batch; ++k) {
                    positions[k] += 2 * cell_lanes;
                    more = more || positions[k] < ends[k];
                }
            } while (__any_sync(every_lane, more));
        }
    }

    // What is to be done with a lane's cell: true when all lanes should go through it together. Cells with
    // grids go on the queue; of entries that are all alike one is compared.
    __device__ __forceinline__ bool look(std::uint32_t word, Run &run) {
        if (run.first == run.last || run.size() <= grid_.most_in_a_cell) {
            return false;
        }
        if ((word & has_grid) != 0) {
            if (run.tested == 0 || !enqueue(word & ~has_grid, run.tested)) {
                return true;
            }
            run.last = run.first;
            return false;
        }
        if (inside(grid_, place_, run.first, run.tested)) {
            run.tested = 0;
            return true;
        }
        run.last = run.first;
        return false;
    }

    __device__ __forceinline__ bool enqueue(std::uint32_t lower_grid, std::uint32_t tested) {
        if (*static_cast<volatile std::uint32_t *>(queue_.filled) >= queue_.capacity) {
            return false;
        }
        const std::uint32_t place = atomicAdd(queue_.filled, 1U);
        if (place >= queue_.capacity) {
            return false;
        }
        queue_.tasks[place] = {box_, lower_grid, tested};
        return true;
    }

    // A run of cells a lane.
    __device__ __forceinline__ void visit_runs(std::uint32_t first_cell, std::uint32_t last_cell, Run run) {
        const bool crowded =
            run.tested != 0 && static_cast<std::uint64_t>(run.size()) >
                                   static_cast<std::uint64_t>(last_cell - first_cell) * grid_.crowded;
        stream_each(run.first < run.last && !crowded, run, share_, sharers_);
        for (unsigned rest = __ballot_sync(every_lane, crowded); rest != 0; rest &= rest - 1) {
            const int from = __ffs(static_cast<int>(rest)) - 1;
            const std::uint32_t begin = __shfl_sync(every_lane, first_cell, from);
            const std::uint32_t end = __shfl_sync(every_lane, last_cell, from);
            const std::uint32_t tested = __shfl_sync(every_lane, run.tested, from);
            for (std::uint32_t at = begin + share_ * 32; at < end; at += sharers_ * 32) {
                const std::uint32_t cell = at + threadIdx.x % 32;
                std::uint32_t word = 0;
                Run own = {0, 0, tested};
                if (cell < end) {
                    word = __ldg(grid_.directory + cell);
                    own.first = position_of(grid_.grids, word);
                    own.last = position_of(grid_.grids, __ldg(grid_.directory + cell + 1));
                }
                visit_large(word, own);
                test_cells(own, min(end - at, 32U));
            }
        }
    }

    // The runs of the lanes that want it, one after the other, each by all lanes; this warp takes its share
    // of each.
    __device__ __forceinline__ void stream_each(bool wanted, const Run &run, std::uint32_t share,
                                                std::uint32_t sharers) {
        if constexpr (!Sink::together) {
            // Whole runs need no look at their entries.
            if (wanted && run.tested == 0) {
                if (share == 0) {
                    sink_.add(run.size() - (dead_.words != nullptr
                                                ? dead_before(dead_, run.last) - dead_before(dead_, run.first)
                                                : 0));
                }
                wanted = false;
            }
        }
        for (unsigned rest = __ballot_sync(every_lane, wanted); rest != 0; rest &= rest - 1) {
            const int from = __ffs(static_cast<int>(rest)) - 1;
            const std::uint32_t begin = __shfl_sync(every_lane, run.first, from);
            const std::uint32_t end = __shfl_sync(every_lane, run.last, from);
            const std::uint32_t tested = __shfl_sync(every_lane, run.tested, from);
            stream(part_of(begin, end, share, sharers), part_of(begin, end, share + 1, sharers), tested);
        }
    }

    // Where share `share` of a run begins.
    __device__ static std::uint32_t part_of(std::uint32_t begin, std::uint32_t end, std::uint32_t share,
                                            std::uint32_t sharers) {
        return sharers == 1 ? (share == 0 ? begin : end)
                            : begin + static_cast<std::uint32_t>(static_cast<std::uint64_t>(end - begin) *
                                                                 share / sharers);
    }

    // A run by all lanes.
    __device__ __forceinline__ void stream(std::uint32_t begin, std::uint32_t end, std::uint32_t tested) {
        constexpr int together = batch < 4 ? batch : 4;
        if constexpr (Sink::together) {
            if (tested == 0 && dead_.words == nullptr && sink_.takes_all()) {
                sink_.take_all(begin, end);
                return;
            }
        }
        // Positions are below 2^31, so that these don't overflow.
        for (std::uint32_t at = begin; at < end; at += 32 * together) {
            std::uint32_t positions[together];
            std::uint32_t ends[together];
            std::uint32_t columns[together];
#pragma unroll
            for (int k = 0; k < together; ++k) {
                positions[k] = at + 32 * k + threadIdx.x % 32;
                ends[k] = end;
                columns[k] = tested;
            }
            test<together>(positions, ends, columns);
        }
    }

    // Entries of each lane, those at an end or behind it aside: first all their keys are read, then compared.
    template <int Number>
    __device__ __forceinline__ void test(const std::uint32_t (&positions)[Number],
                                         const std::uint32_t (&ends)[Number],
                                         const std::uint32_t (&tested)[Number]) {
        Key keys[Number][D];
#pragma unroll
        for (int k = 0; k < Number; ++k) {
#pragma unroll
            for (int c = 0; c < D; ++c) {
                keys[k][c] = place_.low[c];
                if (positions[k] < ends[k] && (tested[k] >> c & 1) != 0) {
                    keys[k][c] = key_at(grid_, c, positions[k]);
                }
            }
        }
#pragma unroll
        for (int k = 0; k < Number; ++k) {
            bool hit = positions[k] < ends[k];
#pragma unroll
            for (int c = 0; c < D; ++c) {
                hit = hit && keys[k][c] - place_.low[c] <= place_.width[c];
            }
            if (dead_.words != nullptr) {
                hit = hit && !is_dead(dead_, positions[k]);
            }
            sink_.take(hit, positions[k]);
        }
    }

    const GridView<Key> &grid_;
    const BoxPlace<D, Key> &place_;
    const DeadView &dead_;
    const BoxQueue &queue_;
    std::uint32_t box_;
    std::uint32_t share_ = 0;
    std::uint32_t sharers_ = 1;
    Sink &sink_;
};

// What all boxes' columns ask for.
__device__ __forceinline__ void read_masks(const BoxBatch &boxes, std::uint32_t columns, std::uint32_t box,
                                           std::uint32_t *tested, std::uint32_t *null_only) {
    const std::uint32_t all = (1U << columns) - 1;
    const std::uint32_t open = boxes.open != nullptr ? boxes.open[box] : 0;
    *null_only = boxes.null != nullptr ? boxes.null[box] & ~open & all : 0;
    *tested = all & ~open & ~*null_only & ~boxes.unbounded;
}

// Parts of boxes on the first level.
template <int D, typename Key, typename Sink, typename Shape>
__global__ void __launch_bounds__(box_threads, Shape::blocks)
    boxes_kernel(const GridView<Key> grid, const BoxBatch boxes, const DeadView dead, const BoxQueue queue,
                 std::uint32_t parts, const typename Sink::Job job) {
    extern __shared__ unsigned long long shared[];
    Key *top = reinterpret_cast<Key *>(shared);
    copy_top(grid, top);
    const std::uint64_t items = boxes.count * parts;
    const std::uint64_t warps = static_cast<std::uint64_t>(gridDim.x) * (box_threads / 32);
    for (std::uint64_t item = (static_cast<std::uint64_t>(blockIdx.x) * box_threads + threadIdx.x) / 32;
         item < items; item += warps) {
        const auto box = static_cast<std::uint32_t>(parts == 1 ? item : item / parts);
        std::uint32_t tested;
        std::uint32_t null_only;
        read_masks(boxes, grid.columns, box, &tested, &null_only);
        BoxPlace<D, Key> place;
        enter<D, Key, true>(grid, top, boxes, box, 0, tested, null_only, place);
        if (place.empty) {
            continue;
        }
        // No other warp looks at the box.
        const bool alone = parts == 1 && grid.levels == 1;
        Sink sink(job, box, alone);
        BoxWalk<D, Key, Sink, Shape>(grid, place, dead, queue, box, sink)
            .walk(parts == 1 ? 0 : static_cast<std::uint32_t>(item % parts), parts);
        sink.finish();
    }
}

// The queue's tasks of one level.
template <int D, typename Key, typename Sink, typename Shape>
__global__ void __launch_bounds__(box_threads, Shape::blocks)
    lower_boxes_kernel(const GridView<Key> grid, const BoxBatch boxes, const DeadView dead,
                       const BoxQueue queue, std::uint32_t level, const typename Sink::Job job) {
    const std::uint32_t first = min(queue.bounds[level - 1], queue.capacity);
    const std::uint32_t last = min(queue.bounds[level], queue.capacity);
    const std::uint32_t warps = gridDim.x * (box_threads / 32);
    for (std::uint32_t i = first + (blockIdx.x * box_threads + threadIdx.x) / 32; i < last; i += warps) {
        const BoxTask task = queue.tasks[i];
        BoxPlace<D, Key> place;
        enter<D, Key, false>(grid, nullptr, boxes, task.box, task.grid, task.tested, 0, place);
        if (place.empty) {
            continue;
        }
        Sink sink(job, task.box, false);
        BoxWalk<D, Key, Sink, Shape>(grid, place, dead, queue, task.box, sink).walk(0, 1);
        sink.finish();
    }
}

// Tasks that the queue of a batch has places for.
inline std::uint32_t queue_capacity(std::uint64_t boxes) {
    constexpr std::uint64_t least = std::uint64_t(1) << 16;
    constexpr std::uint64_t most = std::uint64_t(1) << 22;
    constexpr std::uint64_t a_box = 64;
    return static_cast<std::uint32_t>(std::clamp(boxes * a_box, least, most));
}

template <int D, typename Sink, typename Shape, typename Key>
void launch_boxes(const Call &call, const GridView<Key> &grid, const BoxBatch &boxes, const DeadView &dead,
                  std::uint32_t capacity, const typename Sink::Job &job) {
    const auto multiprocessors = static_cast<std::uint64_t>(call.engine().multiprocessors());
    const Buffer<BoxTask> tasks = call.buffer<BoxTask>(grid.levels > 1 ? capacity : 0);
    // How far the queue is filled, and how far it was before each level.
    const Buffer<std::uint32_t> fills = call.buffer<std::uint32_t>(grid.levels + 1);
    call.fill(fills.data(), 0, fills.size() * sizeof(std::uint32_t));
    const BoxQueue queue = {tasks.data(), fills.data(), capacity, fills.data() + 1};
    const std::uint64_t parts =
        std::clamp(multiprocessors * warps_a_multiprocessor / boxes.count, std::uint64_t(1), most_parts);

    const auto kernel = boxes_kernel<D, Key, Sink, Shape>;
    const std::size_t bytes = grid.top_keys * sizeof(Key);
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, box_threads, bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const std::uint64_t most_blocks = static_cast<std::uint64_t>(std::max(resident, 1)) * multiprocessors;
    const std::uint64_t warps = box_threads / 32;
    const std::uint64_t blocks = std::min((boxes.count * parts + warps - 1) / warps, most_blocks);
    kernel<<<static_cast<unsigned>(blocks), box_threads, bytes, call.stream()>>>(
        grid, boxes, dead, queue, static_cast<std::uint32_t>(parts), job);
    check_launch("boxes_kernel");
    for (std::uint32_t level = 1; level < grid.levels; ++level) {
        call.copy(queue.bounds + level, static_cast<const std::uint32_t *>(queue.filled), 1);
        lower_boxes_kernel<D, Key, Sink, Shape>
            <<<static_cast<unsigned>(most_blocks), box_threads, 0, call.stream()>>>(grid, boxes, dead, queue,
                                                                                    level, job);
        check_launch("lower_boxes_kernel");
    }
}

template <typename Sink, typename Key>
void launch_boxes(const Call &call, const GridView<Key> &grid, const BoxBatch &boxes, const DeadView &dead,
                  const typename Sink::Job &job) {
    if (boxes.count > 0) {
        with_columns(grid.columns, [&](auto columns) {
            launch_boxes<decltype(columns)::value, Sink, typename Sink::Shape>(
                call, grid, boxes, dead, queue_capacity(boxes.count), job);
        });
    }
}

}  // namespace gpu_engine::device
