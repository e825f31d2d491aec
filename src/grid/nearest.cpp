// ORDER BY column <-> point: best first (Hjaltason and Samet, "Distance Browsing in Spatial Databases"). A
// heap holds cells and groups of rows, by a lower bound of the distances in them, and rows by their own;
// whichever comes out first is next. A grid enters the heap with the cell nearest to the origin; each cell
// that comes out sends its neighbours on the side away from there. Rows of a cell are a group, of which only
// those that come out have their distance worked out.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "grid/scan.h"

namespace pg_gpu::grid {

namespace {

// Distances as integers, in the order of ORDER BY: NaN above all numbers, NULL above NaN.
constexpr uint64 kNullDistance = PG_UINT64_MAX;

uint64 code_of_distance(double distance) {
    return std::bit_cast<uint64>(std::isnan(distance) ? get_float8_nan() : std::fabs(distance));
}

// Most searches need no second block. malloc keeps blocks of this size, once one has been freed, where it
// gives back to the system what smaller ones add up to, at each search anew.
constexpr Size kFirstBlock = 256 * 1024;

// What a lower bound is taken down by, whatever is rounded on the way.
constexpr double kRoundingMargin = 16 * DBL_EPSILON;

enum class Kind : uint32 { Cells, NullCells, Group, Row };

// All cells of a grid at a pair of coordinates, a group of rows, or a row.
struct Candidate {
    uint64 distance;  // but of a row: not above the first distance of any of their rows
    Kind kind;
    uint32 source;  // number of the grid, of the group, or of the row's page
    uint32 x;       // of cells: their coordinates
    uint32 y;
};

// Of a row instead of coordinates.
uint32 place_of(const Candidate &row) {
    return row.x;
}

uint32 further_of(const Candidate &row) {
    return row.y;
}

struct Order {
    int column;
    bool is_null;  // ORDER BY column <-> NULL
    Point from;
};

// A grid that the search has come to.
struct OpenGrid {
    int run;
    uint64 word;  // at which it begins
    GridHead head;
    Coordinates wanted[kMostDimensions];
    uint32 begin[2];  // of the first order's column: coordinates that are wanted, but for NULLs
    uint32 end[2];
    uint32 home[2];  // those nearest to the origin
    double low[2];   // bounds of the points
    double high[2];
};

// A copy of an entry page, or the tail's rows.
struct RowPage {
    int run;
    uint32 number;
    const uint64 *tail;  // nullptr: a page
    EntryPage page;
};

struct RoughRow {
    double square;  // of its distance, roughly; 0 where that is no good; infinite without a distance
    uint32 place;   // on the page
};

// Rows of a page that wait, in the order of a heap once the first has come out.
struct Group {
    uint32 page;
    uint32 count;
    bool is_heap;
    RoughRow *rows;
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
    OpenGrid **grids;
    uint32 grid_count;
    uint32 grid_room;
    RowPage *pages;
    uint32 page_count;
    uint32 page_room;
    Group *groups;
    uint32 group_count;
    uint32 group_room;
    uint64 *further;  // rows' distances but the first
    uint32 further_count;
    uint32 further_room;
    DirectoryReader *directories;  // by run
};

template <typename T, typename Number>
static T *add_to(T **array, Number *count, Number *room) {
    if (*count == *room) {
        *room = Max(*room * 2, Number{64});
        *array = *array == nullptr ? allocate<T>(*room) : reallocate(*array, *room);
    }
    return &(*array)[(*count)++];
}

// ---- the heap
// ------------------------------------------------------------------------------------------------

// Does `a` come out after `b`?
struct IsBehind {
    const NearestSearch *search;

