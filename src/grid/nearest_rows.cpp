// This file keeps the rows on their way through a search for the nearest: copies of pages, and groups of
// rows.
#include "grid/nearest.h"

namespace pg_gpu::grid {

// ---- rows -------------------------------------------------------------------------------------------------

// Computes the distance as the operator <-> does, with its errors.
static uint64 distance_between(const Point &a, const Point &b) {
    return code_of_distance(pg_hypot(float8_mi(a.x, b.x), float8_mi(a.y, b.y)));
}

static uint64 distance_of(const Format &format, const Order &order, const uint64 *row) {
    if (order.is_null || ((place_nulls(row[0]) >> order.column) & 1))
        return kNullDistance;
    const Point point = point_of(format.columns[order.column], row);
    // A number that becomes too large raises no error in a bound, since PostgreSQL computes the distance
    // itself.
    return order.gives_bounds ? code_of_distance(std::hypot(point.x - order.from.x, point.y - order.from.y))
                              : distance_between(point, order.from);
}

uint64 try_distance(const Order &order, const Point &point) {
    const double distance = std::hypot(point.x - order.from.x, point.y - order.from.y);
    if (order.gives_bounds)
        return code_of_distance(distance);
    return distance < DBL_MAX / 2 ? distance_between(point, order.from) : kFailed;
}

void read_place(const NearestSearch &search, const RowPage &page, uint32 place, uint64 *row) {
    const Format &format = *search.scan->format;
    if (page.tail == nullptr)
        return read_row(format, page.page, place, row);
    const auto words = static_cast<size_t>(format.row_words);
    memcpy(row, page.tail + place * words, words * sizeof(uint64));
}

// The arrays of a page that hold the points of the first order's column.
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
    // A square outside this range has lost digits, or is infinite or NaN. It tells nothing about the
    // distance.
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
    uint64 row[1 + kMaxLanes];
    read_place(*search, search->pages[page_number], place, row);
    const Candidate candidate = {distance_of(format, search->orders[0], row), Kind::Row, page_number, place,
                                 search->further_count};
    for (int i = 1; i < search->order_count; i++)
        *add_to(&search->further, &search->further_count, &search->further_room) =
            distance_of(format, search->orders[i], row);
    push(search, candidate);
}

void open_group(NearestSearch *search, uint32 number) {
    Group *group = &search->groups[number];
    if (!group->is_heap)
        std::make_heap(group->rows, group->rows + group->count, is_farther);
    group->is_heap = true;
    std::pop_heap(group->rows, group->rows + group->count, is_farther);
    push_row(search, group->page, group->rows[--group->count].place);
    push_group(search, number);
}

void push_tail(NearestSearch *search) {
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

// ---- pages ------------------------------------------------------------------------------------------------

// Finds the number of a page's copy, or copies the page. Neighbouring cells share pages, so the latest copies
// are looked through first. Returns false when the page was recycled.
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
    const storage::RunPage held = storage::read_run_page(reader.index, run, position, nullptr);
    if (held.page == nullptr) {
        confirm_recycled(reader, run, position);
        return false;
    }
    char *image = allocate<char>(BLCKSZ);
    memcpy(image, held.page, BLCKSZ);
    storage::release_run_page(held);
    RowPage *page = add_to(&search->pages, &search->page_count, &search->page_room);
    *page = {run_number, number, nullptr, {}};
    open_page_copy(reader.index, *reader.format, run, number, image, &page->page);
    *copied = search->page_count - 1;
    return true;
}

bool push_range(NearestSearch *search, int run_number, const EntryRange &range, uint64 distance) {
    const Scan &scan = *search->scan;
    const storage::RunEntry &run = scan.reader.view.runs[run_number];
    const Order &order = search->orders[0];
    const uint64 at = range.begin;
    for (uint32 number = range.page;; number++) {
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
        uint16 places[kMaxOnPage];
        uint64 dead[(kMaxOnPage + 63) / 64];
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
        if (end < range.end) {
            UnreadRange *rest = add_to(&search->ranges, &search->range_count, &search->range_room);
            *rest = {run_number, range};
            rest->entries.begin = end;
            rest->entries.page = number + 1;
            push(search, {distance, Kind::Range, search->range_count - 1, 0, 0});
        }
        return true;
    }
}

}  // namespace pg_gpu::grid
