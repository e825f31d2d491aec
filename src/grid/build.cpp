// CREATE INDEX: the table is scanned, by several participants where the planner grants workers, and its rows
// are collected; then the grid is made and written past the buffer manager.
#include "client/client.h"
#include "grid/collector.h"
#include "grid/grid.h"
#include "table/parallel_build.h"

namespace pg_gpu::grid {

using namespace table;

enum BuildPhase : int64 { PhaseScan = PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE + 1, PhaseWrite };

char *build_phase_name(int64 phase) {
    switch (phase) {
        case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
            return pstrdup("initializing");
        case PhaseScan:
            return pstrdup("scanning table");
        case PhaseWrite:
            return pstrdup("making and writing grids");
        case client::kLoadSubphase:
            return pstrdup("loading into the server process");
        default:
            return nullptr;
    }
}

static void collect(Relation, ItemPointer tid, Datum *values, bool *nulls, bool, void *state) {
    auto *collector = static_cast<Collector *>(state);
    encode_row(*collector->format, values, nulls, *tid, next_row(collector));
}

static void report_progress(uint64 rows) {
    pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, static_cast<int64>(rows));
}

static void write_index(Relation index, Collector *collector, const ParallelBuild *parallel, uint64 total) {
    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PhaseWrite);
    pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, static_cast<int64>(total));
    const storage::RunKind *kind = collector->format;
    storage::RunEntry entry = {};
    if (total > 0)
        entry.run_id = storage::new_run_id();
    storage::RunWriter *writer = storage::begin_build(index, &entry);
    if (total > 0) {
        write_collected(collector, index, parallel != nullptr ? handed_over(parallel) : nullptr,
                        parallel != nullptr ? parallel_participants(parallel) : 1, split_rule_of(index),
                        report_progress, writer, &entry);
        storage::finish_run(writer);
        entry.level = storage::level_of(kind, entry.entries, storage::fanout_of(index));
    }
    storage::finish_build(index, kind, entry);
    report_progress(total);
}

IndexBuildResult *build(Relation heap, Relation index, IndexInfo *index_info) {
    if (RelationGetNumberOfBlocks(index) != 0)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("index \"%s\" already contains data", RelationGetRelationName(index))));
    const Format *format = format_of(index);
    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PhaseScan);
    auto *result = allocate_zeroed<IndexBuildResult>(1);
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "pg_gpu build", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);

    ParallelBuild *parallel = begin_parallel_build(heap, index, index_info, "pg_gpu_grid_build_worker_main");
    const size_t memory =
        maintenance_memory() / static_cast<size_t>(parallel != nullptr ? parallel_participants(parallel) : 1);
    auto *collector = allocate<Collector>(1);
    begin_collecting(collector, format, memory, parallel != nullptr ? parallel_files(parallel) : nullptr, 0);
    result->heap_tuples =
        table_index_build_scan(heap, index, index_info, true, true, collect, collector,
                               parallel != nullptr ? parallel_table_scan(parallel, heap) : nullptr);
    uint64 total = collector->total;
    if (parallel != nullptr)
        finish_parallel_scan(parallel, index_info, &result->heap_tuples, &total);
    write_index(index, collector, parallel, total);
    if (parallel != nullptr)
        end_parallel_build(parallel);
    result->index_tuples = static_cast<double>(total);

    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return result;
}

static void collect_as_worker(BuildWorker *worker) {
    auto *collector = allocate<Collector>(1);
    begin_collecting(collector, format_of(worker->index), worker->memory, worker->files, worker->participant);
    worker->heap_tuples = table_index_build_scan(worker->heap, worker->index, worker->index_info, true, false,
                                                 collect, collector, worker->scan);
    hand_over(collector);
    worker->total = worker->handed_over = collector->total;
}

}  // namespace pg_gpu::grid

extern "C" PGDLLEXPORT void pg_gpu_grid_build_worker_main(dsm_segment *segment, shm_toc *toc);

void pg_gpu_grid_build_worker_main(dsm_segment *segment, shm_toc *toc) {
    pg_gpu::table::run_build_worker(segment, toc, pg_gpu::grid::collect_as_worker);
}
