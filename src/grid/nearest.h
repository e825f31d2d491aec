// This header holds what the two files of the search behind ORDER BY column <-> point share.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "grid/scan.h"

namespace pg_gpu::grid {

// Distances are kept as integers, in the order of ORDER BY: NaN is above all numbers, and NULL above NaN.
inline constexpr uint64 kNullDistance = PG_UINT64_MAX;

inline uint64 code_of_distance(double distance) {
    return std::bit_cast<uint64>(std::isnan(distance) ? get_float8_nan() : std::fabs(distance));
}

// A lower bound is taken down by this factor, so that it is one whatever is rounded on the way.
inline constexpr double kRoundingMargin = 16 * DBL_EPSILON;

enum class Kind : uint32 { Cells, NullCells, Range, Group, Row };

// A candidate is all cells of a grid at a pair of coordinates, entries of a cell on pages that haven't been
// read, a group of rows, or a row.
struct Candidate {
    uint64 distance;  // but of a row: not above the first distance of any of their rows
    Kind kind;
    uint32 source;  // number of the grid, of the range, of the group, or of the row's page
    uint32 x;       // of cells: their coordinates
    uint32 y;
};

// A row has its place where cells have a coordinate.
inline uint32 encode_tid(const Candidate &row) {
    return row.x;
}

inline uint32 further_of(const Candidate &row) {
    return row.y;
}

struct Order {
    int column;
    bool is_null;  // ORDER BY column <-> NULL
    Point from;
    // True for a value that is converted. Distances are then lower bounds of those that PostgreSQL works out,
    // to the value or to the box around it.
    bool gives_bounds;
    bool is_unknown;  // nothing can be said
    bool of_boxes;
    double radius;  // radius of a circle around the value, whose center is `from`
};

// This is a grid that the search has come to.
struct OpenGrid {
    int run;
    uint64 word;  // at which it begins
    GridHead head;
    Coordinates wanted[kMaxDimensions];
    uint32 begin[2];  // of the first order's column: the first coordinates that are wanted, but for NULLs
    uint32 end[2];
    uint32 local[2];  // those nearest to the origin
    double low[2];    // bounds of the points
    double high[2];
};

// This is a copy of an entry page, or the tail's rows.
struct RowPage {
    int run;
    uint32 number;
    const uint64 *tail;  // nullptr: a page
    EntryPage page;
};

// The entries of a cell whose pages haven't been read.
struct UnreadRange {
    int run;
    EntryRange entries;
};

struct RoughRow {
    double square;  // square of its distance, roughly; 0 where that is no good; infinite without a distance
    uint32 place;   // on the page
};

// A group is rows of a page that wait, in the order of a heap once the first has come out.
struct Group {
    uint32 page;
    uint32 count;
    bool is_heap;
    RoughRow *rows;
};

struct NearestSearch {
    Scan *scan;
    MemoryContext context;  // lives as long as the current view
    Order *orders;
    int order_count;
    int dimensions[2];  // dimensions of the first order's column
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
    UnreadRange *ranges;
    uint32 range_count;
    uint32 range_room;
    Group *groups;
    uint32 group_count;
    uint32 group_room;
    uint64 *further;  // rows' distances but the first
    uint32 further_count;
    uint32 further_room;
    DirectoryReader *directories;  // by run
};

// ---- nearest_rows.cpp

// Adds the tail's matches.
void push_tail(NearestSearch *search);

// Adds the live matches among a run's entries, of which none is nearer than `distance`: those on the first
// page as a group, and the others as a range. Returns false when a page was recycled.
bool push_range(NearestSearch *search, int run, const EntryRange &range, uint64 distance);

// Returns the distance of a point without raising an error: kFailed where PostgreSQL may raise one.
inline constexpr uint64 kFailed = PG_UINT64_MAX - 1;
uint64 try_distance(const Order &order, const Point &point);

// Puts the first of a group's rows into the heap, and the group again.
void open_group(NearestSearch *search, uint32 number);

// Reads a row on a page.
void read_place(const NearestSearch &search, const RowPage &page, uint32 place, uint64 *row);

template <typename T, typename Number>
T *add_to(T **array, Number *count, Number *room) {
    if (*count == *room) {
        *room = Max(*room * 2, Number{64});
        *array = *array == nullptr ? allocate<T>(*room) : reallocate(*array, *room);
    }
    return &(*array)[(*count)++];
}

// ---- the heap ---------------------------------------------------------------------------------------------

// Says whether `a` comes out after `b`.
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

inline void push(NearestSearch *search, const Candidate &candidate) {
    *add_to(&search->heap, &search->count, &search->room) = candidate;
    std::push_heap(search->heap, search->heap + search->count, IsBehind{search});
}

inline Candidate pop(NearestSearch *search) {
    std::pop_heap(search->heap, search->heap + search->count, IsBehind{search});
    return search->heap[--search->count];
}

}  // namespace pg_gpu::grid
