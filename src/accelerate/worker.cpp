// The worker that looks at one database, does what it decides, and ends.
#include "accelerate/look.h"
#include "compat.h"
#include "storage/storage.h"

namespace pg_gpu::accelerate {

// ---- giving way -------------------------------------------------------------------------------------------

// The table whose index is made or dropped; InvalidOid: none is.
static volatile Oid watched_table = InvalidOid;
static TimeoutId watch_timer;
static constexpr int kWatchMs = 50;

// It waits so long for writers that are at work, and for those who read with older snapshots.
static constexpr char kLockTimeout[] = "60s";

// Cancels the worker's command when somebody waits for its lock on the table. That is before they look for a
// deadlock, whose victim they would be. A signal's handler calls it.
static void give_way() {
    if (!OidIsValid(watched_table) || storage::longest_wait(watched_table, ShareUpdateExclusiveLock,
                                                            GetCurrentTimestamp()) < DeadlockTimeout / 2)
        return;
    InterruptPending = 1;
    QueryCancelPending = 1;
    SetLatch(MyLatch);
}

static void begin_watch(Oid table) {
    watched_table = table;
    enable_timeout_every(watch_timer, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), kWatchMs), kWatchMs);
}

static void end_watch() {
    disable_timeout(watch_timer, false);
    watched_table = InvalidOid;
    // What came too late for the command isn't for what follows.
    QueryCancelPending = 0;
}

// ---- commands ---------------------------------------------------------------------------------------------

// Executes a command that makes transactions of its own. What it keeps from one to the other lies in the
// current memory context, as in a portal's elsewhere.
static pg_noinline void execute_alone(const char *command) {
    MemoryContext context = CurrentMemoryContext;
    auto *parsed = linitial_node(RawStmt, pg_parse_query(command));
    PlannedStmt *statement = makeNode(PlannedStmt);
    statement->commandType = CMD_UTILITY;
    statement->canSetTag = true;
    statement->utilityStmt = parsed->stmt;
    statement->stmt_len = parsed->stmt_len;
    pgstat_report_activity(STATE_RUNNING, command);
    StartTransactionCommand();
    PushActiveSnapshot(GetTransactionSnapshot());
    MemoryContextSwitchTo(context);
    ProcessUtility(statement, command, false, PROCESS_UTILITY_TOPLEVEL, nullptr, nullptr, None_Receiver,
                   nullptr);
    if (ActiveSnapshotSet())
        PopActiveSnapshot();
    CommitTransactionCommand();
    pgstat_report_activity(STATE_IDLE, nullptr);
}

