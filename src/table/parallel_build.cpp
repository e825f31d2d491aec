#include "table/parallel_build.h"

#include "compat.h"
#include "memory.h"

namespace pg_gpu::table {

// It lies in the DSM segment.
struct SharedBuild {
    Oid heap;
    Oid index;
    bool concurrent;
    int participants;
    SharedFileSet files;
    slock_t mutex;
    // The workers add up what follows under the mutex.
    bool broken_hot_chain;
    double heap_tuples;
    uint64 total;
    uint64 handed_over[FLEXIBLE_ARRAY_MEMBER];  // by participant
};

struct ParallelBuild {
    ParallelContext *context;
    SharedBuild *shared;
    ParallelTableScanDesc scan;
    Snapshot snapshot;
    BufferUsage *buffer_usage;  // a worker each
    WalUsage *wal_usage;
};

static constexpr uint64 kKeyShared = UINT64CONST(0xB600000000000001);
static constexpr uint64 kKeyScan = UINT64CONST(0xB600000000000002);
static constexpr uint64 kKeyQuery = UINT64CONST(0xB600000000000003);
static constexpr uint64 kKeyBufferUsage = UINT64CONST(0xB600000000000004);
static constexpr uint64 kKeyWalUsage = UINT64CONST(0xB600000000000005);

ParallelBuild *begin_parallel_build(Relation heap, Relation index, IndexInfo *index_info) {
    const int workers = build_workers(heap, index, index_info);
    if (workers <= 0)
        return nullptr;

    EnterParallelMode();
    ParallelContext *context = CreateParallelContext("pg_gpu", "pg_gpu_build_worker_main", workers);
    const Snapshot snapshot =
        index_info->ii_Concurrent ? RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
    const Size shared_size = offsetof(SharedBuild, handed_over) + sizeof(uint64) * (workers + 1);
    const Size scan_size = table_parallelscan_estimate(heap, snapshot);
    const Size query_size = debug_query_string != nullptr ? strlen(debug_query_string) + 1 : 0;
    shm_toc_estimate_chunk(&context->estimator, shared_size);
    shm_toc_estimate_chunk(&context->estimator, scan_size);
    shm_toc_estimate_chunk(&context->estimator, query_size);
    shm_toc_estimate_chunk(&context->estimator, sizeof(BufferUsage) * context->nworkers);
    shm_toc_estimate_chunk(&context->estimator, sizeof(WalUsage) * context->nworkers);
    shm_toc_estimate_keys(&context->estimator, query_size > 0 ? 5 : 4);
    InitializeParallelDSM(context);

    // The build is serial when there was no DSM segment to be had.
    if (context->seg == nullptr) {
        if (IsMVCCSnapshot(snapshot))
            UnregisterSnapshot(snapshot);
        DestroyParallelContext(context);
        ExitParallelMode();
        return nullptr;
    }

    auto *shared = static_cast<SharedBuild *>(shm_toc_allocate(context->toc, shared_size));
    memset(shared, 0, shared_size);
    shared->heap = RelationGetRelid(heap);
    shared->index = RelationGetRelid(index);
    shared->concurrent = index_info->ii_Concurrent;
    SpinLockInit(&shared->mutex);
    SharedFileSetInit(&shared->files, context->seg);
    auto *scan = static_cast<ParallelTableScanDesc>(shm_toc_allocate(context->toc, scan_size));
    table_parallelscan_initialize(heap, scan, snapshot);
    // Sorts rely on each participant seeing blocks in order.
    scan->phs_syncscan = false;
    shm_toc_insert(context->toc, kKeyShared, shared);
    shm_toc_insert(context->toc, kKeyScan, scan);
    if (query_size > 0) {
        auto *query = static_cast<char *>(shm_toc_allocate(context->toc, query_size));
        memcpy(query, debug_query_string, query_size);
        shm_toc_insert(context->toc, kKeyQuery, query);
    }
    auto *buffer_usage =
        static_cast<BufferUsage *>(shm_toc_allocate(context->toc, sizeof(BufferUsage) * context->nworkers));
    auto *wal_usage =
        static_cast<WalUsage *>(shm_toc_allocate(context->toc, sizeof(WalUsage) * context->nworkers));
    shm_toc_insert(context->toc, kKeyBufferUsage, buffer_usage);
    shm_toc_insert(context->toc, kKeyWalUsage, wal_usage);
    // Set before the launch: workers divide memory by it.
    shared->participants = workers + 1;
    LaunchParallelWorkers(context);

    auto *build = allocate<ParallelBuild>(1);
    *build = {context, shared, scan, snapshot, buffer_usage, wal_usage};
    if (context->nworkers_launched == 0) {
        end_parallel_build(build);
        return nullptr;
    }
    return build;
}

int parallel_participants(const ParallelBuild *build) {
    return build->shared->participants;
}

SharedFileSet *parallel_files(ParallelBuild *build) {
    return &build->shared->files;
}

TableScanDesc parallel_table_scan(ParallelBuild *build, Relation heap) {
    return table_beginscan_parallel(heap, build->scan);
}

void finish_parallel_scan(ParallelBuild *build, IndexInfo *index_info, double *heap_tuples, uint64 *total) {
    WaitForParallelWorkersToFinish(build->context);
    for (int i = 0; i < build->context->nworkers_launched; i++)
        InstrAccumParallelQuery(&build->buffer_usage[i], &build->wal_usage[i]);
    SharedBuild *shared = build->shared;
    SpinLockAcquire(&shared->mutex);
    *heap_tuples += shared->heap_tuples;
    *total += shared->total;
    const bool broken = shared->broken_hot_chain;
    SpinLockRelease(&shared->mutex);
    if (broken)
        index_info->ii_BrokenHotChain = true;
}

void end_parallel_build(ParallelBuild *build) {
    if (IsMVCCSnapshot(build->snapshot))
        UnregisterSnapshot(build->snapshot);
    DestroyParallelContext(build->context);
    ExitParallelMode();
}

const uint64 *handed_over(const ParallelBuild *build) {
    return build->shared->handed_over;
}

void run_build_worker(dsm_segment *segment, shm_toc *toc, void (*collect)(BuildWorker *worker)) {
    debug_query_string = static_cast<const char *>(shm_toc_lookup(toc, kKeyQuery, true));
    pgstat_report_activity(STATE_RUNNING, debug_query_string);
    auto *shared = static_cast<SharedBuild *>(shm_toc_lookup(toc, kKeyShared, false));
    auto *scan = static_cast<ParallelTableScanDesc>(shm_toc_lookup(toc, kKeyScan, false));
    SharedFileSetAttach(&shared->files, segment);

    // The same locks as the leader's, which is in the same lock group.
    const LOCKMODE heap_lock = shared->concurrent ? ShareUpdateExclusiveLock : ShareLock;
    const LOCKMODE index_lock = shared->concurrent ? RowExclusiveLock : AccessExclusiveLock;
    BuildWorker worker = {};
    worker.heap = table_open(shared->heap, heap_lock);
    worker.index = index_open(shared->index, index_lock);
    worker.index_info = BuildIndexInfo(worker.index);
    worker.index_info->ii_Concurrent = shared->concurrent;
    worker.scan = table_beginscan_parallel(worker.heap, scan);
    worker.files = &shared->files;
    worker.participant = ParallelWorkerNumber + 1;
    worker.memory =
        static_cast<size_t>(maintenance_work_mem) * 1024 / static_cast<size_t>(shared->participants);
    InstrStartParallelQuery();
    collect(&worker);
    InstrEndParallelQuery(
        static_cast<BufferUsage *>(shm_toc_lookup(toc, kKeyBufferUsage, false)) + ParallelWorkerNumber,
        static_cast<WalUsage *>(shm_toc_lookup(toc, kKeyWalUsage, false)) + ParallelWorkerNumber);

    SpinLockAcquire(&shared->mutex);
    shared->heap_tuples += worker.heap_tuples;
    shared->total += worker.total;
    shared->handed_over[worker.participant] = worker.handed_over;
    shared->broken_hot_chain = shared->broken_hot_chain || worker.index_info->ii_BrokenHotChain;
    SpinLockRelease(&shared->mutex);
    index_close(worker.index, index_lock);
    table_close(worker.heap, heap_lock);
}

}  // namespace pg_gpu::table
