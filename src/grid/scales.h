// Dimensions are cut into intervals at quantiles of a sample.
#pragma once

#include "grid/format.h"

namespace pg_gpu::grid {

enum class SplitRule : int {
    Equal,    // the same number of intervals in each dimension
    Distinct  // but no more than it has distinct values, and the more in others
};

// These are a grid's scales.
struct Scales {
    uint32 intervals[kMaxDimensions];
    bool has_nulls[kMaxDimensions];
    uint64 *starts[kMaxDimensions];  // lowest code of each interval but the first
    uint32 strides[kMaxDimensions];  // cells from one coordinate to the next
    uint32 cells;
};

// These statistics are of all rows of a grid.
struct RowStatistics {
    uint64 rows;
    uint64 low[kMaxDimensions];  // above `high` without a value
    uint64 high[kMaxDimensions];
    bool has_nulls[kMaxDimensions];
};

void begin_statistics(RowStatistics *statistics);
void add_statistics(const Format &format, RowStatistics *statistics, const uint64 *rows, uint64 count);

// Says whether there are no two rows that a scale can separate.
bool are_identical(const Format &format, const RowStatistics &statistics);

// Returns how many rows are to be sampled for a grid of so many cells.
uint64 sample_size(const Format &format, uint64 rows, double cells);

// Makes scales for about `wanted` cells from a sample. Unless all rows are identical there are two cells at
// least that have some.
Scales choose_scales(const Format &format, const RowStatistics &statistics, const uint64 *sample,
                     uint64 sample_count, double wanted, SplitRule rule);

// Returns the dimensions (a bit each) of points in which many rows all have one value, but for those that are
// `tight`, at most two: in these a cell's borders are to say which value it is. A search for the nearest goes
// by borders, and would have to read all of the rows.
uint16 loose_dimensions(const Format &format, const RowStatistics &statistics, uint16 tight);

// Makes scales that part the one value of these dimensions from all others.
Scales tight_scales(const Format &format, const RowStatistics &statistics, uint16 dimensions);

// Makes the scales of rows that are all identical.
Scales single_cell(const Format &format, const RowStatistics &statistics);

// Returns the words that the scales take in a directory, with their cells.
uint64 grid_words(const Format &format, const Scales &scales);

// Returns the number of a row's cell.
uint32 cell_of(const Format &format, const Scales &scales, const uint64 *row);

}  // namespace pg_gpu::grid