// Returns nullptr when it went through, otherwise the error. The locks are given back then.
static const ErrorData *try_command(Oid table, const char *command) {
    MemoryContext context = CurrentMemoryContext;
    ErrorData *volatile error = nullptr;
    begin_watch(table);
    PG_TRY();
    { execute_alone(command); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        error = CopyErrorData();
        FlushErrorState();
        AbortCurrentTransaction();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(context);
    end_watch();
    return error;
}

static void set_lock_timeout(const char *time) {
    SetConfigOption("lock_timeout", time, PGC_SUSET, PGC_S_OVERRIDE);
}

// For a command that takes no time but a lock that readers or writers wait for: it tries to get it again and
// again, and makes nobody wait for long.
static const ErrorData *try_briefly(Oid table, const char *command) {
    constexpr int kTries = 50;
    constexpr long kPauseMs = 500;
    const ErrorData *error = nullptr;
    for (int i = 0; i < kTries; i++) {
        set_lock_timeout("50ms");
        error = try_command(table, command);
        set_lock_timeout(kLockTimeout);
        if (error == nullptr || error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
            break;
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kPauseMs, PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
    return error;
}

template <typename Work>
static void in_transaction(Work work) {
    MemoryContext context = CurrentMemoryContext;
    StartTransactionCommand();
    PushActiveSnapshot(GetTransactionSnapshot());
    MemoryContextSwitchTo(context);
    work();
    PopActiveSnapshot();
    CommitTransactionCommand();
    MemoryContextSwitchTo(context);
}

// ---- steps ------------------------------------------------------------------------------------------------

static void drop_leftovers() {
    List *leftovers = NIL;
    in_transaction([&] { leftovers = list_leftovers(); });
    ListCell *cell;
    foreach (cell, leftovers) {
        const auto *leftover = static_cast<const Leftover *>(lfirst(cell));
        const ErrorData *error = leftover->is_partitioned ? try_briefly(leftover->table, leftover->command)
                                                          : try_command(leftover->table, leftover->command);
        if (error == nullptr)
            ereport(LOG, (errmsg("pg_gpu columns: an index that was left over is dropped"),
                          errdetail("Command: %s.", leftover->command)));
        else
            ereport(LOG, (errmsg("pg_gpu columns: an index that was left over could not be dropped: %s",
                                 error->message),
                          errdetail("Command: %s.", leftover->command)));
    }
}

// Tables and columns may go at any time.
static bool is_there(const plan::Proposal &columns) {
    return get_rel_name(columns.table) != nullptr && *list_columns(columns) != '\0';
}

// Makes a table's index, or a partition's. Its name is told.
static const ErrorData *make_index(const plan::Proposal &columns, const char **name) {
    const char *command = nullptr;
    in_transaction([&] {
        if (!is_there(columns))
            return;
        const char *free_name = choose_name(columns.table);
        *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(columns.table)), free_name);
        command = create_command(columns, Maker::Worker, free_name, Way::Concurrent);
    });
    return command == nullptr ? nullptr : try_command(columns.table, command);
}

static List *list_partitions(Oid table) {
    List *partitions = NIL;
    in_transaction([&] { partitions = find_inheritance_children(table, NoLock); });
    return partitions;
}

// Makes one of the parent alone, which is of no use yet and made at once, then those of the partitions beside
// everybody, and attaches them.
static const ErrorData *make_partitioned_index(const plan::Proposal &columns) {
    const char *parent = nullptr;
    const char *command = nullptr;
    in_transaction([&] {
        if (!is_there(columns))
            return;
        const char *free_name = choose_name(columns.table);
        parent = quote_qualified_identifier(get_namespace_name(get_rel_namespace(columns.table)), free_name);
        command = create_command(columns, Maker::Worker, free_name, Way::Parent);
    });
    if (command == nullptr)
        return nullptr;
    const ErrorData *error = try_briefly(columns.table, command);
    ListCell *cell;
    foreach (cell, list_partitions(columns.table)) {
        // Without all partitions' indexes the parent's is of no use.
        if (error != nullptr)
            break;
        plan::Proposal own = {};
        in_transaction([&] { own = on_member(columns, lfirst_oid(cell)); });
        const char *name = nullptr;
        error = make_index(own, &name);
        if (error == nullptr && name != nullptr)
            error = try_briefly(own.table, psprintf("ALTER INDEX %s ATTACH PARTITION %s", parent, name));
    }
    return error;
}

static const ErrorData *drop_index(const Decision &decision) {
    const char *command = nullptr;
    in_transaction([&] {
        if (get_rel_name(decision.former) != nullptr)
            command = psprintf("DROP INDEX %s%s", decision.is_partitioned ? "" : "CONCURRENTLY ",
                               name_of(decision.former));
    });
    if (command == nullptr)
        return nullptr;
    return decision.is_partitioned ? try_briefly(decision.table, command)
                                   : try_command(decision.table, command);
}

static const ErrorData *do_step(const Decision &decision) {
    const char *name = nullptr;
    const ErrorData *error = nullptr;
    if (decision.step == Step::Create || decision.step == Step::Replace)
        error = decision.is_partitioned ? make_partitioned_index(decision.index)
                                        : make_index(decision.index, &name);
    if (error == nullptr && decision.step != Step::Create)
        error = drop_index(decision);
    return error;
}

// It may go while the worker is at work.
static bool has_extension() {
    return OidIsValid(get_extension_oid("pg_gpu", true));
}

static void carry_out(const Decision &decision) {
    const TimestampTz began = GetCurrentTimestamp();
    const ErrorData *error = do_step(decision);
    const long milliseconds = TimestampDifferenceMilliseconds(began, GetCurrentTimestamp());
    const char *outcome = decision.step == Step::Drop ? "dropped" : "made";
    in_transaction([&] {
        if (!has_extension() || get_rel_name(decision.table) == nullptr)
            return;
        if (error != nullptr)
            note_failure(decision, error->message);
        else
            note_outcome(decision, outcome, decision.reason);
        ereport(LOG, (errmsg("pg_gpu columns of table %s: %s after %ld ms", name_of(decision.table),
                             error == nullptr ? outcome : "failed", milliseconds),
                      errdetail("Columns: %s. Reason: %s.", list_columns(decision.index),
                                error == nullptr ? decision.reason : error->message)));
    });
}

// ---- the database -----------------------------------------------------------------------------------------

// One worker at a time: a launcher that was ended may have left one. The number tells the lock from those of
// sessions, which have 1 and 2. An error doesn't release it, as it would a lock on a relation.
static bool become_only_worker() {
    constexpr uint16 kOwnKind = 3;
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, 0, kOwnKind);
    return LockAcquire(&tag, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
}

// What databases and roles set for sessions isn't for the worker.
static void set_own_options() {
    // PostgreSQL has the last one from 17 on.
    for (const char *timeout :
         {"statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout"})
        if (GetConfigOption(timeout, true, false) != nullptr)
            SetConfigOption(timeout, "0", PGC_SUSET, PGC_S_OVERRIDE);
    SetConfigOption("default_transaction_read_only", "off", PGC_SUSET, PGC_S_OVERRIDE);
    SetConfigOption("default_transaction_isolation", "read committed", PGC_SUSET, PGC_S_OVERRIDE);
    // What it reads and plans is nobody's demand.
    SetConfigOption("pg_stat_statements.track", "none", PGC_SUSET, PGC_S_OVERRIDE);
    set_lock_timeout(kLockTimeout);
    // Nobody waits for what it commits, nor has it to wait for a replica.
    if (synchronous_commit > SYNCHRONOUS_COMMIT_LOCAL_FLUSH)
        SetConfigOption("synchronous_commit", "local", PGC_SUSET, PGC_S_OVERRIDE);
}

static void work() {
    bool is_wanted = false;
    in_transaction([&] {
        is_wanted = auto_columns().mode != AutoColumns::Off && has_extension() && become_only_worker();
    });
    if (!is_wanted)
        return;
    const AutoColumnsSettings settings = auto_columns();
    // Writers pay for them, also where nothing new is made.
    drop_leftovers();
    List *steps = NIL;
    pgstat_report_activity(STATE_RUNNING, "pg_gpu: looking for columns");
    in_transaction([&] { steps = has_extension() ? look_at_tables(settings) : NIL; });
    pgstat_report_activity(STATE_IDLE, nullptr);
    if (settings.mode != AutoColumns::On)
        return;
    ListCell *cell;
    foreach (cell, steps)
        carry_out(*static_cast<Decision *>(lfirst(cell)));
}

}  // namespace pg_gpu::accelerate

extern "C" PGDLLEXPORT void pg_gpu_columns_worker_main(Datum);

void pg_gpu_columns_worker_main(Datum database) {
    using namespace pg_gpu::accelerate;

    pqsignal(SIGTERM, die);
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    BackgroundWorkerUnblockSignals();
    BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database), InvalidOid, 0);
    set_own_options();
    watch_timer = RegisterTimeout(USER_TIMEOUT, give_way);
    MemoryContextSwitchTo(AllocSetContextCreate(TopMemoryContext, "pg_gpu columns", ALLOCSET_DEFAULT_SIZES));
    work();
    proc_exit(0);
}
