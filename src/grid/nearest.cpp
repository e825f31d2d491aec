// ORDER BY column <-> point: best first (Hjaltason and Samet, "Distance Browsing in Spatial Databases"). A
// heap holds cells and groups of rows, by a lower bound of the distances in them, and rows by their own;
// whichever comes out first is next. A grid enters the heap with the cell nearest to the origin; each cell
// that comes out sends its neighbours on the side away from there. Rows of a cell are a group, of which only
// those that come out have their distance worked out.
#include "grid/nearest.h"

#include "grid/converted.h"

namespace pg_gpu::grid {

// Most searches need no second block. malloc keeps blocks of this size, once one has been freed, where it
// gives back to the system what smaller ones add up to, at each search anew.
static constexpr Size kFirstBlock = 256 * 1024;

// ---- cells ------------------------------------------------------------------------------------------------

// Here and below functions return false when a page was recycled.
static bool fail_in_directory(const NearestSearch &search, int run) {
    const ViewReader &reader = search.scan->reader;
    confirm_recycled(reader, reader.view.runs[run], search.directories[run].position);
    return false;
}

// Returns the bounds of the points at a coordinate.
static bool read_interval(NearestSearch *search, const OpenGrid &grid, int i, uint32 coordinate, double *low,
                          double *high) {
    DirectoryReader *reader = &search->directories[grid.run];
    const int dimension = search->dimensions[i];
    *low = grid.low[i];
    *high = grid.high[i];
    uint64 code;
    if (coordinate > 0) {
        if (!read_words(reader, grid.head.starts[dimension] + coordinate - 1, 1, &code))
            return fail_in_directory(*search, grid.run);
        *low = decode_float<double>(code);
    }
    if (coordinate + 1 < grid.head.intervals[dimension]) {
        if (!read_words(reader, grid.head.starts[dimension] + coordinate, 1, &code))
            return fail_in_directory(*search, grid.run);
        *high = decode_float<double>(code - 1);
    }
    return true;
}

// Returns a distance that is no more than that of any point between these bounds. Where only one point is, it
// is that point's, so that rows that have been read come before others that lie there, too.
static uint64 least_distance(const Order &order, const double *low, const double *high) {
    if (order.is_null)
        return kNullDistance;
    if (low[0] == high[0] && low[1] == high[1]) {
        const uint64 distance = try_distance(order, {low[0], low[1]});
        if (distance != kFailed)
            return distance;
    }
    const double from[2] = {order.from.x, order.from.y};
    double away[2];
    for (int i = 0; i < 2; i++) {
        if (!std::isfinite(from[i]))
            return 0;
        away[i] = from[i] < low[i] ? low[i] - from[i] : from[i] > high[i] ? from[i] - high[i] : 0;
    }
    const double distance = std::hypot(away[0], away[1]);
    return code_of_distance(std::isfinite(distance) ? distance * (1 - kRoundingMargin) : DBL_MAX);
}

static bool push_cells(NearestSearch *search, uint32 number, uint32 x, uint32 y) {
    const OpenGrid &grid = *search->grids[number];
    double low[2];
    double high[2];
    if (!read_interval(search, grid, 0, x, &low[0], &high[0]) ||
        !read_interval(search, grid, 1, y, &low[1], &high[1]))
        return false;
    push(search, {least_distance(search->orders[0], low, high), Kind::Cells, number, x, y});
    return true;
}

// Adds a grid whose points lie between these bounds: its nearest cells that the condition asks for, and those
// with NULLs.
static bool push_grid(NearestSearch *search, int run, uint64 word, const double *low, const double *high) {
    const Format &format = *search->scan->format;
    const Order &order = search->orders[0];
    DirectoryReader *reader = &search->directories[run];
    auto *grid = allocate<OpenGrid>(1);
    grid->run = run;
    grid->word = word;
    if (!read_grid_head(reader, word, &grid->head))
        return fail_in_directory(*search, run);
    for (int i = 0; i < format.dimension_count; i++) {
        if (!find_coordinates(reader, search->scan->condition, grid->head, root_bounds(format), i,
                              &grid->wanted[i]))
            return fail_in_directory(*search, run);
        if (grid->wanted[i].begin >= grid->wanted[i].end) {
            pfree(grid);
            return true;
        }
    }
    const uint32 number = search->grid_count;
    *add_to(&search->grids, &search->grid_count, &search->grid_room) = grid;

    const double from[2] = {order.from.x, order.from.y};
    bool with_points = true;
    bool with_nulls = true;
    for (int i = 0; i < 2; i++) {
        const int dimension = search->dimensions[i];
        const Coordinates &wanted = grid->wanted[dimension];
        const uint32 intervals = grid->head.intervals[dimension];
        grid->low[i] = low[i];
        grid->high[i] = high[i];
        grid->begin[i] = wanted.begin;
        grid->end[i] = Min(wanted.end, intervals);
        with_points = with_points && grid->begin[i] < grid->end[i];
        with_nulls = with_nulls && wanted.end > intervals;
        uint32 local;
        if (!find_interval(reader, grid->head, dimension, encode_float(from[i]), &local))
            return fail_in_directory(*search, run);
        if (with_points)
            grid->local[i] = std::clamp(local, grid->begin[i], grid->end[i] - 1);
    }
    if (with_nulls)
        push(search, {kNullDistance, Kind::NullCells, number, grid->head.intervals[search->dimensions[0]],
                      grid->head.intervals[search->dimensions[1]]});
    return !with_points || push_cells(search, number, grid->local[0], grid->local[1]);
}

// Neighbours are reached from the home cell to both sides in x, and from each of these in y.
static bool push_neighbours(NearestSearch *search, const Candidate &cells) {
    const OpenGrid &grid = *search->grids[cells.source];
    const uint32 x = cells.x;
    const uint32 y = cells.y;
    if (y == grid.local[1]) {
        if (x >= grid.local[0] && x + 1 < grid.end[0] && !push_cells(search, cells.source, x + 1, y))
            return false;
        if (x <= grid.local[0] && x > grid.begin[0] && !push_cells(search, cells.source, x - 1, y))
            return false;
    }
    if (y >= grid.local[1] && y + 1 < grid.end[1] && !push_cells(search, cells.source, x, y + 1))
        return false;
    return y > grid.local[1] || y <= grid.begin[1] || push_cells(search, cells.source, x, y - 1);
}

// Adds the cells' rows, and the grids in their places.
static bool open_cells(NearestSearch *search, const Candidate &candidate) {
    const Format &format = *search->scan->format;
    const OpenGrid &grid = *search->grids[candidate.source];
    DirectoryReader *reader = &search->directories[grid.run];
    double low[2] = {grid.low[0], grid.low[1]};
    double high[2] = {grid.high[0], grid.high[1]};
    if (candidate.kind == Kind::Cells && (!read_interval(search, grid, 0, candidate.x, &low[0], &high[0]) ||
                                          !read_interval(search, grid, 1, candidate.y, &low[1], &high[1])))
        return false;
    uint32 begin[kMaxDimensions];
    uint32 end[kMaxDimensions];
    uint32 at[kMaxDimensions];
    for (int i = 0; i < format.dimension_count; i++) {
        begin[i] = grid.wanted[i].begin;
        end[i] = grid.wanted[i].end;
    }
    begin[search->dimensions[0]] = candidate.x;
    end[search->dimensions[0]] = candidate.x + 1;
    begin[search->dimensions[1]] = candidate.y;
    end[search->dimensions[1]] = candidate.y + 1;
    std::copy_n(begin, format.dimension_count, at);
    const uint64 distance =
        candidate.kind == Kind::Cells ? least_distance(search->orders[0], low, high) : candidate.distance;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        uint64 number = 0;
        uint16 tested = 0;
        for (int i = 0; i < format.dimension_count; i++) {
            number += at[i] * grid.head.strides[i];
            if (at[i] < grid.wanted[i].sure_begin || at[i] >= grid.wanted[i].sure_end)
                tested |= static_cast<uint16>(1U << i);
        }
        CellEntry cells[2];
        if (!read_cells(reader, grid.word, grid.head, number, 2, cells))
            return fail_in_directory(*search, grid.run);
        if (cells[0].grid != 0) {
            if (!push_grid(search, grid.run, cells[0].grid, low, high))
                return false;
        } else if (cells[0].first < cells[1].first &&
                   !push_range(search, grid.run,
                               {cells[0].first, cells[1].first, cells[0].page, tested, false}, distance)) {
            return false;
        }
        int i = format.dimension_count - 1;
        for (; i >= 0 && ++at[i] == end[i]; i--)
            at[i] = begin[i];
        if (i < 0)
            return true;
    }
}

