#include "grid/grid_writer.h"

#include <cmath>

namespace pg_gpu::grid {

// ---- the directory ----------------------------------------------------------------------------------------

// Usually it takes about a word for 40 rows.
uint64 max_directory_words(uint64 rows) {
    return 4096 + rows / 16;
}

void begin_grid(GridWriter *grid, Relation index, SplitRule rule, uint64 max_rows, uint64 total_rows,
                storage::RunWriter *writer) {
    *grid = {};
    grid->index = index;
    grid->format = format_of(index);
    const Format *format = grid->format;
    grid->rule = rule;
    grid->max_rows = max_rows;
    begin_pages(&grid->pages, format, writer);
    grid->word_count = summary_words(format->array_count);
    grid->word_room = 4096;
    grid->words = allocate_zeroed<uint64>(grid->word_room);
    grid->max_words = Min(max_directory_words(total_rows), uint64{PG_UINT32_MAX});
}

uint32 place_grid(GridWriter *grid, const Scales &scales) {
    const Format &format = *grid->format;
    const uint64 needed = grid_words(format, scales);
    if (grid->word_count + needed > grid->max_words)
        return 0;
    if (grid->word_count + needed > grid->word_room) {
        grid->word_room = (grid->word_count + needed) * 2;
        grid->words = reallocate(grid->words, grid->word_room);
    }
    const uint64 first = grid->word_count;
    uint64 *word = grid->words + first;
    for (int i = 0; i < format.dimension_count; i++)
        *word++ = scales.intervals[i] | (scales.has_nulls[i] ? kHasNulls : 0);
    for (int i = 0; i < format.dimension_count; i++)
        for (uint32 j = 0; j + 1 < scales.intervals[i]; j++)
            *word++ = scales.starts[i][j];
    grid->word_count += needed;
    grid->grids++;
    return static_cast<uint32>(first);
}

static uint64 *cell_words(GridWriter *grid, const Scales &scales, uint32 word, uint32 cell) {
    const uint64 cells_at = word + grid_words(*grid->format, scales) - 2 * (uint64{scales.cells} + 1);
    return grid->words + cells_at + 2 * uint64{cell};
}

void begin_cell(GridWriter *grid, const Scales &scales, uint32 word, uint32 cell) {
    uint64 *words = cell_words(grid, scales, word, cell);
    words[0] = next_ordinal(grid->pages);
    words[1] = cell_link(grid->pages.pages, 0);
}

void link_cell(GridWriter *grid, const Scales &scales, uint32 word, uint32 cell, uint32 child) {
    uint64 *words = cell_words(grid, scales, word, cell);
    words[1] = cell_link(cell_page(words[1]), child);
}

void free_scales(const Format &format, const Scales &scales) {
    for (int i = 0; i < format.dimension_count; i++)
        pfree(scales.starts[i]);
}

void finish_grid(GridWriter *grid, storage::RunEntry *entry) {
    const Format &format = *grid->format;
    finish_pages(&grid->pages);
    entry->entries = grid->pages.flushed;
    entry->sections[kEntrySection] = {0, grid->pages.pages};
    if (grid->pages.pages > 1) {
        for (int i = 0; i < format.array_count; i++) {
            grid->words[2 * i] = grid->pages.low[i];
            grid->words[2 * i + 1] = grid->pages.high[i];
        }
        const auto pages = static_cast<uint32>((grid->word_count + kWordsPerPage - 1) / kWordsPerPage);
        entry->sections[kDirectorySection] = {grid->pages.pages, pages};
        entry->access_method_data[0] = grid->word_count;
        entry->access_method_data[1] = grid->grids;
        for (uint64 done = 0; done < grid->word_count;) {
            const auto here =
                static_cast<uint32>(Min(uint64{kWordsPerPage}, grid->word_count - done) * sizeof(uint64));
            Page page = storage::next_run_page(grid->pages.writer);
            memcpy(storage::page_content(page), grid->words + done, here);
            storage::set_content_length(page, here);
            done += here / sizeof(uint64);
        }
    }
    pfree(grid->words);
}

// ---- rows in memory ---------------------------------------------------------------------------------------

// Handles rows of a fixed number of words; 0 stands for any number.
template <int Words>
static void scatter(const uint64 *rows, uint64 *to, uint64 count, int words, const uint32 *cells,
                    uint64 *places) {
    const auto width = static_cast<size_t>(Words > 0 ? Words : words);
    for (uint64 i = 0; i < count; i++)
        memcpy(to + places[cells[i]]++ * width, rows + i * width, width * sizeof(uint64));
}

static void scatter_rows(const uint64 *rows, uint64 *to, uint64 count, int words, const uint32 *cells,
                         uint64 *places) {
    switch (words) {
        case 2:
            return scatter<2>(rows, to, count, words, cells, places);
        case 3:
            return scatter<3>(rows, to, count, words, cells, places);
        case 4:
            return scatter<4>(rows, to, count, words, cells, places);
        case 5:
            return scatter<5>(rows, to, count, words, cells, places);
        default:
            return scatter<0>(rows, to, count, words, cells, places);
    }
}

static uint32 add_child_grid(GridWriter *grid, uint64 *rows, uint64 *scratch, uint64 count, uint16 tight);

// Writes a cell's rows, which are in `rows`.
static void add_cell(GridWriter *grid, const Scales &scales, uint32 word, uint32 cell, uint64 *rows,
                     uint64 *scratch, uint64 count, uint16 tight) {
    begin_cell(grid, scales, word, cell);
    const uint32 child =
        is_large_cell(*grid->format, count) ? add_child_grid(grid, rows, scratch, count, tight) : 0;
    if (child != 0)
        link_cell(grid, scales, word, cell, child);
    else
        add_rows(&grid->pages, rows, count);
}

void add_cells(GridWriter *grid, const Scales &scales, uint32 word, uint32 first, uint32 end, uint64 *rows,
               uint64 *scratch, uint64 count, uint16 tight) {
    const Format &format = *grid->format;
    const auto words = static_cast<uint64>(format.row_words);
    auto *cells = allocate<uint32>(count + 1);
    auto *ends = allocate_zeroed<uint64>(uint64{end} - first + 1);
    for (uint64 i = 0; i < count; i++) {
        cells[i] = cell_of(format, scales, rows + i * words) - first;
        ends[cells[i]]++;
    }
    CHECK_FOR_INTERRUPTS();
    uint64 place = 0;
    for (uint32 cell = 0; cell < end - first; cell++) {
        const uint64 here = ends[cell];
        ends[cell] = place;
        place += here;
    }
    storage::pause_merge(grid->index);
    // Behind the scatter each cell's place is its end.
    scatter_rows(rows, scratch, count, format.row_words, cells, ends);
    pfree(cells);
    uint64 begin = 0;
    for (uint32 cell = 0; cell < end - first; cell++) {
        CHECK_FOR_INTERRUPTS();
        add_cell(grid, scales, word, first + cell, scratch + begin * words, rows + begin * words,
                 ends[cell] - begin, tight);
        begin = ends[cell];
    }
    pfree(ends);
}

static Scales scales_of(GridWriter *grid, const RowStatistics &statistics, const uint64 *rows) {
    const Format &format = *grid->format;
    const double wanted = ceil(static_cast<double>(statistics.rows) / kCellRows);
    const uint64 sample_count = sample_size(format, statistics.rows, wanted);
    const auto words = static_cast<uint64>(format.row_words);
    auto *sample = allocate<uint64>(sample_count * words + 1);
    for (uint64 i = 0; i < sample_count; i++) {
        const auto at = static_cast<uint64>(Uint128{i} * statistics.rows / sample_count);
        memcpy(sample + i * words, rows + at * words, words * sizeof(uint64));
    }
    const Scales scales = choose_scales(format, statistics, sample, sample_count, wanted, grid->rule);
    pfree(sample);
    return scales;
}

// Adds the rows as a grid; the word it begins at, or 0, without adding them, when there is nothing to part or
// no room in the directory.
static uint32 add_child_grid(GridWriter *grid, uint64 *rows, uint64 *scratch, uint64 count, uint16 tight) {
    check_stack_depth();
    const Format &format = *grid->format;
    RowStatistics statistics;
    begin_statistics(&statistics);
    add_statistics(format, &statistics, rows, count);
    const uint16 loose = loose_dimensions(format, statistics, tight);
    if (loose == 0 && are_identical(format, statistics))
        return 0;
    const Scales scales =
        loose != 0 ? tight_scales(format, statistics, loose) : scales_of(grid, statistics, rows);
    const uint32 word = place_grid(grid, scales);
    if (word != 0) {
        add_cells(grid, scales, word, 0, scales.cells, rows, scratch, count,
                  static_cast<uint16>(tight | loose));
        begin_cell(grid, scales, word, scales.cells);
    }
    free_scales(format, scales);
    return word;
}

void add_grid(GridWriter *grid, uint64 *rows, uint64 *scratch, uint64 count) {
    if (add_child_grid(grid, rows, scratch, count, 0) != 0)
        return;
    RowStatistics statistics;
    begin_statistics(&statistics);
    add_statistics(*grid->format, &statistics, rows, count);
    const Scales scales = single_cell(*grid->format, statistics);
    const uint32 word = place_grid(grid, scales);
    begin_cell(grid, scales, word, 0);
    add_rows(&grid->pages, rows, count);
    begin_cell(grid, scales, word, 1);
}

}  // namespace pg_gpu::grid
