#include "grid/collector.h"

#include "progress.h"

namespace pg_gpu::grid {

static constexpr int kFileNameLength = 32;

static size_t row_bytes(const Format &format) {
    return static_cast<size_t>(format.row_words) * sizeof(uint64);
}

// Rows that can be held and scattered within so many bytes.
static uint64 rows_within(const Format &format, size_t memory) {
    // Memory is taken by the rows, by room to scatter them to, and by the cell of each.
    return Max(memory / (2 * row_bytes(format) + sizeof(uint32)), size_t{1024});
}

void begin_collecting(Collector *collector, const Format *format, size_t memory, SharedFileSet *shared,
                      int participant) {
    *collector = {};
    collector->format = format;
    collector->most = rows_within(*format, memory);
    collector->room = Min(collector->most, uint64{1024});
    collector->rows = allocate<uint64>(collector->room * static_cast<size_t>(format->row_words));
    collector->shared = shared;
    collector->participant = participant;
}

static void name_file(char *name, int participant) {
    snprintf(name, kFileNameLength, "rows_%d", participant);
}

void spill(Collector *collector) {
    if (collector->file == nullptr) {
        char name[kFileNameLength];
        name_file(name, collector->participant);
        collector->file = collector->shared != nullptr ? BufFileCreateFileSet(&collector->shared->fs, name)
                                                       : BufFileCreateTemp(false);
    }
    BufFileWrite(collector->file, collector->rows, collector->count * row_bytes(*collector->format));
    collector->in_file += collector->count;
    collector->count = 0;
}

void hand_over(Collector *collector) {
    if (collector->total == 0)
        return;
    spill(collector);
    BufFileExportFileSet(collector->file);
    BufFileClose(collector->file);
}

static void add_in_memory(GridWriter *grid, uint64 *rows, uint64 count) {
    auto *scratch = allocate<uint64>((count + 1) * static_cast<size_t>(grid->format->row_words));
    add_grid(grid, rows, scratch, count);
    pfree(scratch);
}

void write_collected(Collector *collector, Relation index, const uint64 *handed_over, int participants,
                     SplitRule rule, storage::RunWriter *writer, storage::RunEntry *entry) {
    const Format &format = *collector->format;
    RowFiles files = {allocate<BufFile *>(static_cast<size_t>(participants) + 1),
                      allocate<uint64>(static_cast<size_t>(participants) + 1), 0, 0};
    const auto add_file = [&files](BufFile *file, uint64 rows) {
        files.files[files.count] = file;
        files.counts[files.count++] = rows;
        files.rows += rows;
    };
    for (int i = 1; i < participants; i++) {
        char name[kFileNameLength];
        name_file(name, i);
        if (handed_over[i] > 0)
            add_file(BufFileOpenFileSet(&collector->shared->fs, name, O_RDONLY, false), handed_over[i]);
    }
    const uint64 total = collector->total + files.rows;
    begin_phase("writing grids", total);
    GridWriter grid;
    begin_grid(&grid, index, rule, rows_within(format, table::maintenance_memory()), total, writer);
    if (total <= grid.max_rows) {
        const auto words = static_cast<size_t>(format.row_words);
        uint64 loaded = collector->count;
        if (collector->file != nullptr)
            add_file(collector->file, collector->in_file);
        if (files.rows > 0)
            collector->rows = reallocate(collector->rows, total * words);
        for (int i = 0; i < files.count; i++) {
            load_rows(grid, files.files[i], collector->rows + loaded * words, files.counts[i]);
            loaded += files.counts[i];
        }
        add_in_memory(&grid, collector->rows, total);
    } else {
        spill(collector);
        pfree(collector->rows);
        add_file(collector->file, collector->in_file);
        add_grid_from_files(&grid, files);
    }
    finish_grid(&grid, entry);
}

}  // namespace pg_gpu::grid
