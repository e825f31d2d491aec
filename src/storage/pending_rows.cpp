// Pending rows: which there are, in which statements rows may wait, and when they are written or forgotten.
#include "storage/pending_rows.h"

#include "compat.h"
#include "settings.h"
#include "storage/merge.h"

namespace pg_gpu::storage {

static PendingRows *first_pending = nullptr;
static uint64 epoch = 0;
static size_t total_bytes = 0;
// The nest level of the rows that are being written; 0: none are. After an error it stays until they are
// taken back, and the error with it.
static int writing_level = 0;
static ErrorData *writing_error = nullptr;

namespace {

// The plan or utility statement that is executed.
struct WatchedStatement {
    int nest_level;         // 0: it is no plan whose rows stay for as long as their transaction does
    MemoryContext context;  // in which such a plan has its indexes' IndexInfos
    const ErrorContextCallback *around;  // the top of the stack of error contexts when it began
};

enum class Merging { Now, Later };

}  // namespace

static WatchedStatement watched = {};

static ExecutorRun_hook_type previous_run = nullptr;
static ProcessUtility_hook_type previous_utility = nullptr;

// COPY is told by what it puts on top of the stack of errors' contexts for as long as it inserts by itself; a
// function or trigger that it calls has its own there. So it is also known where no hook was called, because
// it is what loaded the library, or the first copy of a subscription.
static bool is_copy_inserting() {
    return error_context_stack != nullptr && error_context_stack != watched.around &&
           error_context_stack->callback == CopyFromErrorCallback;
}

bool may_defer_rows(const IndexInfo *index_info) {
    const bool is_watched =
        watched.nest_level == GetCurrentTransactionNestLevel() && watched.context == index_info->ii_Context;
    return (is_watched || is_copy_inserting()) && !IsInParallelMode() && insert_memory() > 0;
}

uint64 pending_epoch() {
    return epoch;
}

PendingRows *begin_pending(Relation index, const RunKind *kind, size_t size,
                           void (*write)(Relation index, PendingRows *rows)) {
    // The statement's memory wouldn't do: that of COPY is gone before we are called.
    MemoryContext context =
        AllocSetContextCreate(TopTransactionContext, "pg_gpu waiting rows", ALLOCSET_DEFAULT_SIZES);
    auto *rows = static_cast<PendingRows *>(MemoryContextAllocZero(context, size));
    rows->index = RelationGetRelid(index);
    rows->kind = kind;
    rows->nest_level = GetCurrentTransactionNestLevel();
    rows->context = context;
    rows->write = write;
    rows->next = first_pending;
    first_pending = rows;
    return rows;
}

static void forget(PendingRows *rows) {
    PendingRows **link = &first_pending;
    while (*link != rows)
        link = &(*link)->next;
    *link = rows->next;
    total_bytes -= rows->bytes;
    epoch++;
    MemoryContextDelete(rows->context);
}

// Their rows are gone, and their TIDs may soon be others': an entry that is written now would lead to those.
static void forget_from_level(int nest_level) {
    for (PendingRows *rows = first_pending; rows != nullptr;) {
        PendingRows *next = rows->next;
        if (rows->nest_level >= nest_level)
            forget(rows);
        rows = next;
    }
    if (writing_level >= nest_level) {
        writing_level = 0;
        if (writing_error != nullptr)
            FreeErrorData(writing_error);
        writing_error = nullptr;
    }
    // The statements in which it was taken back have left without a word. Rows of one around them, which
    // isn't known any more, wait no longer.
    if (watched.nest_level == 0 || watched.nest_level >= nest_level)
        watched = {};
}

// The rows of a subtransaction that ends well are those of the one around it.
static void hand_on_from_level(int nest_level) {
    for (PendingRows *rows = first_pending; rows != nullptr; rows = rows->next)
        rows->nest_level = Min(rows->nest_level, nest_level - 1);
    writing_level = Min(writing_level, nest_level - 1);
}

namespace {

struct Unmerged {
    Oid index;
    const RunKind *kind;
};

}  // namespace

// Indexes that got runs where none could be merged: that is done where more rows are collected, or at the end
// of the statement. They are in the transaction's memory.
static Unmerged *unmerged = nullptr;
static int unmerged_count = 0;
static int unmerged_room = 0;

static void note_unmerged(Oid index, const RunKind *kind) {
    for (int i = 0; i < unmerged_count; i++)
        if (unmerged[i].index == index)
            return;
    if (unmerged_count == unmerged_room) {
        constexpr int kFirstRoom = 16;
        const int room = Max(2 * unmerged_room, kFirstRoom);
        const Size bytes = sizeof(Unmerged) * static_cast<Size>(room);
        unmerged =
            static_cast<Unmerged *>(unmerged == nullptr ? MemoryContextAlloc(TopTransactionContext, bytes)
                                                        : repalloc(unmerged, bytes));
        unmerged_room = room;
    }
    unmerged[unmerged_count++] = {index, kind};
}

static void forget_unmerged() {
    unmerged = nullptr;
    unmerged_count = unmerged_room = 0;
}

static void merge_unmerged() {
    while (unmerged_count > 0) {
        const Unmerged last = unmerged[--unmerged_count];
        // Whoever wrote the rows may have dropped the index since.
        Relation index = try_relation_open(last.index, RowExclusiveLock);
        if (index == nullptr)
            continue;
        merge_after_seal(index, last.kind);
        relation_close(index, RowExclusiveLock);
    }
}

static void write(Relation index, PendingRows *rows) {
    const RunKind *kind = rows->kind;
    rows->write(index, rows);
    forget(rows);
    // PostgreSQL looks for conflicts when a row is inserted. Who has read the index since, and didn't find
    // the entry, had locked it first.
    CheckForSerializableConflictIn(index, nullptr, InvalidBlockNumber);
    note_unmerged(RelationGetRelid(index), kind);
}

// Rows of a statement may be written within a subtransaction that it has called, where the error may be
// caught though the rows stay: then it is raised again where others are to be written, until they are taken
// back.
static pg_noinline void write_or_remember_error(Relation index, PendingRows *rows) {
    writing_level = rows->nest_level;
    PG_TRY();
    { write(index, rows); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(TopTransactionContext);
        writing_error = CopyErrorData();
        PG_RE_THROW();
    }
    PG_END_TRY();
    writing_level = 0;
}

static bool is_anything_to_write() {
    return first_pending != nullptr || writing_level != 0;
}

static void write_all(Merging merging) {
    // Writing reads nothing and calls nobody, so this is what an error has left behind which was caught.
    if (writing_error != nullptr)
        ReThrowError(writing_error);
    if (writing_level != 0)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("an error in writing entries of inserted rows was ignored")));
    while (first_pending != nullptr) {
        // The statement may have closed it.
        Relation index = index_open(first_pending->index, RowExclusiveLock);
        write_or_remember_error(index, first_pending);
        index_close(index, RowExclusiveLock);
    }
    if (merging == Merging::Now)
        merge_unmerged();
}

