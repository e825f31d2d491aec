// Boxes: a warp walks through a part of a box's rows of cells (host/grid/visit.h has the walk in plain form).
//
// The cell at an end of a row is a lane's own; longer runs are read by halves of the warp. A cell with a grid
// of its own is put on a queue, whose boxes within lower grids are walked through afterwards, level by level.
// When the queue is full the cell's entries are all tested instead.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda_status.h"
#include "device/grid/box_place.cuh"
#include "device/grid/window.cuh"

namespace gpu_engine::device {

// A policy says how boxes are looked at. It derives from this one and redefines what differs.
struct BoxPolicy {
    static constexpr int threads = 256;  // a block
    static constexpr int blocks = 3;     // number of blocks that a multiprocessor shall hold
    // Chunks of 32-bit keys that each lane has on their way: of a cell that is its own, and of a run that
    // half of the warp reads.
    static constexpr int cell_chunks_32 = 2;
    static constexpr int run_chunks_32 = 2;
};

template <typename Policy>
struct BoxShape : Policy {
    template <typename Key>
    static constexpr int cell_chunks = sizeof(Key) == 4 || Policy::cell_chunks_32 == 1
                                           ? Policy::cell_chunks_32
                                           : Policy::cell_chunks_32 / 2;
    template <typename Key>
    static constexpr int run_chunks = sizeof(Key) == 4 || Policy::run_chunks_32 == 1
                                          ? Policy::run_chunks_32
                                          : Policy::run_chunks_32 / 2;
};

// A box of a small batch is cut into at most max_parts parts, so that each multiprocessor has so many warps.
inline constexpr std::uint64_t max_parts = 4096;
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
                                       const DeadView &dead, const BoxQueue &queue, Sink &sink)
        : grid_(grid), place_(place), dead_(dead), queue_(queue), sink_(sink) {}

    // Walks through part `part` of `parts` parts of the rows. All lanes call it.
    __device__ __forceinline__ void walk(std::uint32_t part, std::uint32_t parts) {
        std::uint32_t rows = 1;
#pragma unroll
        for (int c = 0; c < along; ++c) {
            rows *= place_.slots[c];
        }
        // A lane has one end of a row.
        const std::uint32_t most = place_.slots[along] > 1 ? 16 : 32;
        // If there are fewer rows than parts, several parts share the rows and divide their long runs.
        const std::uint32_t chunks = (rows - 1) / most + 1;
        const std::uint32_t row_parts = min(parts, chunks);
        sharers_ = parts / row_parts;
        share_ = part / row_parts;
        if (share_ >= sharers_) {
            return;
        }
#pragma unroll 1
        for (std::uint32_t chunk = part % row_parts; chunk < chunks; chunk += row_parts) {
            walk_rows(chunk * most, min(rows - chunk * most, most));
        }
    }

  private:
    static constexpr int along = D - 1;
    static constexpr int cell_chunks = Shape::template cell_chunks<Key>;
    static constexpr int run_chunks = Shape::template run_chunks<Key>;
    static constexpr std::uint32_t half_keys = 16 * chunk_keys;

    __device__ __forceinline__ void walk_rows(std::uint32_t first_row, std::uint32_t rows) {
        const unsigned lane = threadIdx.x % 32;
        const std::uint32_t slots = place_.slots[along];
        const bool two_ends = slots > 1;
        const bool is_last = two_ends && lane % 2 != 0;
        const unsigned row = two_ends ? lane / 2 : lane;
        const bool active = row < rows;
        std::uint32_t rest = first_row + (active ? row : 0);
        std::uint32_t cell = place_.first_cell;
        std::uint32_t tested = 0;
#pragma unroll
        for (int c = along - 1; c >= 0; --c) {
            std::uint32_t slot = rest;
            if (c > 0) {
                const std::uint32_t quotient = rest / place_.slots[c];
                slot = rest - quotient * place_.slots[c];
                rest = quotient;
            }
            tested |= (slot == 0 ? place_.test_low(c) : 0) << c;
            tested |= (slot + 1 == place_.slots[c] ? place_.test_high(c) : 0) << c;
            cell += slot * place_.strides[c];
        }
        const std::uint32_t test_end =
            (is_last ? 0 : place_.test_low(along)) | (is_last || !two_ends ? place_.test_high(along) : 0);
        std::uint32_t word = 0;
        std::uint32_t next_word = 0;
        if (active) {
            const std::uint32_t *from = grid_.directory + (is_last ? cell + slots - 1 : cell);
            word = __ldg(from);
            next_word = __ldg(from + 1);
        }
        Run own = {position_of(grid_.grids, word), position_of(grid_.grids, next_word),
                   tested | test_end << along};
        // Cells between the ends go together with ends that need no test.
        const bool whole = own.tested == 0;
        const std::uint32_t begin = whole ? own.first : own.last;
        const std::uint32_t end = __shfl_down_sync(every_lane, whole ? own.last : own.first, 1);
        const Run middle = {is_last ? 0 : begin, is_last ? 0 : two_ends ? end : own.last, tested};
        if (whole || share_ != 0) {
            own.last = own.first;
        }
        test_cells(word, own);
        visit_runs(cell + 1, cell + slots - 1, middle);
    }

    // Tests cells, of which each lane has one.
    __device__ __forceinline__ void test_cells(std::uint32_t word, Run own) {
        if (__any_sync(every_lane, own.size() > grid_.max_in_a_cell)) {
            const bool long_run = look(word, own);
            stream_each(long_run, own, 0, 1);
            own.last = long_run ? own.first : own.last;
        }
#pragma unroll 1
        for (std::uint32_t at = window_of(own.first); __any_sync(every_lane, at < own.last);
             at += cell_chunks * chunk_keys) {
            test<cell_chunks, chunk_keys>(at, own);
        }
    }

    // Looks at a large cell: true when all lanes should go through it together. A cell with a grid goes on
    // the queue. Entries that are all alike are compared by one of them.
    __device__ __forceinline__ bool look(std::uint32_t word, Run &run) {
        if (run.first == run.last || run.size() <= grid_.max_in_a_cell) {
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
        queue_.tasks[place] = {place_.box, lower_grid, tested};
        return true;
    }

    // Visits runs of cells, of which each lane has one.
    __device__ __forceinline__ void visit_runs(std::uint32_t first_cell, std::uint32_t last_cell,
                                               const Run &run) {
        const bool overfull = run.first < run.last && run.tested != 0 &&
                              static_cast<std::uint64_t>(run.size()) >
                                  static_cast<std::uint64_t>(last_cell - first_cell) * grid_.overfull;
        stream_each(run.first < run.last && !overfull, run, share_, sharers_);
#pragma unroll 1
        for (unsigned rest = __ballot_sync(every_lane, overfull); rest != 0; rest &= rest - 1) {
            const int from = __ffs(static_cast<int>(rest)) - 1;
            const std::uint32_t begin = __shfl_sync(every_lane, first_cell, from);
            const std::uint32_t end = __shfl_sync(every_lane, last_cell, from);
            const std::uint32_t tested = __shfl_sync(every_lane, run.tested, from);
#pragma unroll 1
            for (std::uint32_t at = begin + share_ * 32; at < end; at += sharers_ * 32) {
                const std::uint32_t cell = at + threadIdx.x % 32;
                std::uint32_t word = 0;
                Run own = {0, 0, tested};
                if (cell < end) {
                    word = __ldg(grid_.directory + cell);
                    own.first = position_of(grid_.grids, word);
                    own.last = position_of(grid_.grids, __ldg(grid_.directory + cell + 1));
                }
                test_cells(word, own);
            }
        }
    }

    // Goes through the runs of the lanes that want it: two at a time, each by half of the warp, or one by all
    // of it. This warp takes its share of each.
    __device__ __forceinline__ void stream_each(bool wanted, const Run &run, std::uint32_t share,
                                                std::uint32_t sharers) {
        // Runs that lie inside as a whole are taken without a look at their entries.
        if constexpr (Sink::together) {
            const bool all = wanted && run.tested == 0 && dead_.words == nullptr && sink_.takes_all();
#pragma unroll 1
            for (unsigned rest = __ballot_sync(every_lane, all); rest != 0; rest &= rest - 1) {
                const int from = __ffs(static_cast<int>(rest)) - 1;
                const std::uint32_t begin = __shfl_sync(every_lane, run.first, from);
                const std::uint32_t end = __shfl_sync(every_lane, run.last, from);
                sink_.take_all(part_of(begin, end, share, sharers), part_of(begin, end, share + 1, sharers));
            }
            wanted = wanted && !all;
        } else if (wanted && run.tested == 0) {
            if (share == 0) {
                sink_.add(run.size() - (dead_.words != nullptr
                                            ? dead_before(dead_, run.last) - dead_before(dead_, run.first)
                                            : 0));
            }
            wanted = false;
        }
        const bool lower = threadIdx.x % 32 < 16;
#pragma unroll 1
        for (unsigned rest = __ballot_sync(every_lane, wanted); rest != 0;) {
            const unsigned second = rest & (rest - 1);
            const int from = __ffs(static_cast<int>(lower || second == 0 ? rest : second)) - 1;
            const std::uint32_t begin = __shfl_sync(every_lane, run.first, from);
            const std::uint32_t end = __shfl_sync(every_lane, run.last, from);
            Run own = {part_of(begin, end, share, sharers), part_of(begin, end, share + 1, sharers),
                       __shfl_sync(every_lane, run.tested, from)};
            if (second == 0) {
                const std::uint32_t middle = max(window_of(own.first + own.size() / 2), own.first);
                (lower ? own.last : own.first) = middle;
            }
            rest = second & (second - 1);
            // Positions are below 2^31, so the sums below don't overflow.
#pragma unroll 1
            for (std::uint32_t at = window_of(own.first) + threadIdx.x % 16 * chunk_keys;
                 __any_sync(every_lane, at < own.last); at += run_chunks * half_keys) {
                test<run_chunks, half_keys>(at, own);
            }
        }
    }

    // Returns where share `share` of a run begins.
    __device__ static std::uint32_t part_of(std::uint32_t begin, std::uint32_t end, std::uint32_t share,
                                            std::uint32_t sharers) {
        return sharers == 1 ? (share == 0 ? begin : end)
                            : begin + static_cast<std::uint32_t>(static_cast<std::uint64_t>(end - begin) *
                                                                 share / sharers);
    }

    // Tests the entries of a window that belong to a run. All lanes call it.
    template <int Chunks, int Step>
    __device__ __forceinline__ void test(std::uint32_t at, const Run &run) {
        std::uint32_t bits = window_positions<Chunks, Step>(at, run.first, run.last);
        bits = window_inside<Chunks, Step>(grid_, at, run.last, bits, run.tested, place_.low, place_.width);
        if (dead_.words != nullptr && bits != 0) {
            bits &= ~window_dead<Chunks, Step>(dead_, at, run.last);
        }
        sink_.template take<Step>(bits, at);
    }

    const GridView<Key> &grid_;
    const BoxPlace<D, Key> &place_;
    const DeadView &dead_;
    const BoxQueue &queue_;
    std::uint32_t share_ = 0;
    std::uint32_t sharers_ = 1;
    Sink &sink_;
};

