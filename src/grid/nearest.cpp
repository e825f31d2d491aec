// ORDER BY column <-> point: best first (Hjaltason and Samet, "Distance Browsing in Spatial Databases"). A
// heap holds blocks of cells, by a lower bound of the distances in them, and rows by their own; whichever
// comes out first is next. A block is halved until it is one cell.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "grid/scan.h"

namespace pg_gpu::grid {

namespace {

struct Distance {
    double value;
    bool is_null;  // behind all others
};

// Cells of one grid, those with x coordinates [begin[0], end[0]) and y coordinates [begin[1], end[1]), or a
// row.
struct Candidate {
    Distance distance;       // of a block: not above the first distance of any of its rows
    const uint64 *row;       // nullptr: a block
    const Distance *others;  // of a row: its further distances
    uint64 grid;             // the word at which it begins
    int run;
    uint32 begin[2];
    uint32 end[2];
    double low[2];  // bounds of the points
    double high[2];
};

struct Order {
    int column;
    bool is_null;  // ORDER BY column <-> NULL
    Point from;
};

}  // namespace

struct NearestSearch {
    Scan *scan;
    MemoryContext context;  // of the current view
    Order *orders;
    int order_count;
    int dimensions[2];  // of the first order's column
    bool started;
    Candidate *heap;
    uint64 count;
    uint64 room;
    DirectoryReader *directories;  // by run
    Batch *batch;
};

// ---- the heap
// ------------------------------------------------------------------------------------------------

// -1, 0 or 1, as ORDER BY: NaN is the greatest distance but for NULL.
static int compare(const Distance &a, const Distance &b) {
    if (a.is_null || b.is_null)
        return a.is_null - b.is_null;
    const bool a_nan = std::isnan(a.value);
    const bool b_nan = std::isnan(b.value);
    if (a_nan || b_nan)
        return a_nan - b_nan;
    return a.value < b.value ? -1 : a.value > b.value;
}

// Does `a` come out after `b`?
struct IsBehind {
    int orders;

