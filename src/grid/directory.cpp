#include "grid/directory.h"

#include "keys/keys.h"

namespace pg_gpu::grid {

// The directory cannot be true. This is an ERROR, and false for a reader that wants to know.
static bool fail(DirectoryReader *reader) {
    const storage::RunEntry &run = *reader->run;
    reader->damaged = true;
    if (!reader->tolerant)
        storage::report_corruption(reader->index,
                                   storage::run_block(run, run.sections[kDirectorySection].first_page),
                                   "A grid's directory contradicts itself.");
    return false;
}

void begin_directory(DirectoryReader *reader, Relation index, const Format *format,
                     const storage::RunEntry *run) {
    *reader = {};
    reader->index = index;
    reader->format = format;
    reader->run = run;
}

void end_directory(DirectoryReader *reader) {
    for (char *image : reader->images)
        if (image != nullptr)
            pfree(image);
    *reader = {};
}

// Returns a copy of the content of a directory page, and nullptr when it was recycled.
static const char *directory_page(DirectoryReader *reader, uint32 page) {
    const uint32 slot = page % DirectoryReader::kSlots;
    if (likely(reader->images[slot] != nullptr && reader->pages[slot] == page))
        return reader->images[slot];
    const storage::RunEntry &run = *reader->run;
    reader->position = run.sections[kDirectorySection].first_page + page;
    const storage::RunPage held = storage::read_run_page(reader->index, run, reader->position, nullptr);
    reader->recycled = held.page == nullptr;
    if (reader->recycled)
        return nullptr;
    if (reader->images[slot] == nullptr)
        reader->images[slot] = allocate<char>(storage::kContentBytes);
    memcpy(reader->images[slot], storage::page_content(held.page), storage::kContentBytes);
    reader->pages[slot] = page;
    storage::release_run_page(held);
    return reader->images[slot];
}

bool read_words(DirectoryReader *reader, uint64 first, uint64 count, uint64 *words) {
    if (first + count > reader->run->access_method_data[0])
        return fail(reader);
    while (count > 0) {
        const auto on_page = static_cast<uint32>(first % kWordsPerPage);
        const uint64 here = Min(count, uint64{kWordsPerPage - on_page});
        const char *page = directory_page(reader, static_cast<uint32>(first / kWordsPerPage));
        if (page == nullptr)
            return false;
        memcpy(words, page + on_page * sizeof(uint64), here * sizeof(uint64));
        words += here;
        first += here;
        count -= here;
    }
    return true;
}

bool read_grid_head(DirectoryReader *reader, uint64 word, GridHead *grid) {
    const int dimensions = reader->format->dimension_count;
    uint64 heads[kMaxDimensions];
    if (!read_words(reader, word, static_cast<uint64>(dimensions), heads))
        return false;
    const uint64 most = reader->run->access_method_data[0];
    uint64 at = word + static_cast<uint64>(dimensions);
    for (int i = 0; i < dimensions; i++) {
        grid->intervals[i] = static_cast<uint32>(heads[i]);
        grid->has_nulls[i] = (heads[i] & kHasNulls) != 0;
        grid->starts[i] = at;
        at += Max(grid->intervals[i], 1U) - 1;
    }
    grid->cells_at = at;
    grid->cells = 1;
    for (int i = dimensions - 1; i >= 0; i--) {
        grid->strides[i] = grid->cells;
        grid->cells *= uint64{grid->intervals[i]} + (grid->has_nulls[i] ? 1 : 0);
        if (grid->cells == 0 || grid->cells > most)
            return fail(reader);
    }
    if (at + 2 * (grid->cells + 1) > most)
        return fail(reader);
    return true;
}

bool read_cells(DirectoryReader *reader, uint64 grid_word, const GridHead &grid, uint64 first, uint32 count,
                CellEntry *cells) {
    constexpr uint32 kAtOnce = 32;
    uint64 words[2 * kAtOnce];
    const storage::RunEntry &run = *reader->run;
    for (uint32 done = 0; done < count;) {
        const uint32 here = Min(count - done, kAtOnce);
        if (!read_words(reader, grid.cells_at + 2 * (first + done), 2 * uint64{here}, words))
            return false;
        for (uint32 i = 0; i < here; i++) {
            CellEntry *cell = &cells[done + i];
            *cell = {words[2 * i], cell_page(words[2 * i + 1]), cell_grid(words[2 * i + 1])};
            // Grids lie behind those they belong to, so a walk ends.
            if (cell->first > run.entries || cell->page > run.sections[kEntrySection].pages ||
                (done + i > 0 && cell->first < cells[done + i - 1].first) ||
                (cell->grid != 0 && cell->grid <= grid_word))
                return fail(reader);
        }
        done += here;
    }
    return true;
}

// ---- ranges -----------------------------------------------------------------------------------------------

// False when it doesn't lie behind those so far: who reads them counts on entries coming once.
static bool add_range(EntryRanges *ranges, const EntryRange &range) {
    if (range.begin == range.end)
        return true;
    if (ranges->count > 0) {
        EntryRange *last = &ranges->ranges[ranges->count - 1];
        if (range.begin < last->end)
            return false;
        if (last->end == range.begin && last->dimensions == range.dimensions && last->mixed == range.mixed) {
            last->end = range.end;
            return true;
        }
    }
    if (ranges->count == ranges->room) {
        ranges->room = Max(ranges->room * 2, uint64{64});
        ranges->ranges = ranges->ranges == nullptr ? allocate<EntryRange>(ranges->room)
                                                   : reallocate(ranges->ranges, ranges->room);
    }
    ranges->ranges[ranges->count++] = range;
    return true;
}

bool find_interval(DirectoryReader *reader, const GridHead &grid, int dimension, uint64 code,
                   uint32 *interval) {
    const uint64 first = grid.starts[dimension];
    uint64 begin = first;
    uint64 end = first + Max(grid.intervals[dimension], 1U) - 1;
    // The search goes page by page: the last word on a page says whether it goes on behind it.
    while (begin < end) {
        const uint64 middle = begin + (end - begin) / 2;
        const uint64 page = (end - 1) / kWordsPerPage == begin / kWordsPerPage ? begin / kWordsPerPage
                                                                               : middle / kWordsPerPage;
        const char *words = directory_page(reader, static_cast<uint32>(page));
        if (words == nullptr)
            return false;
        const uint64 page_begin = Max(begin, page * kWordsPerPage);
        const uint64 page_end = Min(end, (page + 1) * kWordsPerPage);
        const auto *codes = reinterpret_cast<const uint64 *>(words) + page_begin % kWordsPerPage;
        const auto on_page = static_cast<uint32>(page_end - page_begin);
        if (codes[0] > code) {
            end = page_begin;
        } else if (codes[on_page - 1] <= code) {
            begin = page_end;
        } else {
            begin = end = page_begin + upper_bound(codes, on_page, code);
        }
    }
    *interval = static_cast<uint32>(begin - first);
    return true;
}

namespace {

struct Walk {
    DirectoryReader *reader;
    const Condition *condition;
    EntryRanges *ranges;
};

}  // namespace

static bool read_start(DirectoryReader *reader, const GridHead &grid, int dimension, uint32 interval,
                       uint64 *start) {
    return read_words(reader, grid.starts[dimension] + interval - 1, 1, start);
}

CellBounds root_bounds(const Format &format) {
    CellBounds bounds = {};
    for (int i = 0; i < format.dimension_count; i++)
        bounds.high[i] = low_mask(format.lanes[format.dimension_lanes[i]].width);
    return bounds;
}

bool find_coordinates(DirectoryReader *reader, const Condition &condition, const GridHead &grid,
                      const CellBounds &bounds, int dimension, Coordinates *found) {
    const Format &format = *reader->format;
    const NullMask column = format.dimension_columns[dimension];
    const uint32 intervals = grid.intervals[dimension];
    const uint32 coordinates = intervals + (grid.has_nulls[dimension] ? 1 : 0);
    if ((condition.nulls & column) != 0) {
        *found = {intervals, coordinates, intervals, coordinates};
        return true;
    }
    const uint32 end = (condition.not_nulls & column) != 0 ? intervals : coordinates;
    *found = {0, end, 0, end};
    if ((condition.bounded & column) == 0 || (bounds.sure >> dimension) & 1)
        return true;
    const LaneRange &lane = condition.lanes[format.dimension_lanes[dimension]];
    uint32 first;
    uint32 last;
    if (!find_interval(reader, grid, dimension, lane.low, &first) ||
        !find_interval(reader, grid, dimension, lane.high, &last))
        return false;
    if (intervals == 0) {
        *found = {0, 0, 0, 0};
        return true;
    }
    *found = {first, last + 1, first, last + 1};
    uint64 low = bounds.low[dimension];
    uint64 high_start = PG_UINT64_MAX;
    if (first > 0 && !read_start(reader, grid, dimension, first, &low))
        return false;
    uint64 high = bounds.high[dimension];
    if (last + 1 < intervals) {
        if (!read_start(reader, grid, dimension, last + 1, &high_start))
            return false;
        high = high_start - 1;
    }
    if (lane.sure_low > lane.sure_high) {
        found->sure_end = found->sure_begin;
        return true;
    }
    if (low < lane.sure_low)
        found->sure_begin++;
    if (high > lane.sure_high)
        found->sure_end--;
    found->sure_end = Max(found->sure_begin, found->sure_end);
    return true;
}

static bool walk_grid(const Walk &walk, uint64 word, const CellBounds &bounds);

bool narrow_bounds(DirectoryReader *reader, const GridHead &grid, int dimension, uint32 coordinate,
                   CellBounds *bounds) {
    if (coordinate >= grid.intervals[dimension])
        return true;
    if (coordinate > 0 && !read_start(reader, grid, dimension, coordinate, &bounds->low[dimension]))
        return false;
    if (coordinate + 1 < grid.intervals[dimension]) {
        uint64 next;
        if (!read_start(reader, grid, dimension, coordinate + 1, &next))
            return false;
        bounds->high[dimension] = next - 1;
    }
    return true;
}

// Adds cells [begin, end) of a row that need the same tests, if any.
static bool add_cells_tested(const Walk &walk, uint64 word, const GridHead &grid, const CellBounds &bounds,
                             uint64 begin, uint64 end, uint16 tested) {
    constexpr uint32 kAtOnce = 32;
    CellEntry cells[kAtOnce + 1];
    if (begin >= end)
        return true;
    const int dimensions = walk.reader->format->dimension_count;
    if (tested == 0) {
        CellEntry last;
        if (!read_cells(walk.reader, word, grid, begin, 1, cells) ||
            !read_cells(walk.reader, word, grid, end, 1, &last))
            return false;
        if (last.first < cells[0].first ||
            !add_range(walk.ranges, {cells[0].first, last.first, cells[0].page, 0, false}))
            return fail(walk.reader);
        return true;
    }
    for (uint64 cell = begin; cell < end;) {
        CHECK_FOR_INTERRUPTS();
        const auto here = static_cast<uint32>(Min(end - cell, uint64{kAtOnce}));
        if (!read_cells(walk.reader, word, grid, cell, here + 1, cells))
            return false;
        for (uint32 i = 0; i < here; i++) {
            if (cells[i].first == cells[i + 1].first)
                continue;
            if (cells[i].grid == 0) {
                if (!add_range(walk.ranges,
                               {cells[i].first, cells[i + 1].first, cells[i].page, tested, false}))
                    return fail(walk.reader);
                continue;
            }
            CellBounds inner = bounds;
            inner.sure = static_cast<uint16>(~tested);
            uint64 number = cell + i;
            for (int d = 0; d < dimensions; d++) {
                if (!narrow_bounds(walk.reader, grid, d, static_cast<uint32>(number / grid.strides[d]),
                                   &inner))
                    return false;
                number %= grid.strides[d];
            }
            if (!walk_grid(walk, cells[i].grid, inner))
                return false;
        }
        cell += here;
    }
    return true;
}

static bool walk_grid(const Walk &walk, uint64 word, const CellBounds &bounds) {
    check_stack_depth();
    const int dimensions = walk.reader->format->dimension_count;
    GridHead grid;
    Coordinates wanted[kMaxDimensions];
    if (!read_grid_head(walk.reader, word, &grid))
        return false;
    // Behind this dimension all cells are wanted without a test, so that they make one row.
    int innermost = 0;
    for (int i = 0; i < dimensions; i++) {
        if (!find_coordinates(walk.reader, *walk.condition, grid, bounds, i, &wanted[i]))
            return false;
        if (wanted[i].begin >= wanted[i].end)
            return true;
        const uint32 coordinates = grid.intervals[i] + (grid.has_nulls[i] ? 1 : 0);
        if (wanted[i].sure_begin > 0 || wanted[i].sure_end < coordinates)
            innermost = i;
    }

    uint32 at[kMaxDimensions];
    for (int i = 0; i < innermost; i++)
        at[i] = wanted[i].begin;
    const Coordinates &last = wanted[innermost];
    const uint64 stride = grid.strides[innermost];
    for (;;) {
        uint64 first = 0;
        uint16 tested = 0;
        for (int i = 0; i < innermost; i++) {
            first += at[i] * grid.strides[i];
            if (at[i] < wanted[i].sure_begin || at[i] >= wanted[i].sure_end)
                tested |= static_cast<uint16>(1U << i);
        }
        const auto edge = static_cast<uint16>(tested | 1U << innermost);
        if (!add_cells_tested(walk, word, grid, bounds, first + last.begin * stride,
                              first + last.sure_begin * stride, edge) ||
            !add_cells_tested(walk, word, grid, bounds, first + last.sure_begin * stride,
                              first + last.sure_end * stride, tested) ||
            !add_cells_tested(walk, word, grid, bounds, first + last.sure_end * stride,
                              first + last.end * stride, edge))
            return false;
        int i = innermost - 1;
        for (; i >= 0 && ++at[i] == wanted[i].end; i--)
            at[i] = wanted[i].begin;
        if (i < 0)
            return true;
        CHECK_FOR_INTERRUPTS();
    }
}

EntryRange whole_run(const Format &format, const Condition &condition, const storage::RunEntry &run) {
    uint16 tested = 0;
    for (int i = 0; i < format.dimension_count; i++)
        if ((condition.bounded & format.dimension_columns[i]) != 0)
            tested |= static_cast<uint16>(1U << i);
    return {0, run.entries, 0, tested, (condition.nulls | condition.not_nulls) != 0};
}

bool find_ranges(DirectoryReader *reader, const Condition &condition, EntryRanges *ranges) {
    const Format &format = *reader->format;
    const storage::RunEntry &run = *reader->run;
    if (condition.nothing)
        return true;
    if (run.access_method_data[0] == 0)
        return add_range(ranges, whole_run(format, condition, run));
    return walk_grid({reader, &condition, ranges}, root_word(format), root_bounds(format));
}

}  // namespace pg_gpu::grid