// Reads which columns the box tests and which must be NULL.
__device__ __forceinline__ void read_masks(const BoxBatch &boxes, std::uint32_t columns, std::uint32_t box,
                                           std::uint32_t *tested, std::uint32_t *null_only) {
    const std::uint32_t all = (1U << columns) - 1;
    const std::uint32_t open = boxes.open != nullptr ? boxes.open[box] : 0;
    *null_only = boxes.null != nullptr ? boxes.null[box] & ~open & all : 0;
    *tested = all & ~open & ~*null_only & ~boxes.unbounded;
}

// Returns where the share of warp `warp` begins, when all warps take equal runs of the items.
__device__ __forceinline__ std::uint32_t share_of_warp(std::uint32_t items, std::uint32_t warp,
                                                       std::uint32_t warps) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(items) * warp / warps);
}

// Walks through a part of each of some boxes; `alone` says that no other warp looks at them.
template <int D, typename Key, typename Sink, typename Shape>
__device__ __forceinline__ void walk_boxes(const GridView<Key> &grid, const DeadView &dead,
                                           const BoxQueue &queue, const typename Sink::Job &job,
                                           const BoxPlace<D, Key> *places, std::uint32_t number,
                                           std::uint32_t part, std::uint32_t parts, bool alone) {
#pragma unroll 1
    for (std::uint32_t i = 0; i < number; ++i) {
        Sink sink(job, places[i].box, alone);
        if (!places[i].empty) {
            BoxWalk<D, Key, Sink, Shape>(grid, places[i], dead, queue, sink).walk(part, parts);
        }
        sink.finish();
    }
}

