#include "table/build.h"

#include "progress.h"
#include "table/visibility.h"

namespace pg_gpu::table {

// The number of the sorting phase is the next phase's if nothing is sorted.
static constexpr int64 kScanPhase = PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE + 1;
static constexpr int64 kSortPhase = kScanPhase + 1;

static int64 write_phase(bool sorts) {
    return sorts ? kSortPhase + 1 : kSortPhase;
}

const char *build_phase_name(const BuildPhases &phases, int64 phase) {
    if (phase == PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE)
        return "initializing";
    if (phase == kScanPhase)
        return phases.scan;
    if (phase == write_phase(phases.sort != nullptr))
        return phases.write;
    return phase == kSortPhase ? phases.sort : nullptr;
}

static void report_phase(int64 phase) {
    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, phase);
}

size_t maintenance_memory() {
    return static_cast<size_t>(maintenance_work_mem) * 1024;
}

namespace {

struct CheckedRows {
    IndexBuildCallback collect;
    void *collector;
};

}  // namespace

static void collect_checked(Relation index, ItemPointer tid, Datum *values, bool *nulls, bool alive,
                            void *context) {
    const auto *rows = static_cast<const CheckedRows *>(context);
    storage::require_usable_tid(index, *tid);
    rows->collect(index, tid, values, nulls, alive, rows->collector);
}

// A parallel scan must be allowed to begin anywhere here; its descriptor says that it does not.
static double scan_table(Relation heap, Relation index, IndexInfo *index_info, const BuildSteps &steps,
                         bool progress, void *collector, TableScanDesc scan) {
    // Heap's TIDs need no look.
    CheckedRows rows = {steps.collect, collector};
    const bool is_heap = is_heap_table(heap);
    return table_index_build_scan(heap, index, index_info, scan != nullptr || steps.takes_any_order, progress,
                                  is_heap ? steps.collect : collect_checked, is_heap ? collector : &rows,
                                  scan);
}

static void write_index(const storage::RunKind *kind, const BuildSteps &steps, void *collector,
                        BuildTarget *target) {
    report_phase(write_phase(steps.sort != nullptr));
    begin_writing_report(target->rows);
    storage::RunEntry entry = {};
    if (target->rows > 0)
        entry.run_id = storage::new_run_id();
    target->entry = &entry;
    target->writer = storage::begin_build(target->index, &entry);
    if (target->rows > 0) {
        steps.write(collector, *target);
        storage::finish_run(target->writer);
        entry.level = storage::level_of(kind, entry.entries, storage::fanout_of(target->index));
    }
    storage::finish_build(target->index, kind, entry);
    end_writing_report();
}

IndexBuildResult *build_index(Relation heap, Relation index, IndexInfo *index_info,
                              const storage::RunKind *kind, const BuildSteps &steps) {
    if (RelationGetNumberOfBlocks(index) != 0)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("index \"%s\" already contains data", RelationGetRelationName(index))));
    report_phase(kScanPhase);
    auto *result = allocate_zeroed<IndexBuildResult>(1);
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "pg_gpu build", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);

    ParallelBuild *parallel = begin_parallel_build(heap, index, index_info);
    const int participants = parallel != nullptr ? parallel_participants(parallel) : 1;
    void *collector = steps.begin({index, maintenance_memory() / static_cast<size_t>(participants),
                                   parallel != nullptr ? parallel_files(parallel) : nullptr, 0});
    result->heap_tuples = scan_table(heap, index, index_info, steps, true, collector,
                                     parallel != nullptr ? parallel_table_scan(parallel, heap) : nullptr);
    BuildTarget target = {index, parallel, steps.finish(collector), nullptr, nullptr};
    if (parallel != nullptr)
        finish_parallel_scan(parallel, index_info, &result->heap_tuples, &target.rows);
    if (steps.sort != nullptr) {
        report_phase(kSortPhase);
        steps.sort(collector);
    }
    write_index(kind, steps, collector, &target);
    if (parallel != nullptr)
        end_parallel_build(parallel);
    result->index_tuples = static_cast<double>(target.rows);

    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return result;
}

void collect_as_worker(const BuildSteps &steps, BuildWorker *worker) {
    void *collector = steps.begin({worker->index, worker->memory, worker->files, worker->participant});
    worker->heap_tuples =
        scan_table(worker->heap, worker->index, worker->index_info, steps, false, collector, worker->scan);
    const HandedOver handed_over = steps.hand_over(collector);
    worker->total = handed_over.rows;
    worker->handed_over = handed_over.measure;
}

}  // namespace pg_gpu::table