// ---- the search -------------------------------------------------------------------------------------------

// Bounds end here, where numbers of single precision soon do. To PostGIS such a distance is NULL, which is
// beyond every bound.
static constexpr double kFarthestBound = 1e38;

static void read_converted_origin(const Column &column, const ScanKeyData &key, Order *order) {
    order->gives_bounds = true;
    order->of_boxes = key.sk_strategy == kConvertedBoxDistance;
    BOX box;
    order->is_null = order->is_null || !make_box(column, key.sk_argument, &box);
    if (order->is_null)
        return;
    const double width = box.high.x - box.low.x;
    const double height = box.high.y - box.low.y;
    order->from = {box.low.x + width / 2, box.low.y + height / 2};
    order->radius = std::hypot(width / 2, height / 2);
    // Neither is it where one of these is NaN.
    const bool is_near = std::fabs(order->from.x) + order->radius < kFarthestBound &&
                         std::fabs(order->from.y) + order->radius < kFarthestBound;
    if (is_near)
        return;
    order->is_unknown = true;
    order->from = {0, 0};
    order->radius = 0;
}

// Returns what is not above the distance that PostgreSQL works out, if the point is so far from the origin.
// It never falls by more than is taken off for rounding while `away` rises.
static double distance_bound(const Order &order, uint64 away) {
    if (away == kNullDistance)
        return kFarthestBound;
    if (order.is_unknown)
        return 0;
    const double distance = std::bit_cast<double>(away);
    // A square that is too small for a number is 0.
    if (distance < 1e-150)
        return 0;
    const double reach = std::fabs(order.from.x) + std::fabs(order.from.y) + order.radius;
    double margin = kRoundingMargin * distance;
    if (order.radius > 0)
        margin += kRoundingMargin * reach;
    if (order.of_boxes)
        margin += 8 * FLT_EPSILON * (distance + reach) + FLT_MIN;
    const double bound = distance - order.radius - margin;
    return bound > 0 ? Min(bound, kFarthestBound) : 0;
}

