// Grids of more rows than fit in memory take three passes over the files: one for statistics and a sample,
// one to count the cells' rows, and one to write them to files of neighbouring cells that fit.
#include <cmath>

#include "grid/grid_writer.h"
#include "temporary_file.h"

namespace pg_gpu::grid {

static constexpr uint32 kBufferRows = 4096;
static constexpr uint32 kMaxFiles = 64;
static constexpr uint64 kMaxSampleRows = 16384;

static void read_rows(const GridWriter &grid, BufFile *file, uint64 *rows, uint64 count) {
    read_file(file, rows, count * static_cast<size_t>(grid.format->row_words) * sizeof(uint64), grid.index);
}

void load_rows(const GridWriter &grid, BufFile *file, uint64 *rows, uint64 count) {
    rewind_file(file, grid.index);
    read_rows(grid, file, rows, count);
    BufFileClose(file);
}

// Calls visit(rows, count) for all rows, some at a time.
template <typename Visit>
static void for_each_rows(GridWriter *grid, const RowFiles &files, Visit visit) {
    auto *buffer = allocate<uint64>(size_t{kBufferRows} * static_cast<size_t>(grid->format->row_words));
    for (int i = 0; i < files.count; i++) {
        rewind_file(files.files[i], grid->index);
        for (uint64 left = files.counts[i]; left > 0;) {
            CHECK_FOR_INTERRUPTS();
            storage::pause_merge(grid->index);
            const uint64 here = Min(left, uint64{kBufferRows});
            read_rows(*grid, files.files[i], buffer, here);
            visit(buffer, here);
            left -= here;
        }
    }
    pfree(buffer);
}

static void close_files(const RowFiles &files) {
    for (int i = 0; i < files.count; i++)
        BufFileClose(files.files[i]);
}

static Scales choose_from_files(GridWriter *grid, const RowFiles &files, uint16 tight,
                                RowStatistics *statistics, uint16 *loose) {
    const Format &format = *grid->format;
    const auto words = static_cast<uint64>(format.row_words);
    const uint64 step = Max((files.rows + kMaxSampleRows - 1) / kMaxSampleRows, uint64{1});
    auto *sample = allocate<uint64>((files.rows / step + 1) * words);
    uint64 sampled = 0;
    uint64 seen = 0;
    begin_statistics(statistics);
    for_each_rows(grid, files, [&](const uint64 *rows, uint64 count) {
        add_statistics(format, statistics, rows, count);
        for (uint64 i = 0; i < count; i++, seen++)
            if (seen % step == 0)
                memcpy(sample + sampled++ * words, rows + i * words, words * sizeof(uint64));
    });
    const double wanted = ceil(static_cast<double>(files.rows) / kCellRows);
    *loose = loose_dimensions(format, *statistics, tight);
    const Scales scales = *loose != 0
                              ? tight_scales(format, *statistics, *loose)
                              : choose_scales(format, *statistics, sample, sampled, wanted, grid->rule);
    pfree(sample);
    return scales;
}

static uint32 add_grid_of_files(GridWriter *grid, const RowFiles &files, uint16 tight);

static void add_rows_of_files(GridWriter *grid, const RowFiles &files) {
    for_each_rows(grid, files,
                  [grid](const uint64 *rows, uint64 count) { add_rows(&grid->pages, rows, count); });
}

// Loads rows of cells [first, end), which fit in memory.
static void add_loaded_cells(GridWriter *grid, const Scales &scales, uint32 word, uint32 first, uint32 end,
                             const RowFiles &files, uint16 tight) {
    const auto words = static_cast<size_t>(grid->format->row_words);
    auto *rows = allocate<uint64>((files.rows + 1) * words);
    auto *scratch = allocate<uint64>((files.rows + 1) * words);
    uint64 loaded = 0;
    for (int i = 0; i < files.count; i++) {
        load_rows(*grid, files.files[i], rows + loaded * words, files.counts[i]);
        loaded += files.counts[i];
    }
    add_cells(grid, scales, word, first, end, rows, scratch, loaded, tight);
    pfree(scratch);
    pfree(rows);
}

// Adds the rows of cells [first, end), `counts` of them in each.
static void add_dealt_cells(GridWriter *grid, const Scales &scales, uint32 word, uint32 first, uint32 end,
                            const uint64 *counts, const RowFiles &files, uint16 tight) {
    check_stack_depth();
    if (files.rows <= grid->max_rows)
        return add_loaded_cells(grid, scales, word, first, end, files, tight);
    if (end - first == 1) {
        begin_cell(grid, scales, word, first);
        const uint32 child = add_grid_of_files(grid, files, tight);
        if (child != 0)
            return link_cell(grid, scales, word, first, child);
        add_rows_of_files(grid, files);
        return close_files(files);
    }

    // The cells are divided into groups of neighbours.
    const uint64 most = Max(grid->max_rows, files.rows / (kMaxFiles / 2));
    auto *groups = allocate<uint8>(end - first);
    uint32 starts[kMaxFiles + 1];
    BufFile *dealt[kMaxFiles];
    uint64 rows_of[kMaxFiles] = {};
    uint32 count = 1;
    starts[0] = first;
    for (uint32 cell = first; cell < end; cell++) {
        if (cell > starts[count - 1] && count < kMaxFiles && rows_of[count - 1] + counts[cell - first] > most)
            starts[count++] = cell;
        rows_of[count - 1] += counts[cell - first];
        groups[cell - first] = static_cast<uint8>(count - 1);
    }
    starts[count] = end;
    for (uint32 i = 0; i < count; i++)
        dealt[i] = BufFileCreateTemp(false);
    const Format &format = *grid->format;
    const auto words = static_cast<uint64>(format.row_words);
    for_each_rows(grid, files, [&](const uint64 *rows, uint64 here) {
        for (uint64 i = 0; i < here; i++) {
            const uint64 *row = rows + i * words;
            BufFileWrite(dealt[groups[cell_of(format, scales, row) - first]], const_cast<uint64 *>(row),
                         words * sizeof(uint64));
        }
    });
    close_files(files);
    pfree(groups);
    for (uint32 i = 0; i < count; i++)
        add_dealt_cells(grid, scales, word, starts[i], starts[i + 1], counts + (starts[i] - first),
                        {&dealt[i], &rows_of[i], 1, rows_of[i]}, tight);
}

// Writes the rows as a grid, closes the files and returns the word at which the grid begins, or does nothing
// and returns 0.
static uint32 add_grid_of_files(GridWriter *grid, const RowFiles &files, uint16 tight) {
    const Format &format = *grid->format;
    RowStatistics statistics;
    uint16 loose;
    const Scales scales = choose_from_files(grid, files, tight, &statistics, &loose);
    const uint32 word = loose == 0 && are_identical(format, statistics) ? 0 : place_grid(grid, scales);
    if (word != 0) {
        auto *counts = allocate_zeroed<uint64>(scales.cells);
        const auto words = static_cast<uint64>(format.row_words);
        for_each_rows(grid, files, [&](const uint64 *rows, uint64 count) {
            for (uint64 i = 0; i < count; i++)
                counts[cell_of(format, scales, rows + i * words)]++;
        });
        add_dealt_cells(grid, scales, word, 0, scales.cells, counts, files,
                        static_cast<uint16>(tight | loose));
        begin_cell(grid, scales, word, scales.cells);
        pfree(counts);
    }
    free_scales(format, scales);
    return word;
}

void add_grid_from_files(GridWriter *grid, const RowFiles &files) {
    if (add_grid_of_files(grid, files, 0) != 0)
        return;
    const Format &format = *grid->format;
    RowStatistics statistics;
    begin_statistics(&statistics);
    for_each_rows(grid, files, [&](const uint64 *rows, uint64 count) {
        add_statistics(format, &statistics, rows, count);
    });
    const Scales scales = single_cell(format, statistics);
    const uint32 word = place_grid(grid, scales);
    begin_cell(grid, scales, word, 0);
    add_rows_of_files(grid, files);
    begin_cell(grid, scales, word, 1);
    close_files(files);
}

}  // namespace pg_gpu::grid
