// Rows for a run are collected in memory while they fit, and otherwise in a temporary file.
#pragma once

#include "grid/grid_writer.h"
#include "table/table.h"

namespace pg_gpu::grid {

struct Collector {
    const Format *format;
    uint64 *rows;
    uint64 count;  // in memory
    uint64 room;
    uint64 most;
    uint64 total;
    BufFile *file;          // nullptr: none yet
    uint64 in_file;         // rows
    SharedFileSet *shared;  // nullptr but in a parallel build, where the leader is to read the file
    int participant;
};

void begin_collecting(Collector *collector, const Format *format, size_t memory, SharedFileSet *shared,
                      int participant);

// Moves the rows in memory to the file.
void spill(Collector *collector);

// Returns room for one more row.
inline uint64 *next_row(Collector *collector) {
    if (unlikely(collector->count == collector->most))
        spill(collector);
    if (unlikely(collector->count == collector->room)) {
        collector->room = Min(collector->room * 2, collector->most);
        collector->rows =
            reallocate(collector->rows, collector->room * static_cast<size_t>(collector->format->row_words));
    }
    collector->total++;
    return collector->rows + collector->count++ * static_cast<size_t>(collector->format->row_words);
}

// A worker's part of a parallel build ends here: its rows are in its file.
void hand_over(Collector *collector);

// Writes the collected rows, and those that workers handed over, as a run, within maintenance_work_mem.
void write_collected(Collector *collector, Relation index, const uint64 *handed_over, int participants,
                     SplitRule rule, storage::RunWriter *writer, storage::RunEntry *entry);

}  // namespace pg_gpu::grid