bool gives_bounds(const NearestSearch &search) {
    for (int i = 0; i < search.order_count; i++)
        if (search.orders[i].gives_bounds)
            return true;
    return false;
}

NearestSearch *begin_nearest(Scan *scan) {
    auto *search = allocate_zeroed<NearestSearch>(1);
    IndexScanDesc descriptor = scan->descriptor;
    const Format &format = *scan->format;
    search->scan = scan;
    search->context = AllocSetContextCreate(scan->context, "gpu_grid nearest", ALLOCSET_DEFAULT_MINSIZE,
                                            kFirstBlock, ALLOCSET_DEFAULT_MAXSIZE);
    search->order_count = descriptor->numberOfOrderBys;
    search->orders = allocate_zeroed<Order>(static_cast<size_t>(search->order_count));
    for (int i = 0; i < search->order_count; i++) {
        const ScanKeyData &key = descriptor->orderByData[i];
        Order *order = &search->orders[i];
        order->column = key.sk_attno - 1;
        order->is_null = (key.sk_flags & SK_ISNULL) != 0;
        if (format.columns[order->column].conversion != nullptr)
            read_converted_origin(format.columns[order->column], key, order);
        else if (!order->is_null)
            order->from = *DatumGetPointP(key.sk_argument);
    }
    const int lane = format.columns[search->orders[0].column].first_lane;
    for (int i = 0; i < format.dimension_count; i++)
        if (format.dimension_lanes[i] == lane || format.dimension_lanes[i] == lane + 1)
            search->dimensions[format.dimension_lanes[i] - lane] = i;
    return search;
}