    bool operator()(const Candidate &a, const Candidate &b) const {
        if (a.distance != b.distance)
            return a.distance > b.distance;
        const int orders = search->order_count;
        // Rows must wait for those of equal distance where more decides.
        if ((a.kind == Kind::Row) != (b.kind == Kind::Row))
            return (a.kind == Kind::Row) == (orders > 1);
        if (orders == 1 || a.kind != Kind::Row)
            return false;
        const uint64 *further = search->further;
        return std::lexicographical_compare(further + further_of(b), further + further_of(b) + orders - 1,
                                            further + further_of(a), further + further_of(a) + orders - 1);
    }
};

static void push(NearestSearch *search, const Candidate &candidate) {
    *add_to(&search->heap, &search->count, &search->room) = candidate;
    std::push_heap(search->heap, search->heap + search->count, IsBehind{search});
}

static Candidate pop(NearestSearch *search) {
    std::pop_heap(search->heap, search->heap + search->count, IsBehind{search});
    return search->heap[--search->count];
}

// ---- rows
// ----------------------------------------------------------------------------------------------------

// As the operator <-> has it, its errors included.
static uint64 distance_between(const Point &a, const Point &b) {
    return code_of_distance(pg_hypot(float8_mi(a.x, b.x), float8_mi(a.y, b.y)));
}

static uint64 distance_of(const Format &format, const Order &order, const uint64 *row) {
    if (order.is_null || ((place_nulls(row[0]) >> order.column) & 1))
        return kNullDistance;
    return distance_between(point_of(format.columns[order.column], row), order.from);
}

static void read_place(const NearestSearch &search, const RowPage &page, uint32 place, uint64 *row) {
    const Format &format = *search.scan->format;
    if (page.tail == nullptr)
        return read_row(format, page.page, place, row);
    const auto words = static_cast<size_t>(format.row_words);
    memcpy(row, page.tail + place * words, words * sizeof(uint64));
}

// Where a page has the points of the first order's column.
struct PointArrays {
    const EntryPage *page;
    int x;
    int nulls;  // the column's bit in the masks

