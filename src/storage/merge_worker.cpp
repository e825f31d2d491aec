// A short-lived background worker for merges too big for an INSERT or VACUUM.
#include "compat.h"
#include "storage/merge.h"

namespace pg_gpu::storage {

static KindResolver kind_resolver = nullptr;

void set_kind_resolver(KindResolver resolver) {
    kind_resolver = resolver;
}

// Passed to the worker in bgw_extra.
struct MergeRequest {
    Oid database;
    Oid index;
};
static_assert(sizeof(MergeRequest) <= BGW_EXTRALEN);

// A session asks at most this often: a request that found no free slot, or a worker that has not started yet,
// is not repeated with every seal.
static constexpr int kRequestIntervalMs = 1000;

bool request_merge_worker(Relation index) {
    if (RELATION_IS_LOCAL(index))
        return false;
    static TimestampTz last_request = 0;
    static Oid last_index = InvalidOid;
    static bool was_registered = false;
    const TimestampTz now = GetCurrentTimestamp();
    if (last_index == RelationGetRelid(index) &&
        !TimestampDifferenceExceeds(last_request, now, kRequestIntervalMs))
        return was_registered;
    last_request = now;
    last_index = RelationGetRelid(index);

    BackgroundWorker worker = {};
    const MergeRequest request = {MyDatabaseId, RelationGetRelid(index)};
    strlcpy(worker.bgw_name, "pg_gpu merge", BGW_MAXLEN);
    strlcpy(worker.bgw_type, "pg_gpu merge", BGW_MAXLEN);
    strlcpy(worker.bgw_library_name, "pg_gpu", BGW_MAXLEN);
    strlcpy(worker.bgw_function_name, "pg_gpu_merge_worker_main", BGW_MAXLEN);
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    worker.bgw_notify_pid = 0;
    memcpy(worker.bgw_extra, &request, sizeof(request));
    was_registered = RegisterDynamicBackgroundWorker(&worker, nullptr);
    return was_registered;
}

// Is anybody waiting for a lock on the table or the index that ours stand in the way of? Looked for among all
// locks, and so not too often. (A request of our own tells only before 17, which refuses it for those who
// wait; LockHasWaiters cannot be asked about locks this weak: they are taken by the fast path.)
static bool are_wanted_exclusively(Oid table, Oid index) {
    constexpr int kLookIntervalMs = 50;
    static TimestampTz last_look = 0;
    const TimestampTz now = GetCurrentTimestamp();
    if (!TimestampDifferenceExceeds(last_look, now, kLookIntervalMs))
        return false;
    last_look = now;
    LockData *all = GetLockStatusData();
    bool wanted = false;
    for (int i = 0; i < all->nelements && !wanted; i++) {
        const LockInstanceData &lock = all->locks[i];
        if (lock.locktag.locktag_type != LOCKTAG_RELATION || lock.locktag.locktag_field1 != MyDatabaseId)
            continue;
        const Oid relation = lock.locktag.locktag_field2;
        wanted = (relation == table && lock.waitLockMode == AccessExclusiveLock) ||
                 (relation == index && lock.waitLockMode >= ShareLock);
    }
    pfree(all->locks);
    pfree(all);
    return wanted;
}

// DROP DATABASE, CREATE DATABASE with this one as its template and their like hold a lock on it while they
// wait, for some seconds, until nobody is connected.
static bool is_database_wanted() {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
    if (LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
        return true;
    LockRelease(&tag, RowExclusiveLock, false);
    return false;
}

static bool hold_workers = false;

void define_merge_settings() {
    DefineCustomBoolVariable("pg_gpu.hold_merge_workers", "Merge workers wait between two pages. For tests.",
                             "They go on when it is off again.", &hold_workers, false, PGC_SIGHUP,
                             GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, nullptr, nullptr, nullptr);
}

// Where a test wants to see what others do while a worker merges, the worker waits here: it holds the locks
// of a merge and no buffer lock or lightweight lock. A signal would stop it at any instruction, with any lock
// held.
static void wait_while_held() {
    constexpr long kLookIntervalMs = 20;
    while (hold_workers) {
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kLookIntervalMs,
                  PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            ProcessConfigFile(PGC_SIGHUP);
        }
    }
}

// The table whose index the worker is merging; InvalidOid in other processes.
static Oid merged_table = InvalidOid;
static constexpr uint32 kPagesBetweenLooks = 64;

void pause_merge(Relation index) {
    static uint32 pages = 0;
    vacuum_pause();
    if (!OidIsValid(merged_table) || ++pages % kPagesBetweenLooks != 0)
        return;
    // What was looked up in catalogs must not hold VACUUM back everywhere for as long as the merge takes.
    InvalidateCatalogSnapshotConditionally();
    wait_while_held();
    if (are_wanted_exclusively(merged_table, RelationGetRelid(index)) || is_database_wanted())
        ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                        errmsg("merge of index \"%s\" gives way to a waiting session",
                               RelationGetRelationName(index))));
}

// One merge, in a transaction of its own.
static MergeStep merge_in_worker(const MergeRequest &request) {
    MergeStep step = MergeStep::NothingDue;
    StartTransactionCommand();
    pgstat_report_activity(STATE_RUNNING, "pg_gpu: merging runs");
    const Oid heap_oid = IndexGetRelation(request.index, true);
    Relation heap = OidIsValid(heap_oid) ? try_table_open(heap_oid, AccessShareLock) : nullptr;
    Relation index = heap != nullptr ? try_relation_open(request.index, RowExclusiveLock) : nullptr;
    if (index != nullptr && index->rd_rel->relkind == RELKIND_INDEX && index->rd_index->indisready) {
        const RunKind *kind = kind_resolver(index);
        merged_table = heap_oid;
        InvalidateCatalogSnapshotConditionally();
        if (kind != nullptr)
            step = merge_next(index, kind);
        merged_table = InvalidOid;
    }
    if (index != nullptr)
        relation_close(index, RowExclusiveLock);
    if (heap != nullptr)
        table_close(heap, AccessShareLock);
    CommitTransactionCommand();
    return step;
}

// An insert has the runs' locks for some milliseconds, a VACUUM for long: after so many tries the next seal
// that finds work asks for another worker.
static constexpr int kTries = 100;
static constexpr long kTryAgainMs = 50;

static void merge_until_done(const MergeRequest &request) {
    int tries = 0;
    for (;;) {
        const MergeStep step = merge_in_worker(request);
        if (step == MergeStep::NothingDue || step == MergeStep::PutOff)
            return;
        if (step == MergeStep::Merged) {
            tries = 0;
            continue;
        }
        if (++tries == kTries)
            return;
        pgstat_report_activity(STATE_IDLE, nullptr);
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kTryAgainMs, PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
}

}  // namespace pg_gpu::storage

extern "C" PGDLLEXPORT void pg_gpu_merge_worker_main(Datum);

// Merges one index and ends. Holds AccessShare on the table and, as an INSERT would, RowExclusive on the
// index; gives them up in the middle of a merge when somebody waits for an exclusive lock or for the
// database.
void pg_gpu_merge_worker_main(Datum) {
    using namespace pg_gpu::storage;

    MergeRequest request;
    memcpy(&request, MyBgworkerEntry->bgw_extra, sizeof(request));
    pqsignal(SIGTERM, die);
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    BackgroundWorkerUnblockSignals();
    BackgroundWorkerInitializeConnectionByOid(request.database, InvalidOid, 0);

    merge_until_done(request);
    proc_exit(0);
}
