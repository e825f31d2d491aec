// A short-lived background worker for merges too big for an INSERT or VACUUM.
#include "compat.h"
#include "storage/free_space.h"
#include "storage/merge.h"
#include "storage/merge_requests.h"
#include "storage/waiting.h"
#include "test_hooks.h"

namespace pg_gpu::storage {

static KindResolver kind_resolver = nullptr;

void set_kind_resolver(KindResolver resolver) {
    kind_resolver = resolver;
}

// The request is passed to the worker in bgw_extra.
static_assert(sizeof(MergeRequest) <= BGW_EXTRALEN);

static bool register_worker(const MergeRequest &request) {
    BackgroundWorker worker = {};
    strlcpy(worker.bgw_name, "pg_gpu merge", BGW_MAXLEN);
    strlcpy(worker.bgw_type, "pg_gpu merge", BGW_MAXLEN);
    strlcpy(worker.bgw_library_name, "pg_gpu", BGW_MAXLEN);
    strlcpy(worker.bgw_function_name, "pg_gpu_merge_worker_main", BGW_MAXLEN);
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    worker.bgw_notify_pid = 0;
    memcpy(worker.bgw_extra, &request, sizeof(request));
    if (RegisterDynamicBackgroundWorker(&worker, nullptr))
        return true;
    register_failed(request);
    return false;
}

bool request_merge_worker(Relation index) {
    if (RELATION_IS_LOCAL(index))
        return false;
    const MergeRequest request = {MyDatabaseId, RelationGetRelid(index)};
    const Submission submission = request_merge(request);
    return submission == Submission::Register ? register_worker(request) : submission == Submission::Noted;
}

// The table whose index the worker is merging; InvalidOid in other processes.
static Oid merged_table = InvalidOid;
static TimestampTz merge_began = 0;
static bool gave_way = false;

// Is what was done to be given up for those who wait? A merge that has just begun is at once. One that has
// worked for long may be about to end, so that they wait for it as they would for an autovacuum, for
// deadlock_timeout.
static bool is_to_give_way(Oid index) {
    constexpr int kLookIntervalMs = 50;
    static TimestampTz last_look = 0;
    const TimestampTz now = GetCurrentTimestamp();
    if (!TimestampDifferenceExceeds(last_look, now, kLookIntervalMs))
        return false;
    last_look = now;
    // What the worker's locks on the table and the index stand in the way of.
    const long waited =
        Max(longest_wait(merged_table, AccessExclusiveLock, now), longest_wait(index, ShareLock, now));
    const long worked = TimestampDifferenceMilliseconds(merge_began, now);
    return (waited >= 0 && waited >= Min(worked, long{DeadlockTimeout})) || is_database_wanted(MyDatabaseId);
}

void pause_merge(Relation index) {
    constexpr uint32 kPagesBetweenChecks = 64;
    static uint32 pages = 0;
    vacuum_pause();
    if (!OidIsValid(merged_table) || ++pages % kPagesBetweenChecks != 0)
        return;
    // The snapshot of catalog look-ups must not hold VACUUM back everywhere for as long as the merge takes.
    InvalidateCatalogSnapshotConditionally();
    hold(HoldPoint::MergeWorker);
    gave_way = is_to_give_way(RelationGetRelid(index));
    if (gave_way)
        ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                        errmsg("merge of index \"%s\" gives way to a waiting session",
                               RelationGetRelationName(index))));
}

// Workers are few, so that none may wait for a lock that somebody has for long.
static Relation try_open(Oid relation, LOCKMODE mode) {
    return ConditionalLockRelationOid(relation, mode) ? try_relation_open(relation, NoLock) : nullptr;
}