    bool is_null(uint32 place) const { return ((page_value(*page, kNullArray, place) >> nulls) & 1) != 0; }
    Point point(uint32 place) const {
        return {decode_float<double>(page_value(*page, x, place)),
                decode_float<double>(page_value(*page, x + 1, place))};
    }
};

static double rough_square(const Point &a, const Point &b) {
    const double x = a.x - b.x;
    const double y = a.y - b.y;
    const double square = x * x + y * y;
    // Neither what is lost in small numbers nor infinity and NaN tell anything.
    return square >= DBL_MIN && square <= DBL_MAX ? square : 0;
}

static uint64 rough_distance(const RoughRow &row) {
    if (std::isinf(row.square))
        return kNullDistance;
    return code_of_distance(std::sqrt(row.square) * (1 - kRoundingMargin));
}

static bool is_farther(const RoughRow &a, const RoughRow &b) {
    return a.square > b.square;
}

// Adds a group with room for so many rows.
static Group *begin_group(NearestSearch *search, uint32 page, uint32 room) {
    Group *group = add_to(&search->groups, &search->group_count, &search->group_room);
    *group = {page, 0, false, allocate<RoughRow>(room)};
    return group;
}

static void push_group(NearestSearch *search, uint32 number) {
    const Group &group = search->groups[number];
    if (group.count == 0)
        return;
    const RoughRow &first =
        group.is_heap
            ? group.rows[0]
            : *std::min_element(group.rows, group.rows + group.count,
                                [](const RoughRow &a, const RoughRow &b) { return a.square < b.square; });
    push(search, {rough_distance(first), Kind::Group, number, 0, 0});
}

static void push_row(NearestSearch *search, uint32 page_number, uint32 place) {
    const Format &format = *search->scan->format;
    uint64 row[1 + kMostLanes];
    read_place(*search, search->pages[page_number], place, row);
    const Candidate candidate = {distance_of(format, search->orders[0], row), Kind::Row, page_number, place,
                                 search->further_count};
    for (int i = 1; i < search->order_count; i++)
        *add_to(&search->further, &search->further_count, &search->further_room) =
            distance_of(format, search->orders[i], row);
    push(search, candidate);
}

// The first of a group's rows, and the group again.
static void open_group(NearestSearch *search, uint32 number) {
    Group *group = &search->groups[number];
    if (!group->is_heap)
        std::make_heap(group->rows, group->rows + group->count, is_farther);
    group->is_heap = true;
    std::pop_heap(group->rows, group->rows + group->count, is_farther);
    push_row(search, group->page, group->rows[--group->count].place);
    push_group(search, number);
}

static void push_tail(NearestSearch *search) {
    const ViewReader &reader = search->scan->reader;
    const Format &format = *search->scan->format;
    const Order &order = search->orders[0];
    if (reader.tail_count == 0)
        return;
    RowPage *page = add_to(&search->pages, &search->page_count, &search->page_room);
    *page = {};
    page->tail = reader.tail;
    Group *group = begin_group(search, search->page_count - 1, reader.tail_count);
    for (uint32 i = 0; i < reader.tail_count; i++) {
        const uint64 *row = reader.tail + i * static_cast<size_t>(format.row_words);
        const bool is_null = order.is_null || ((place_nulls(row[0]) >> order.column) & 1) != 0;
        group->rows[group->count++] = {
            is_null ? HUGE_VAL : rough_square(point_of(format.columns[order.column], row), order.from), i};
    }
    push_group(search, search->group_count - 1);
}

// ---- pages
// ---------------------------------------------------------------------------------------------------

// Number of a page's copy. Neighbouring cells share pages, so the latest are asked first. false when it was
// recycled.
static bool copy_page(NearestSearch *search, int run_number, uint32 number, uint32 *copied) {
    constexpr uint32 kLooks = 16;
    for (uint32 i = search->page_count; i-- > 0 && search->page_count - i <= kLooks;) {
        const RowPage &page = search->pages[i];
        if (page.tail == nullptr && page.run == run_number && page.number == number) {
            *copied = i;
            return true;
        }
    }
    const ViewReader &reader = search->scan->reader;
    const storage::RunEntry &run = reader.view.runs[run_number];
    if (number >= run.sections[kEntrySection].pages)
        storage::report_corruption(reader.index, storage::run_block(run, 0),
                                   "A run holds fewer entries than recorded.");
    const uint32 position = run.sections[kEntrySection].first_page + number;
    Buffer buffer = storage::read_run_page(reader.index, run, position, nullptr);
    if (buffer == InvalidBuffer) {
        confirm_recycled(reader, run, position);
        return false;
    }
    char *image = allocate<char>(BLCKSZ);
    memcpy(image, BufferGetPage(buffer), BLCKSZ);
    UnlockReleaseBuffer(buffer);
    RowPage *page = add_to(&search->pages, &search->page_count, &search->page_room);
    *page = {run_number, number, nullptr, {}};
    open_page_copy(reader.index, *reader.format, run, number, image, &page->page);
    *copied = search->page_count - 1;
    return true;
}

// The live matches among a run's entries. false when a page was recycled; so below.
static bool push_range(NearestSearch *search, int run_number, const EntryRange &range) {
    const Scan &scan = *search->scan;
    const storage::RunEntry &run = scan.reader.view.runs[run_number];
    const Order &order = search->orders[0];
    uint64 at = range.begin;
    for (uint32 number = range.page; at < range.end; number++) {
        CHECK_FOR_INTERRUPTS();
        uint32 copied;
        if (!copy_page(search, run_number, number, &copied))
            return false;
        const EntryPage &page = search->pages[copied].page;
        if (page.first > at)
            storage::report_corruption(
                scan.reader.index, storage::run_block(run, run.sections[kEntrySection].first_page + number),
                "An entry page contradicts the grid's directory.");
        if (at >= page.first + page.count)
            continue;
        const uint64 end = Min(range.end, page.first + page.count);
        const PointArrays points = {&page, kFirstLaneArray + scan.format->columns[order.column].first_lane,
                                    order.column};
        uint16 places[kMostOnPage];
        uint64 dead[(kMostOnPage + 63) / 64];
        const uint32 count =
            match_entries(*scan.format, scan.condition, range, page, static_cast<uint32>(at - page.first),
                          static_cast<uint32>(end - page.first), places);
        if (count > 0 && run.dead > 0 &&
            !storage::read_dead_bits(scan.reader.index, run, page.first, page.count, dead)) {
            confirm_recycled(scan.reader, run, run.sections[kEntrySection].first_page + number);
            return false;
        }
        Group *group = begin_group(search, copied, count);
        for (uint32 i = 0; i < count; i++) {
            const uint32 place = places[i];
            if (run.dead > 0 && ((dead[place / 64] >> (place % 64)) & 1) != 0)
                continue;
            group->rows[group->count++] = {order.is_null || points.is_null(place)
                                               ? HUGE_VAL
                                               : rough_square(points.point(place), order.from),
                                           place};
        }
        push_group(search, search->group_count - 1);
        at = end;
    }
    return true;
}

// ---- cells
// -----------------------------------------------------------------------------------------

static bool fail_in_directory(const NearestSearch &search, int run) {
    const ViewReader &reader = search.scan->reader;
    confirm_recycled(reader, reader.view.runs[run], search.directories[run].position);
    return false;
}

// Bounds of the points at a coordinate.
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
        *high = decode_float<double>(code);
    }
    return true;
}

