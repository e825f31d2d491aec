// The background worker that looks at one database after the other, by a worker in each. It is connected to
// none, so that it is in nobody's way while it waits.
#include "accelerate/accelerate.h"

#include "accelerate/settings.h"
#include "memory.h"
#include "storage/storage.h"

namespace pg_gpu::accelerate {

// ---- registering ------------------------------------------------------------------------------------------

static void describe_worker(BackgroundWorker *worker, const char *name, const char *function) {
    *worker = {};
    strlcpy(worker->bgw_name, name, BGW_MAXLEN);
    strlcpy(worker->bgw_type, name, BGW_MAXLEN);
    strlcpy(worker->bgw_library_name, "pg_gpu", BGW_MAXLEN);
    strlcpy(worker->bgw_function_name, function, BGW_MAXLEN);
    worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    // A standby has no such worker until it is promoted.
    worker->bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker->bgw_restart_time = BGW_NEVER_RESTART;
}

void register_columns_launcher() {
    constexpr int kRestartSeconds = 60;
    BackgroundWorker worker;
    describe_worker(&worker, "pg_gpu columns launcher", "pg_gpu_columns_launcher_main");
    worker.bgw_restart_time = kRestartSeconds;
    RegisterBackgroundWorker(&worker);
}

// ---- waiting ----------------------------------------------------------------------------------------------

static void wait_for(long milliseconds) {
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds, PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    if (ConfigReloadPending) {
        ConfigReloadPending = 0;
        ProcessConfigFile(PGC_SIGHUP);
    }
}

// ---- a look -----------------------------------------------------------------------------------------------

// Returns a list of OIDs in the caller's memory context.
static List *list_databases() {
    MemoryContext context = CurrentMemoryContext;
    List *databases = NIL;
    StartTransactionCommand();
    (void)GetTransactionSnapshot();
    Relation catalog = table_open(DatabaseRelationId, AccessShareLock);
    TableScanDesc scan = table_beginscan_catalog(catalog, 0, nullptr);
    HeapTuple tuple;
    while ((tuple = heap_getnext(scan, ForwardScanDirection)) != nullptr) {
        const auto *database = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
        // A negative limit other than -1 marks one whose DROP was interrupted.
        if (!database->datallowconn || database->datistemplate || database->datconnlimit < -1)
            continue;
        MemoryContext caller = MemoryContextSwitchTo(context);
        databases = lappend_oid(databases, database->oid);
        MemoryContextSwitchTo(caller);
    }
    table_endscan(scan);
    table_close(catalog, AccessShareLock);
    CommitTransactionCommand();
    MemoryContextSwitchTo(context);
    return databases;
}

static bool is_wanted(Oid database) {
    StartTransactionCommand();
    const bool wanted = storage::is_database_wanted(database);
    CommitTransactionCommand();
    return wanted;
}

// Waits for the worker's end, and ends it when somebody wants the database for themselves.
static void await_worker(Oid database, BackgroundWorkerHandle *handle) {
    constexpr long kPollMs = 500;
    pid_t pid;
    while (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED) {
        if (is_wanted(database) || auto_columns().mode == AutoColumns::Off)
            TerminateBackgroundWorker(handle);
        wait_for(kPollMs);
    }
}

static void look_at(Oid database) {
    static bool reported = false;
    BackgroundWorker worker;
    BackgroundWorkerHandle *handle;
    describe_worker(&worker, "pg_gpu columns", "pg_gpu_columns_worker_main");
    worker.bgw_main_arg = ObjectIdGetDatum(database);
    // It wakes the launcher when it ends.
    worker.bgw_notify_pid = MyProcPid;
    if (RegisterDynamicBackgroundWorker(&worker, &handle)) {
        reported = false;
        await_worker(database, handle);
    } else if (!reported) {
        reported = true;
        ereport(LOG, (errmsg("pg_gpu cannot look for columns: no free slot for its background worker"),
                      errhint("Raise max_worker_processes.")));
    }
}

static void look_at_all() {
    MemoryContext context = AllocSetContextCreate(TopMemoryContext, "pg_gpu columns", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    ListCell *cell;
    foreach (cell, list_databases())
        if (auto_columns().mode != AutoColumns::Off)
            look_at(lfirst_oid(cell));
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
}

// A shorter interval counts at once, since it is added to the last look's time.
static void look_for_ever() {
    constexpr long kLongestPauseMs = 60000;
    TimestampTz last = 0;
    for (;;) {
        const AutoColumnsSettings settings = auto_columns();
        const TimestampTz next = TimestampTzPlusMilliseconds(last, settings.interval * int64{1000});
        const TimestampTz now = GetCurrentTimestamp();
        if (settings.mode == AutoColumns::Off) {
            wait_for(kLongestPauseMs);
        } else if (now < next) {
            wait_for(Min(TimestampDifferenceMilliseconds(now, next) + 1, kLongestPauseMs));
        } else {
            last = now;
            look_at_all();
        }
    }
}

}  // namespace pg_gpu::accelerate

extern "C" PGDLLEXPORT void pg_gpu_columns_launcher_main(Datum);

void pg_gpu_columns_launcher_main(Datum) {
    pqsignal(SIGTERM, die);
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    BackgroundWorkerUnblockSignals();
    BackgroundWorkerInitializeConnectionByOid(InvalidOid, InvalidOid, 0);
    pg_gpu::accelerate::look_for_ever();
}
