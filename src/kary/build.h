// What the serial and the parallel part of CREATE INDEX share.
#pragma once

#include "kary/kary.h"
#include "kary/radix_sort.h"

namespace pg_gpu::kary {

template <typename Key>
struct EntryArray {
    SortEntry<Key> *entries;
    size_t count;
    size_t room;
};

// Entries a participant has collected and the sorted chunks it has spilled.
template <typename Key>
struct Collector {
    KeyFormat format;
    MemoryContext scratch;  // for encoding one row
    EntryArray<Key> keyed;
    EntryArray<Key> nulls;
    size_t most;  // entries of both arrays together
    uint64 total;
    SharedFileSet *files;  // nullptr in a serial build
    int participant;
    BufFile **chunks;  // serial: open files; parallel: found by name
    int chunk_count;
};

struct ChunkHead {
    uint64 keyed;
    uint64 nulls;
};

inline constexpr int kChunkNameLength = 48;
void chunk_file_name(char *name, int participant, int chunk);

template <typename Key>
void begin_collecting(Collector<Key> *collector, Relation index, size_t memory, SharedFileSet *files,
                      int participant);
// Sorts what is in memory and writes it to a file.
template <typename Key>
void spill(Collector<Key> *collector);
// Returns the number of live rows scanned.
template <typename Key>
double scan_table(Relation heap, Relation index, IndexInfo *index_info, bool progress,
                  Collector<Key> *collector, TableScanDesc scan);

// ---- parallel_build.cpp
// -------------------------------------------------------------------------------------

struct ParallelBuild;

// Launches workers if the planner's rule for index builds grants any; nullptr for a serial build.
ParallelBuild *begin_parallel_build(Relation heap, Relation index, IndexInfo *index_info);
int parallel_participants(const ParallelBuild *build);
SharedFileSet *parallel_files(ParallelBuild *build);
TableScanDesc parallel_table_scan(ParallelBuild *build, Relation heap);
// Waits for the workers and adds their counts.
void finish_parallel_scan(ParallelBuild *build, IndexInfo *index_info, double *heap_tuples, uint64 *total);
void end_parallel_build(ParallelBuild *build);

// All spilled chunks, rewound: the serial build's open files, or the participants' by name.
BufFile **open_chunks(const ParallelBuild *build, BufFile **own, int own_count, SharedFileSet *files,
                      int *count);

}  // namespace pg_gpu::kary