void restart_nearest(NearestSearch *search) {
    MemoryContextReset(search->context);
    search->started = false;
    search->heap = nullptr;
    search->count = search->room = 0;
    search->grids = nullptr;
    search->grid_count = search->grid_room = 0;
    search->pages = nullptr;
    search->page_count = search->page_room = 0;
    search->ranges = nullptr;
    search->range_count = search->range_room = 0;
    search->groups = nullptr;
    search->group_count = search->group_room = 0;
    search->further = nullptr;
    search->further_count = search->further_room = 0;
    search->directories = nullptr;
}

void end_nearest(NearestSearch *search) {
    MemoryContextDelete(search->context);
    pfree(search->orders);
    pfree(search);
}

static bool start(NearestSearch *search) {
    const Scan &scan = *search->scan;
    const storage::View &view = scan.reader.view;
    search->started = true;
    if (scan.condition.nothing)
        return true;
    search->directories = allocate_zeroed<DirectoryReader>(static_cast<size_t>(view.run_count) + 1);
    push_tail(search);
    for (int i = 0; i < view.run_count; i++) {
        const storage::RunEntry &run = view.runs[i];
        begin_directory(&search->directories[i], scan.reader.index, scan.format, &run);
        const double low[2] = {-HUGE_VAL, -HUGE_VAL};
        const double high[2] = {HUGE_VAL, HUGE_VAL};
        if (run.access_method_data[0] == 0
                ? !push_range(search, i, whole_run(*scan.format, scan.condition, run), 0)
                : !push_grid(search, i, root_word(*scan.format), low, high))
            return false;
    }
    return true;
}

static Step next_candidate(NearestSearch *search, Candidate *next) {
    if (!search->started && !start(search))
        return Step::Recycled;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        if (search->count == 0)
            return Step::End;
        *next = pop(search);
        if (next->kind == Kind::Row)
            return Step::Entry;
        if (next->kind == Kind::Group) {
            open_group(search, next->source);
            continue;
        }
        if (next->kind == Kind::Range) {
            const UnreadRange range = search->ranges[next->source];
            if (!push_range(search, range.run, range.entries, next->distance))
                return Step::Recycled;
            continue;
        }
        if ((next->kind == Kind::Cells && !push_neighbours(search, *next)) || !open_cells(search, *next))
            return Step::Recycled;
    }
}

// Makes a batch of one row, or of none when the snapshot doesn't see it.
static Step resolve(NearestSearch *search, const uint64 *row) {
    Scan *scan = search->scan;
    scan->batch.count = 1;
    scan->batch.tids[0] = place_tid(row[0]);
    check_tids(&scan->reader, scan->batch);
    storage::check_snapshot_of_view(scan->reader.index, scan->reader.format, scan->reader.snapshot);
    if (!scan->resolves)
        return Step::Entry;
    // Copies of the visibility map outlive the search.
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    const bool valid = resolve_batch(&scan->resolver, scan->reader, &scan->batch);
    MemoryContextSwitchTo(caller);
    return valid ? Step::Entry : Step::Recycled;
}

Step next_nearest(NearestSearch *search, ItemPointerData *tid, uint64 *row, double *distance, bool *is_null) {
    MemoryContext caller = MemoryContextSwitchTo(search->context);
    Candidate next;
    Step step;
    do {
        step = next_candidate(search, &next);
        if (step == Step::Entry) {
            read_place(*search, search->pages[next.source], encode_tid(next), row);
            step = resolve(search, row);
        }
    } while (step == Step::Entry && search->scan->batch.count == 0);
    if (step == Step::Entry) {
        *tid = place_tid(row[0]);
        const Order &order = search->orders[0];
        *is_null = !order.gives_bounds && next.distance == kNullDistance;
        *distance = order.gives_bounds ? distance_bound(order, next.distance)
                    : *is_null         ? 0
                                       : std::bit_cast<double>(next.distance);
    }
    MemoryContextSwitchTo(caller);
    return step;
}

}  // namespace pg_gpu::grid