void write_pending_rows() {
    if (unlikely(is_anything_to_write()))
        write_all(Merging::Later);
}

void note_pending_bytes(PendingRows *rows, size_t bytes) {
    total_bytes += bytes - rows->bytes;
    rows->bytes = bytes;
    if (total_bytes > insert_memory() || unlikely(unmerged_count > 0 || writing_level != 0))
        write_all(Merging::Now);
}

// ---- statements -------------------------------------------------------------------------------------------

// A row of ON CONFLICT that has met a conflict is dead at once, whatever becomes of its transaction: VACUUM
// may free its TID while the transaction goes on.
static bool inserts_for_good(const Plan *plan) {
    return plan == nullptr || !IsA(plan, ModifyTable) ||
           reinterpret_cast<const ModifyTable *>(plan)->onConflictAction == ONCONFLICT_NONE;
}

static bool is_watchable(const PlannedStmt *statement) {
    bool watchable = inserts_for_good(statement->planTree);
    ListCell *cell;
    foreach (cell, statement->subplans)
        watchable = watchable && inserts_for_good(static_cast<const Plan *>(lfirst(cell)));
    return watchable;
}

// Writes what has waited until a statement's end, before anything else can happen.
static void end_watch(const WatchedStatement &outer, bool is_plan, Instrumentation *total) {
    // A utility statement may have ended the transaction. Then nothing waits, and nothing may be merged.
    if (unlikely(is_anything_to_write() || (is_plan && unmerged_count > 0))) {
        // It is part of what the statement takes.
        if (total != nullptr)
            InstrStartNode(total);
        write_all(Merging::Now);
        if (total != nullptr)
            InstrStopNode(total, 0);
    }
    watched = outer;
}