    bool operator()(const Candidate &a, const Candidate &b) const {
        const int order = compare(a.distance, b.distance);
        if (order != 0)
            return order > 0;
        // Rows must wait for those of equal distance where more decides.
        if ((a.row == nullptr) != (b.row == nullptr))
            return (a.row == nullptr) == (orders == 1);
        for (int i = 0; a.row != nullptr && i < orders - 1; i++) {
            const int further = compare(a.others[i], b.others[i]);
            if (further != 0)
                return further > 0;
        }
        return false;
    }
};

static void push(NearestSearch *search, const Candidate &candidate) {
    if (search->count == search->room) {
        MemoryContext caller = MemoryContextSwitchTo(search->context);
        search->room = Max(search->room * 2, uint64{256});
        search->heap = search->heap == nullptr ? allocate<Candidate>(search->room)
                                               : reallocate(search->heap, search->room);
        MemoryContextSwitchTo(caller);
    }
    search->heap[search->count++] = candidate;
    std::push_heap(search->heap, search->heap + search->count, IsBehind{search->order_count});
}

static Candidate pop(NearestSearch *search) {
    std::pop_heap(search->heap, search->heap + search->count, IsBehind{search->order_count});
    return search->heap[--search->count];
}

// ---- rows
// ----------------------------------------------------------------------------------------------------

static Distance distance_of(const Format &format, const Order &order, const uint64 *row) {
    if (order.is_null || ((place_nulls(row[0]) >> order.column) & 1))
        return {0, true};
    const Point point = point_of(format.columns[order.column], row);
    return {DatumGetFloat8(
                DirectFunctionCall2(point_distance, PointPGetDatum(&point), PointPGetDatum(&order.from))),
            false};
}

static void push_rows(NearestSearch *search, const Batch &batch) {
    const Format &format = *search->scan->format;
    const auto words = static_cast<size_t>(format.row_words);
    MemoryContext caller = MemoryContextSwitchTo(search->context);
    for (uint32 i = 0; i < batch.count; i++) {
        auto *row = allocate<uint64>(words);
        memcpy(row, batch.rows + i * words, words * sizeof(uint64));
        auto *others = search->order_count > 1
                           ? allocate<Distance>(static_cast<size_t>(search->order_count) - 1)
                           : nullptr;
        for (int j = 1; j < search->order_count; j++)
            others[j - 1] = distance_of(format, search->orders[j], row);
        Candidate candidate = {};
        candidate.distance = distance_of(format, search->orders[0], row);
        candidate.row = row;
        candidate.others = others;
        push(search, candidate);
    }
    MemoryContextSwitchTo(caller);
}

// The matches among a run's entries.
static Step read_range(NearestSearch *search, int run_number, const EntryRange &range) {
    Scan *scan = search->scan;
    ViewReader *reader = &scan->reader;
    const storage::RunEntry &run = reader->view.runs[run_number];
    auto *run_scan = allocate<RunScan>(1);
    begin_run_scan(run_scan, reader->index, reader->format, &run);
    read_only_range(run_scan, range);
    Step step;
    while ((step = next_batch(run_scan, scan->condition, search->batch)) == Step::Entry) {
        check_tids(reader, *search->batch);
        if (scan->resolves && !resolve_batch(&scan->resolver, *reader, search->batch)) {
            end_run_scan(run_scan);
            pfree(run_scan);
            return Step::Recycled;
        }
        push_rows(search, *search->batch);
    }
    if (step == Step::Recycled)
        confirm_recycled(*reader, run, recycled_position(*run_scan));
    end_run_scan(run_scan);
    pfree(run_scan);
    return step;
}

// ---- blocks of cells
// -----------------------------------------------------------------------------------------

// Whatever is rounded on the way.
static Distance least_distance(const NearestSearch &search, const Candidate &block) {
    const Order &order = search.orders[0];
    if (order.is_null)
        return {0, true};
    const double from[2] = {order.from.x, order.from.y};
    double away[2];
    for (int i = 0; i < 2; i++) {
        if (!std::isfinite(from[i]))
            return {-HUGE_VAL, false};
        away[i] = from[i] < block.low[i]    ? block.low[i] - from[i]
                  : from[i] > block.high[i] ? from[i] - block.high[i]
                                            : 0;
    }
    const double distance = std::hypot(away[0], away[1]);
    return {std::isfinite(distance) ? distance * (1 - 16 * DBL_EPSILON) : DBL_MAX, false};
}

static void push_block(NearestSearch *search, Candidate block) {
    block.distance = least_distance(*search, block);
    push(search, block);
}

static bool read_head(NearestSearch *search, const Candidate &block, GridHead *grid,
                      DirectoryReader **reader) {
    *reader = &search->directories[block.run];
    return read_grid_head(*reader, block.grid, grid);
}

static bool set_bounds(DirectoryReader *reader, const GridHead &grid, const int *dimensions,
                       Candidate *block) {
    for (int i = 0; i < 2; i++) {
        uint64 code;
        if (block->begin[i] > 0) {
            if (!read_words(reader, grid.starts[dimensions[i]] + block->begin[i] - 1, 1, &code))
                return false;
            block->low[i] = decode_float<double>(code);
        }
        if (block->end[i] < grid.intervals[dimensions[i]]) {
            if (!read_words(reader, grid.starts[dimensions[i]] + block->end[i] - 1, 1, &code))
                return false;
            block->high[i] = decode_float<double>(code);
        }
    }
    return true;
}

// A grid's cells that the condition asks for: one block of those with points, and one of those with NULLs.
static Step push_grid(NearestSearch *search, Candidate block) {
    const Format &format = *search->scan->format;
    const Condition &condition = search->scan->condition;
    const int *dimensions = search->dimensions;
    GridHead grid;
    DirectoryReader *reader;
    if (!read_head(search, block, &grid, &reader))
        return Step::Recycled;
    bool with_nulls = true;
    bool with_points = true;
    for (int i = 0; i < 2; i++) {
        Coordinates wanted;
        if (!find_coordinates(reader, condition, grid, root_bounds(format), dimensions[i], &wanted))
            return Step::Recycled;
        const uint32 intervals = grid.intervals[dimensions[i]];
        with_nulls = with_nulls && wanted.begin < wanted.end && wanted.end > intervals;
        block.begin[i] = wanted.begin;
        block.end[i] = Min(wanted.end, intervals);
        with_points = with_points && block.begin[i] < block.end[i];
    }
    if (with_nulls) {
        Candidate nulls = block;
        for (int i = 0; i < 2; i++) {
            nulls.begin[i] = grid.intervals[dimensions[i]];
            nulls.end[i] = nulls.begin[i] + 1;
        }
        nulls.distance = {0, true};
        push(search, nulls);
    }
    if (with_points) {
        if (!set_bounds(reader, grid, dimensions, &block))
            return Step::Recycled;
        push_block(search, block);
    }
    return Step::Entry;
}

// All cells at one pair of coordinates.
static Step open_cells(NearestSearch *search, DirectoryReader *reader, const GridHead &grid,
                       const Candidate &block) {
    const Format &format = *search->scan->format;
    const Condition &condition = search->scan->condition;
    Coordinates wanted[kMostDimensions];
    uint16 tested = 0;
    for (int i = 0; i < format.dimension_count; i++) {
        if (!find_coordinates(reader, condition, grid, root_bounds(format), i, &wanted[i]))
            return Step::Recycled;
        if ((condition.bounded & format.dimension_columns[i]) != 0)
            tested |= static_cast<uint16>(1U << i);
    }
    for (int i = 0; i < 2; i++) {
        wanted[search->dimensions[i]].begin = block.begin[i];
        wanted[search->dimensions[i]].end = block.end[i];
    }
    uint32 at[kMostDimensions];
    for (int i = 0; i < format.dimension_count; i++) {
        at[i] = wanted[i].begin;
        if (wanted[i].begin >= wanted[i].end)
            return Step::Entry;
    }
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        uint64 number = 0;
        for (int i = 0; i < format.dimension_count; i++)
            number += at[i] * grid.strides[i];
        CellEntry cells[2];
        if (!read_cells(reader, block.grid, grid, number, 2, cells))
            return Step::Recycled;
        Step step = Step::Entry;
        if (cells[0].grid != 0) {
            Candidate child = block;
            child.grid = cells[0].grid;
            step = push_grid(search, child);
        } else if (cells[0].first < cells[1].first) {
            step =
                read_range(search, block.run, {cells[0].first, cells[1].first, cells[0].page, tested, false});
        }
        if (step == Step::Recycled)
            return step;
        int i = format.dimension_count - 1;
        for (; i >= 0 && ++at[i] == wanted[i].end; i--)
            at[i] = wanted[i].begin;
        if (i < 0)
            return Step::Entry;
    }
}

