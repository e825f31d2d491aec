// Parallel CREATE INDEX: the leader and its workers share one table scan; each collects what it saw and hands
// it over in files.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::table {

struct ParallelBuild;

// Launches workers if the planner's rule for index builds grants any; nullptr for a serial build.
ParallelBuild *begin_parallel_build(Relation heap, Relation index, IndexInfo *index_info);
// The leader is participant 0.
int parallel_participants(const ParallelBuild *build);
SharedFileSet *parallel_files(ParallelBuild *build);
TableScanDesc parallel_table_scan(ParallelBuild *build, Relation heap);
// Waits for the workers and adds their counts.
void finish_parallel_scan(ParallelBuild *build, IndexInfo *index_info, double *heap_tuples, uint64 *total);
// Returns the amount that each participant handed over, by its own measure; 0 for the leader.
const uint64 *handed_over(const ParallelBuild *build);
void end_parallel_build(ParallelBuild *build);

// One worker's part.
struct BuildWorker {
    Relation heap;
    Relation index;
    IndexInfo *index_info;
    TableScanDesc scan;
    SharedFileSet *files;
    int participant;
    size_t memory;  // bytes
    // The worker sets these.
    double heap_tuples;  // live rows scanned
    uint64 total;        // entries collected
    uint64 handed_over;
};

// The body of the workers' function, pg_gpu_build_worker_main.
void run_build_worker(dsm_segment *segment, shm_toc *toc, void (*collect)(BuildWorker *worker));

}  // namespace pg_gpu::table