// Walks through parts of boxes on the first level.
template <int D, typename Key, typename Sink, typename Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    boxes_kernel(const __grid_constant__ GridView<Key> grid, const __grid_constant__ BoxBatch boxes,
                 const DeadView dead, const BoxQueue queue, std::uint32_t parts,
                 const typename Sink::Job job) {
    extern __shared__ unsigned long long shared[];
    Key *top = reinterpret_cast<Key *>(shared);
    copy_top(grid, top);
    const std::uint32_t count = static_cast<std::uint32_t>(boxes.count);
    const std::uint32_t warps = gridDim.x * (Shape::threads / 32);
    const std::uint32_t warp = (blockIdx.x * Shape::threads + threadIdx.x) / 32;
    const std::uint32_t items = count * parts;
    const std::uint32_t end = share_of_warp(items, warp + 1, warps);
    const std::uint32_t most = parts == 1 ? boxes_together<D> : 1;
    const unsigned group = threadIdx.x % 32 / lanes_a_box<D>;
    __shared__ BoxPlace<D, Key> places[Shape::threads / 32][boxes_together<D>];
    BoxPlace<D, Key> *own = places[threadIdx.x / 32];
#pragma unroll 1
    for (std::uint32_t item = share_of_warp(items, warp, warps); item < end; item += most) {
        const std::uint32_t number = min(end - item, most);
        const std::uint32_t box = (parts == 1 ? item : item / parts) + group;
        std::uint32_t tested = 0;
        std::uint32_t null_only = 0;
        if (group < number) {
            read_masks(boxes, grid.columns, box, &tested, &null_only);
        }
        // All lanes of a box use what one of them has read.
        tested = __shfl_sync(every_lane, tested, 0, lanes_a_box<D>);
        null_only = __shfl_sync(every_lane, null_only, 0, lanes_a_box<D>);
        find_slots<D, Key, true>(grid, top, boxes, group >= number, box, 0, tested, null_only, own);
        walk_boxes<D, Key, Sink, Shape>(grid, dead, queue, job, own, number, parts == 1 ? 0 : item % parts,
                                        parts, parts == 1 && grid.levels == 1);
    }
}