// Makes one merge, in a transaction of its own.
static MergeStep merge_in_worker(const MergeRequest &request, OldMerges *merges) {
    MergeStep step = MergeStep::NothingDue;
    StartTransactionCommand();
    pgstat_report_activity(STATE_RUNNING, "pg_gpu: merging runs");
    const Oid heap_oid = IndexGetRelation(request.index, true);
    Relation heap = nullptr;
    Relation index = nullptr;
    if (OidIsValid(heap_oid)) {
        heap = try_open(heap_oid, AccessShareLock);
        index = heap != nullptr ? try_open(request.index, RowExclusiveLock) : nullptr;
        if (index == nullptr)
            step = MergeStep::Busy;
    }
    if (index != nullptr && index->rd_rel->relkind == RELKIND_INDEX && index->rd_index->indisready) {
        const RunKind *kind = kind_resolver(index);
        merged_table = heap_oid;
        merge_began = GetCurrentTimestamp();
        InvalidateCatalogSnapshotConditionally();
        if (kind != nullptr)
            step = merge_next(index, kind, merges);
        if (step == MergeStep::NothingDue && kind != nullptr && !truncate_free_end(index, kind))
            step = MergeStep::InUse;
        merged_table = InvalidOid;
    }
    if (index != nullptr)
        relation_close(index, RowExclusiveLock);
    if (heap != nullptr)
        relation_close(heap, AccessShareLock);
    CommitTransactionCommand();
    return step;
}

// An insert has the runs' locks for some milliseconds, a VACUUM for long: after so many tries the next seal
// that finds work asks for another worker.
static constexpr int kTries = 100;
static constexpr long kTryAgainMs = 50;

// False when a lack or a lock is in the way.
static bool merge_until_done(const MergeRequest &request) {
    OldMerges merges = begin_old_merges(kNoLimits);
    merges.halvings = times_given_way(request);
    int tries = 0;
    bool has_merged = false;
    for (;;) {
        const MergeStep step = merge_in_worker(request, &merges);
        if (step == MergeStep::Merged) {
            has_merged = true;
            tries = 0;
            continue;
        }
        // After a merge the next VACUUM cuts the end off. Where that alone was asked for, by a parallel
        // VACUUM, this one may not have ended yet.
        if (step == MergeStep::NothingDue || (step == MergeStep::InUse && has_merged))
            return true;
        if (step != MergeStep::Busy && step != MergeStep::InUse)
            return false;
        tries += step == MergeStep::InUse ? static_cast<int>(1 + kTruncationTakesMs / kTryAgainMs) : 1;
        if (tries >= kTries)
            return false;
        pgstat_report_activity(STATE_IDLE, nullptr);
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kTryAgainMs, PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
}

// The request that the worker is working on.
static MergeRequest current = {};

static void give_up_at_exit(int, Datum) {
    if (OidIsValid(current.index))
        give_request_up(current, Reason::Other);
}

// Merges one index after the other, until none waits.
static void merge_all_requested() {
    bool has_next = true;
    while (has_next) {
        gave_way = false;
        if (!merge_until_done(current))
            give_request_up(current, gave_way ? Reason::GaveWay : Reason::Other);
        else if (!end_request(current))
            continue;
        current = {};
        has_next = take_waiting_request(Databases::This, &current);
    }
    MergeRequest elsewhere;
    if (take_waiting_request(Databases::Others, &elsewhere))
        register_worker(elsewhere);
}

}  // namespace pg_gpu::storage

extern "C" PGDLLEXPORT void pg_gpu_merge_worker_main(Datum);

// Merges an index, and others of its database that wait for a worker, and ends. Holds AccessShare on the
// table and, as an INSERT would, RowExclusive on the index; gives them up in the middle of a merge when
// somebody waits for an exclusive lock or for the database.
void pg_gpu_merge_worker_main(Datum) {
    using namespace pg_gpu::storage;

    MergeRequest request;
    memcpy(&request, MyBgworkerEntry->bgw_extra, sizeof(request));
    pqsignal(SIGTERM, die);
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    if (!begin_request(request))
        proc_exit(0);
    current = request;
    before_shmem_exit(give_up_at_exit, Datum{0});
    BackgroundWorkerUnblockSignals();
    BackgroundWorkerInitializeConnectionByOid(request.database, InvalidOid, 0);
    merge_all_requested();
    proc_exit(0);
}