static void run_executor(PG_GPU_EXECUTOR_RUN_PARAMETERS) {
    // Parallel workers know nothing of what waits here, so that it is written before they start.
    write_pending_rows();
    const WatchedStatement outer = watched;
    const bool writes = query->operation != CMD_SELECT || query->plannedstmt->hasModifyingCTE;
    if (writes)
        watched = is_watchable(query->plannedstmt)
                      ? WatchedStatement{GetCurrentTransactionNestLevel(), query->estate->es_query_cxt,
                                         error_context_stack}
                      : WatchedStatement{0, nullptr, error_context_stack};
    if (previous_run != nullptr)
        previous_run(PG_GPU_EXECUTOR_RUN_ARGUMENTS);
    else
        standard_ExecutorRun(PG_GPU_EXECUTOR_RUN_ARGUMENTS);
    if (writes)
        end_watch(outer, true, query->totaltime);
}

static void process_utility(PlannedStmt *statement, const char *text, bool read_only_tree,
                            ProcessUtilityContext context, ParamListInfo parameters,
                            QueryEnvironment *environment, DestReceiver *receiver,
                            QueryCompletion *completion) {
    write_pending_rows();
    const WatchedStatement outer = watched;
    watched = {0, nullptr, error_context_stack};
    if (previous_utility != nullptr)
        previous_utility(statement, text, read_only_tree, context, parameters, environment, receiver,
                         completion);
    else
        standard_ProcessUtility(statement, text, read_only_tree, context, parameters, environment, receiver,
                                completion);
    end_watch(outer, false, nullptr);
}

// ---- transactions -----------------------------------------------------------------------------------------

// Statements have written what waited at their ends. This is for those that would have ended otherwise.
static void end_of_transaction(XactEvent event, void *) {
    if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
        write_pending_rows();
    else if (event == XACT_EVENT_ABORT)
        forget_from_level(0);
    if (event == XACT_EVENT_ABORT || event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
        forget_unmerged();
}

// Nothing here may raise an error: where a subtransaction that is about to begin raises one, and one around
// it catches it, the session ends.
static void end_of_subtransaction(SubXactEvent event, SubTransactionId, SubTransactionId, void *) {
    if (event == SUBXACT_EVENT_COMMIT_SUB)
        hand_on_from_level(GetCurrentTransactionNestLevel());
    else if (event == SUBXACT_EVENT_ABORT_SUB)
        forget_from_level(GetCurrentTransactionNestLevel());
}

void register_pending_rows() {
    previous_run = ExecutorRun_hook;
    ExecutorRun_hook = run_executor;
    previous_utility = ProcessUtility_hook;
    ProcessUtility_hook = process_utility;
    RegisterXactCallback(end_of_transaction, nullptr);
    RegisterSubXactCallback(end_of_subtransaction, nullptr);
}

}  // namespace pg_gpu::storage