// No more than the distance of any point between these bounds.
static uint64 least_distance(const Order &order, const double *low, const double *high) {
    if (order.is_null)
        return kNullDistance;
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

// A grid whose points lie between these bounds: its nearest cells that the condition asks for, and those with
// NULLs.
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
        uint32 home;
        if (!find_interval(reader, grid->head, dimension, encode_float(from[i]), &home))
            return fail_in_directory(*search, run);
        if (with_points)
            grid->home[i] = std::clamp(home, grid->begin[i], grid->end[i] - 1);
    }
    if (with_nulls)
        push(search, {kNullDistance, Kind::NullCells, number, grid->head.intervals[search->dimensions[0]],
                      grid->head.intervals[search->dimensions[1]]});
    return !with_points || push_cells(search, number, grid->home[0], grid->home[1]);
}

// From the home to both sides in x, and from each of these in y.
static bool push_neighbours(NearestSearch *search, const Candidate &cells) {
    const OpenGrid &grid = *search->grids[cells.source];
    const uint32 x = cells.x;
    const uint32 y = cells.y;
    if (y == grid.home[1]) {
        if (x >= grid.home[0] && x + 1 < grid.end[0] && !push_cells(search, cells.source, x + 1, y))
            return false;
        if (x <= grid.home[0] && x > grid.begin[0] && !push_cells(search, cells.source, x - 1, y))
            return false;
    }
    if (y >= grid.home[1] && y + 1 < grid.end[1] && !push_cells(search, cells.source, x, y + 1))
        return false;
    return y > grid.home[1] || y <= grid.begin[1] || push_cells(search, cells.source, x, y - 1);
}

// Their rows, and the grids in their places.
static bool open_cells(NearestSearch *search, const Candidate &candidate) {
    const Format &format = *search->scan->format;
    const OpenGrid &grid = *search->grids[candidate.source];
    DirectoryReader *reader = &search->directories[grid.run];
    double low[2] = {grid.low[0], grid.low[1]};
    double high[2] = {grid.high[0], grid.high[1]};
    if (candidate.kind == Kind::Cells && (!read_interval(search, grid, 0, candidate.x, &low[0], &high[0]) ||
                                          !read_interval(search, grid, 1, candidate.y, &low[1], &high[1])))
        return false;
    uint32 begin[kMostDimensions];
    uint32 end[kMostDimensions];
    uint32 at[kMostDimensions];
    for (int i = 0; i < format.dimension_count; i++) {
        begin[i] = grid.wanted[i].begin;
        end[i] = grid.wanted[i].end;
    }
    begin[search->dimensions[0]] = candidate.x;
    end[search->dimensions[0]] = candidate.x + 1;
    begin[search->dimensions[1]] = candidate.y;
    end[search->dimensions[1]] = candidate.y + 1;
    std::copy_n(begin, format.dimension_count, at);
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
                               {cells[0].first, cells[1].first, cells[0].page, tested, false})) {
            return false;
        }
        int i = format.dimension_count - 1;
        for (; i >= 0 && ++at[i] == end[i]; i--)
            at[i] = begin[i];
        if (i < 0)
            return true;
    }
}

// ---- the search
// ----------------------------------------------------------------------------------------------

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
        if (!order->is_null)
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
                ? !push_range(search, i, whole_run(*scan.format, scan.condition, run))
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
        if (next->kind == Kind::Group)
            open_group(search, next->source);
        else if ((next->kind == Kind::Cells && !push_neighbours(search, *next)) || !open_cells(search, *next))
            return Step::Recycled;
    }
}

// A batch of one row, or of none that the snapshot sees.
static Step resolve(NearestSearch *search, const uint64 *row) {
    Scan *scan = search->scan;
    scan->batch.count = 1;
    scan->batch.tids[0] = place_tid(row[0]);
    check_tids(&scan->reader, scan->batch);
    return !scan->resolves || resolve_batch(&scan->resolver, scan->reader, &scan->batch) ? Step::Entry
                                                                                         : Step::Recycled;
}

Step next_nearest(NearestSearch *search, ItemPointerData *tid, uint64 *row, double *distance, bool *is_null) {
    MemoryContext caller = MemoryContextSwitchTo(search->context);
    Candidate next;
    Step step;
    do {
        step = next_candidate(search, &next);
        if (step == Step::Entry) {
            read_place(*search, search->pages[next.source], place_of(next), row);
            step = resolve(search, row);
        }
    } while (step == Step::Entry && search->scan->batch.count == 0);
    if (step == Step::Entry) {
        *tid = place_tid(row[0]);
        *is_null = next.distance == kNullDistance;
        *distance = *is_null ? 0 : std::bit_cast<double>(next.distance);
    }
    MemoryContextSwitchTo(caller);
    return step;
}

}  // namespace pg_gpu::grid
