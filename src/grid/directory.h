// The directory turns a condition into ranges of a run's entries.
#pragma once

#include "grid/condition.h"

namespace pg_gpu::grid {

// This reader keeps copies of some directory pages of one run.
struct DirectoryReader {
    static constexpr uint32 kSlots = 16;
    Relation index;
    const Format *format;
    const storage::RunEntry *run;
    char *images[kSlots];
    uint32 pages[kSlots];
    bool recycled;  // a page was, this one:
    uint32 position;
    bool tolerant;  // damage raises no error, but sets this:
    bool damaged;
};

void begin_directory(DirectoryReader *reader, Relation index, const Format *format,
                     const storage::RunEntry *run);
void end_directory(DirectoryReader *reader);

// Reads words [first, first + count). This function and those below return false when a page was recycled.
// When the directory contradicts itself they raise an ERROR, or return false to a tolerant reader.
bool read_words(DirectoryReader *reader, uint64 first, uint64 count, uint64 *words);

// This is a grid's head, as the reader has it.
struct GridHead {
    uint32 intervals[kMaxDimensions];
    bool has_nulls[kMaxDimensions];
    uint64 starts[kMaxDimensions];   // word of each dimension's scale
    uint64 strides[kMaxDimensions];  // cells from one coordinate to the next
    uint64 cells_at;                 // word of the first cell
    uint64 cells;
};

bool read_grid_head(DirectoryReader *reader, uint64 word, GridHead *grid);

// Returns the word at which the root begins.
inline uint64 root_word(const Format &format) {
    return summary_words(format.array_count);
}

// A cell has its first entry, the page that it lies on or the one before, and the word of a grid of its own,
// 0 where it has none. A cell ends where the next one begins.
struct CellEntry {
    uint64 first;
    uint32 page;
    uint32 grid;
};
bool read_cells(DirectoryReader *reader, uint64 grid_word, const GridHead &grid, uint64 first, uint32 count,
                CellEntry *cells);

// Returns the interval that a code lies in.
bool find_interval(DirectoryReader *reader, const GridHead &grid, int dimension, uint64 code,
                   uint32 *interval);

// A condition asks for these coordinates of one dimension: [begin, end), of which [sure_begin, sure_end) need
// no test.
struct Coordinates {
    uint32 begin;
    uint32 end;
    uint32 sure_begin;
    uint32 sure_end;
};

// This is what is known of a cell's rows: the bounds of their codes in each dimension, and in which
// dimensions (a bit each) no row needs a test.
struct CellBounds {
    uint64 low[kMaxDimensions];
    uint64 high[kMaxDimensions];
    uint16 sure;
};
CellBounds root_bounds(const Format &format);

// Finds the coordinates of a grid's cells that a condition asks for in a dimension.
bool find_coordinates(DirectoryReader *reader, const Condition &condition, const GridHead &grid,
                      const CellBounds &bounds, int dimension, Coordinates *found);

// Narrows bounds to those of a coordinate.
bool narrow_bounds(DirectoryReader *reader, const GridHead &grid, int dimension, uint32 coordinate,
                   CellBounds *bounds);

// A range is the entries [begin, end) of a run, whose first lies on entry page `page` or behind it. They
// match if they pass the tests on `dimensions` (a bit each). With `mixed`, NULLs differ among them and
// decide, too.
struct EntryRange {
    uint64 begin;
    uint64 end;
    uint32 page;
    uint16 dimensions;
    bool mixed;
};

struct EntryRanges {
    EntryRange *ranges;
    uint64 count;
    uint64 room;
};

// Returns all entries of a run without a directory as one range.
EntryRange whole_run(const Format &format, const Condition &condition, const storage::RunEntry &run);

// Adds the ranges that hold all matches, in order.
bool find_ranges(DirectoryReader *reader, const Condition &condition, EntryRanges *ranges);

}  // namespace pg_gpu::grid