static Step open_block(NearestSearch *search, const Candidate &block) {
    GridHead grid;
    DirectoryReader *reader;
    if (!read_head(search, block, &grid, &reader))
        return Step::Recycled;
    const uint32 sizes[2] = {block.end[0] - block.begin[0], block.end[1] - block.begin[1]};
    const int wider = sizes[0] >= sizes[1] ? 0 : 1;
    if (sizes[wider] == 1)
        return open_cells(search, reader, grid, block);
    Candidate halves[2] = {block, block};
    halves[0].end[wider] = halves[1].begin[wider] = block.begin[wider] + sizes[wider] / 2;
    for (Candidate &half : halves) {
        if (!set_bounds(reader, grid, search->dimensions, &half))
            return Step::Recycled;
        push_block(search, half);
    }
    return Step::Entry;
}

// ---- the search
// ----------------------------------------------------------------------------------------------

NearestSearch *begin_nearest(Scan *scan) {
    auto *search = allocate_zeroed<NearestSearch>(1);
    IndexScanDesc descriptor = scan->descriptor;
    const Format &format = *scan->format;
    search->scan = scan;
    search->context = AllocSetContextCreate(scan->context, "gpu_grid nearest", ALLOCSET_DEFAULT_SIZES);
    search->order_count = descriptor->numberOfOrderBys;
    search->orders = allocate_zeroed<Order>(static_cast<size_t>(search->order_count));
    for (int i = 0; i < search->order_count; i++) {
        const ScanKeyData &key = descriptor->orderByData[i];
        Order *order = &search->orders[i];
        order->column = key.sk_attno - 1;
        order->is_null = (key.sk_flags & SK_ISNULL) != 0;
        if (!order->is_null)
            order->from = *DatumGetPointP(key.sk_argument);
    }
    const int lane = format.columns[search->orders[0].column].first_lane;
    for (int i = 0; i < format.dimension_count; i++)
        if (format.dimension_lanes[i] == lane || format.dimension_lanes[i] == lane + 1)
            search->dimensions[format.dimension_lanes[i] - lane] = i;
    search->batch = allocate<Batch>(1);
    search->batch->rows = allocate<uint64>(size_t{kMostOnPage} * static_cast<size_t>(format.row_words));
    return search;
}

