// The grid writer writes a run: rows in the order of a grid's cells, and the directory behind them.
//
// A grid is made as in "In-Memory Grid Files on Graphics Processors": scales lie at quantiles, each row's
// cell is found by a search in the scales, and a histogram, a prefix sum and a scatter sort the rows by cell.
// Cells that are still large become grids in turn. What doesn't fit maintenance_work_mem is first dealt out,
// by the root's cells, to temporary files that do.
#pragma once

#include "grid/page_writer.h"
#include "grid/scales.h"

namespace pg_gpu::grid {

// A cell is to have so many rows: a box is answered by the rows of the cells on its surface and two words of
// the directory for each row of cells, of which a page holds some hundreds.
inline constexpr uint32 kCellRows = 128;

struct GridWriter {
    Relation index;
    const Format *format;
    SplitRule rule;
    PageWriter pages;
    uint64 max_rows;  // in memory at once
    uint64 *words;    // the directory
    uint64 word_count;
    uint64 word_room;
    uint64 max_words;
    uint32 grids;
};

// Returns how many words the directory of a run may take. Beyond them cells stay as large as they are.
uint64 max_directory_words(uint64 rows);

void begin_grid(GridWriter *grid, Relation index, SplitRule rule, uint64 max_rows, uint64 total_rows,
                storage::RunWriter *writer);

// Ends the run: writes the directory and sets the entry's sections, access_method_data and `entries`.
void finish_grid(GridWriter *grid, storage::RunEntry *entry);

// Adds all rows of a run. `rows` and `scratch` have room for them; both are written over.
void add_grid(GridWriter *grid, uint64 *rows, uint64 *scratch, uint64 count);

// These are rows in files, which are closed once they have been read.
struct RowFiles {
    BufFile **files;
    uint64 *counts;  // number of rows in each
    int count;
    uint64 rows;
};
void add_grid_from_files(GridWriter *grid, const RowFiles &files);

// Reads a whole file and closes it.
void load_rows(const GridWriter &grid, BufFile *file, uint64 *rows, uint64 count);

// ---- between grid_writer.cpp and external.cpp -------------------------------------------------------------

// Says whether a cell with so many rows, not all the same, becomes a grid.
inline bool is_large_cell(const Format &format, uint64 rows) {
    return rows > uint64{kCellRows} << format.dimension_count;
}

// Reserves a grid's place in the directory and writes its scales. Returns the first word, or 0 when there is
// no room.
uint32 place_grid(GridWriter *grid, const Scales &scales);

// These fill in the cells' words, in order. Behind the last cell comes the end.
void begin_cell(GridWriter *grid, const Scales &scales, uint32 word, uint32 cell);
void link_cell(GridWriter *grid, const Scales &scales, uint32 word, uint32 cell, uint32 child);

void free_scales(const Format &format, const Scales &scales);

// Adds the rows of cells [first, end) of a placed grid, which fit in memory. In the dimensions `tight` (a bit
// each) borders of cells already say which value points have (loose_dimensions).
void add_cells(GridWriter *grid, const Scales &scales, uint32 word, uint32 first, uint32 end, uint64 *rows,
               uint64 *scratch, uint64 count, uint16 tight);

}  // namespace pg_gpu::grid