// Walks through the queue's tasks of one level.
template <int D, typename Key, typename Sink, typename Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    lower_boxes_kernel(const __grid_constant__ GridView<Key> grid, const __grid_constant__ BoxBatch boxes,
                       const DeadView dead, const BoxQueue queue, std::uint32_t level,
                       const typename Sink::Job job) {
    const std::uint32_t begin = min(queue.bounds[level - 1], queue.capacity);
    const std::uint32_t end = min(queue.bounds[level], queue.capacity);
    const std::uint32_t warps = gridDim.x * (Shape::threads / 32);
    const std::uint32_t warp = (blockIdx.x * Shape::threads + threadIdx.x) / 32;
    const std::uint32_t last = begin + share_of_warp(end - begin, warp + 1, warps);
    const unsigned group = threadIdx.x % 32 / lanes_a_box<D>;
    __shared__ BoxPlace<D, Key> places[Shape::threads / 32][boxes_together<D>];
    BoxPlace<D, Key> *own = places[threadIdx.x / 32];
    std::uint32_t number;
#pragma unroll 1
    for (std::uint32_t first = begin + share_of_warp(end - begin, warp, warps); first < last;
         first += number) {
        number = min(last - first, static_cast<std::uint32_t>(boxes_together<D>));
        const BoxTask task = queue.tasks[first + min(group, number - 1)];
        find_slots<D, Key, false>(grid, nullptr, boxes, group >= number, task.box, task.grid, task.tested, 0,
                                  own);
        walk_boxes<D, Key, Sink, Shape>(grid, dead, queue, job, own, number, 0, 1, false);
    }
}

// Returns for how many tasks the queue of a batch has places.
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
    // The numbers of tasks in the queue, now and before each level.
    const Buffer<std::uint32_t> fills = call.buffer<std::uint32_t>(grid.levels > 1 ? grid.levels + 1 : 0);
    call.fill(fills.data(), 0, fills.size() * sizeof(std::uint32_t));
    BoxQueue queue = {};
    if (grid.levels > 1) {
        queue = {tasks.data(), fills.data(), capacity, fills.data() + 1};
    }
    const std::uint64_t parts =
        std::clamp(multiprocessors * warps_a_multiprocessor / boxes.count, std::uint64_t(1), max_parts);

    Sink::prepare(call, job, boxes.count, parts == 1 && grid.levels == 1);
    const auto kernel = boxes_kernel<D, Key, Sink, Shape>;
    const std::size_t bytes = grid.top_keys * sizeof(Key);
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, Shape::threads, bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const std::uint64_t max_blocks = static_cast<std::uint64_t>(std::max(resident, 1)) * multiprocessors;
    const std::uint64_t warps = Shape::threads / 32;
    const std::uint64_t blocks = std::min((boxes.count * parts + warps - 1) / warps, max_blocks);
    kernel<<<static_cast<unsigned>(blocks), Shape::threads, bytes, call.stream()>>>(
        grid, boxes, dead, queue, static_cast<std::uint32_t>(parts), job);
    check_launch("boxes_kernel");
    for (std::uint32_t level = 1; level < grid.levels; ++level) {
        call.copy(queue.bounds + level, static_cast<const std::uint32_t *>(queue.filled), 1);
        lower_boxes_kernel<D, Key, Sink, Shape>
            <<<static_cast<unsigned>(max_blocks), Shape::threads, 0, call.stream()>>>(grid, boxes, dead,
                                                                                      queue, level, job);
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