void restart_nearest(NearestSearch *search) {
    MemoryContextReset(search->context);
    search->started = false;
    search->heap = nullptr;
    search->count = search->room = 0;
    search->directories = nullptr;
}

void end_nearest(NearestSearch *search) {
    MemoryContextDelete(search->context);
    pfree(search->batch->rows);
    pfree(search->batch);
    pfree(search->orders);
    pfree(search);
}

static Step start(NearestSearch *search) {
    Scan *scan = search->scan;
    ViewReader *reader = &scan->reader;
    const storage::View &view = reader->view;
    search->started = true;
    if (scan->condition.nothing)
        return Step::Entry;
    search->directories = allocate_zeroed<DirectoryReader>(static_cast<size_t>(view.run_count) + 1);
    if (take_tail(reader, search->batch)) {
        if (scan->resolves && !resolve_batch(&scan->resolver, *reader, search->batch))
            return Step::Recycled;
        push_rows(search, *search->batch);
    }
    for (int i = 0; i < view.run_count; i++) {
        const storage::RunEntry &run = view.runs[i];
        Step step;
        begin_directory(&search->directories[i], reader->index, reader->format, &run);
        if (run.access_method_data[0] == 0) {
            step = read_range(search, i, whole_run(*scan->format, scan->condition, run));
        } else {
            Candidate root = {};
            root.run = i;
            root.grid = root_word(*scan->format);
            for (int j = 0; j < 2; j++) {
                root.low[j] = -HUGE_VAL;
                root.high[j] = HUGE_VAL;
            }
            step = push_grid(search, root);
            if (step == Step::Recycled)
                confirm_recycled(*reader, run, search->directories[i].position);
        }
        if (step == Step::Recycled)
            return step;
    }
    return Step::Entry;
}

Step next_nearest(NearestSearch *search, ItemPointerData *tid, const uint64 **row, double *distance,
                  bool *is_null) {
    MemoryContext caller = MemoryContextSwitchTo(search->context);
    Step step = Step::Entry;
    if (!search->started)
        step = start(search);
    while (step != Step::Recycled) {
        CHECK_FOR_INTERRUPTS();
        if (search->count == 0) {
            step = Step::End;
            break;
        }
        const Candidate next = pop(search);
        if (next.row != nullptr) {
            *tid = place_tid(next.row[0]);
            *row = next.row;
            *distance = next.distance.value;
            *is_null = next.distance.is_null;
            step = Step::Entry;
            break;
        }
        step = open_block(search, next);
        if (step == Step::Recycled) {
            const ViewReader &reader = search->scan->reader;
            const DirectoryReader &directory = search->directories[next.run];
            if (directory.recycled)
                confirm_recycled(reader, reader.view.runs[next.run], directory.position);
        }
    }
    MemoryContextSwitchTo(caller);
    return step;
}

}  // namespace pg_gpu::grid
