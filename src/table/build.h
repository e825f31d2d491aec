// CREATE INDEX as all access methods do it: the participants of a build, the leader and perhaps parallel
// workers, scan the table and collect rows, each within its part of maintenance_work_mem; workers hand theirs
// over in files; then the leader writes all of them as one run past the buffer manager.
#pragma once

#include "storage/storage.h"
#include "table/parallel_build.h"

namespace pg_gpu::table {

// The phases' names in pg_stat_progress_create_index. `sort` is nullptr where sorting has no phase of its
// own.
struct BuildPhases {
    const char *scan;
    const char *sort;
    const char *write;
};

// Returns a phase's name, or nullptr when there is no such phase.
const char *build_phase_name(const BuildPhases &phases, int64 phase);

// Returns maintenance_work_mem in bytes.
size_t maintenance_memory();

// A BuildPart is what one participant of a build is given.
struct BuildPart {
    Relation index;
    size_t memory;         // bytes
    SharedFileSet *files;  // nullptr in a serial build
    int participant;       // the leader is 0
};

// The rows that a worker has collected.
struct HandedOver {
    uint64 rows;
    uint64 measure;  // size of what the worker left, in the access method's own measure (parallel_build.h)
};

// The run that the leader writes.
struct BuildTarget {
    Relation index;
    ParallelBuild *parallel;  // nullptr in a serial build
    uint64 rows;              // rows of all participants
    storage::RunWriter *writer;
    storage::RunEntry *entry;
};

struct BuildSteps {
    // Set when a serial scan may begin in the middle of the table, beside another one that is there.
    // Otherwise rows come in order of their heap blocks.
    bool takes_any_order;
    // Makes what a participant collects its rows in, palloc'd in the current memory context. `collect` gets
    // it as its state.
    void *(*begin)(const BuildPart &part);
    IndexBuildCallback collect;
    // Is called after a worker's last row: leaves what it has in its part's files.
    HandedOver (*hand_over)(void *collector);
    // Is called after the leader's last row. Returns the number of its rows.
    uint64 (*finish)(void *collector);
    // Sorts what the leader has in memory, in a phase of its own. May be nullptr.
    void (*sort)(void *collector);
    // Writes all rows as a run: its pages, and the entry's sections, access_method_data and `entries`. It
    // isn't called when there are no rows.
    void (*write)(void *collector, const BuildTarget &target);
};

// This is ambuild of all access methods.
IndexBuildResult *build_index(Relation heap, Relation index, IndexInfo *index_info,
                              const storage::RunKind *kind, const BuildSteps &steps);

// Collects a worker's part; it is the body of a run_build_worker.
void collect_as_worker(const BuildSteps &steps, BuildWorker *worker);

}  // namespace pg_gpu::table
