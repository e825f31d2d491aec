// Parallel CREATE INDEX: the leader and its workers share one table scan; each collects what it saw and hands
// it over in files.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::table {

struct ParallelBuild;

// Launches workers if the planner's rule for index builds grants any; returns nullptr for a serial build.
// With workers the session is in parallel mode until end_parallel_build.
ParallelBuild *begin_parallel_build(Relation heap, Relation index, IndexInfo *index_info);
// Returns the number of participants. The leader is participant 0.
int parallel_participants(const ParallelBuild *build);
SharedFileSet *parallel_files(ParallelBuild *build);
TableScanDesc parallel_table_scan(ParallelBuild *build, Relation heap);
// Waits for the workers and adds their counts.
void finish_parallel_scan(ParallelBuild *build, IndexInfo *index_info, double *heap_tuples, uint64 *total);
// Returns the amount that each participant handed over, by its own measure; 0 for the leader.
const uint64 *handed_over(const ParallelBuild *build);
void end_parallel_build(ParallelBuild *build);

// A BuildWorker is what one worker is given, and what it counts.
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

// pg_gpu_build_worker_main calls it as its body.
void run_build_worker(dsm_segment *segment, shm_toc *toc, void (*collect)(BuildWorker *worker));

}  // namespace pg_gpu::table
