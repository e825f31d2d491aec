#include "table/verify.h"

#include <algorithm>

#include "progress.h"
#include "storage/storage.h"

namespace pg_gpu::table {

namespace {

// A problem that was found in a portion. It is reported when it is known that no merge and no VACUUM can have
// made it look like that.
struct Problem {
    Problem *next;
    BlockNumber block;
    bool has_tid;
    ItemPointerData tid;
    char *text;
};

struct Findings {
    MemoryContext context;
    Problem *first;
    Problem **end;
};

enum class Verdict { Valid, Damaged, Again };

struct Verification {
    Relation index;
    const storage::RunKind *kind;
    const VerifySteps *steps;
    storage::ProblemReporter report;
    void *context;
    Findings findings;
    TableCheck check;
    void *state;
    // Runs that need no other look.
    uint64 *done;
    int done_count;
    int done_room;
    bool readable;  // all of those runs could be read
};

}  // namespace

// ---- a portion: the tail or one run -----------------------------------------------------------------------

static void find(BlockNumber block, const ItemPointerData *tid, const char *text, void *context) {
    auto *findings = static_cast<Findings *>(context);
    MemoryContext caller = MemoryContextSwitchTo(findings->context);
    auto *problem = allocate_zeroed<Problem>(1);
    problem->block = block;
    problem->has_tid = tid != nullptr;
    if (tid != nullptr)
        problem->tid = *tid;
    problem->text = pstrdup(text);
    *findings->end = problem;
    findings->end = &problem->next;
    MemoryContextSwitchTo(caller);
}

static void begin_portion(Verification *verification) {
    MemoryContextReset(verification->findings.context);
    verification->findings.first = nullptr;
    verification->findings.end = &verification->findings.first;
}

static void report_findings(const Verification &verification) {
    for (const Problem *problem = verification.findings.first; problem != nullptr; problem = problem->next)
        verification.report(problem->block, problem->has_tid ? &problem->tid : nullptr, problem->text,
                            verification.context);
}

static bool is_listed(Relation index, const storage::RunKind *kind, uint64 run_id, uint64 *vacuum_seq) {
    Buffer buffer = storage::lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    *vacuum_seq = storage::meta_page(BufferGetPage(buffer))->vacuum_seq;
    int count;
    storage::RunEntry *runs = storage::copy_directory(index, kind, BufferGetPage(buffer), &count);
    UnlockReleaseBuffer(buffer);
    bool listed = false;
    for (int i = 0; i < count && !listed; i++)
        listed = runs[i].run_id == run_id;
    pfree(runs);
    return listed;
}

// Pages of a run that is listed still are the run's own. An entry's line pointer is there as long as no
// VACUUM has ended since the entry was read: its row may be gone, but VACUUM frees line pointers afterwards.
// So what was found is so only where neither has happened; and where nothing was found, all entries were
// read.
static Verdict judge_run(const Verification &verification, const storage::RunEntry &run, uint64 vacuum_seq) {
    uint64 now;
    if (!is_listed(verification.index, verification.kind, run.run_id, &now))
        return Verdict::Again;
    if (verification.findings.first == nullptr)
        return Verdict::Valid;
    return now == vacuum_seq ? Verdict::Damaged : Verdict::Again;
}

static Verdict verify_run(Verification *verification, const storage::RunEntry &run, uint64 vacuum_seq,
                          bool *readable) {
    begin_portion(verification);
    verification->check.heap_blocks = RelationGetNumberOfBlocks(verification->check.heap);
    *readable = storage::verify_run_pages(verification->index, run, find, &verification->findings);
    if (*readable)
        storage::report_damage_of(storage::run_block(run, 0), find, &verification->findings, [&] {
            verification->steps->verify_run(verification->state, run);
            check_noted_entries(&verification->check);
        });
    forget_noted_entries(&verification->check);
    return judge_run(*verification, run, vacuum_seq);
}

static Verdict verify_tail(Verification *verification, const storage::Items &tail, uint64 vacuum_seq) {
    begin_portion(verification);
    verification->check.heap_blocks = RelationGetNumberOfBlocks(verification->check.heap);
    storage::report_damage_of(storage::kTailBlock, find, &verification->findings, [&] {
        verification->steps->verify_tail(verification->state, tail);
        check_noted_entries(&verification->check);
    });
    forget_noted_entries(&verification->check);
    if (verification->findings.first == nullptr)
        return Verdict::Valid;
    uint64 now;
    is_listed(verification->index, verification->kind, 0, &now);
    return now == vacuum_seq ? Verdict::Damaged : Verdict::Again;
}

// ---- rounds -----------------------------------------------------------------------------------------------

static bool is_done(const Verification &verification, uint64 run_id) {
    return std::find(verification.done, verification.done + verification.done_count, run_id) !=
           verification.done + verification.done_count;
}

static void note_done(Verification *verification, uint64 run_id) {
    if (verification->done_count == verification->done_room) {
        verification->done_room *= 2;
        verification->done = reallocate(verification->done, verification->done_room);
    }
    verification->done[verification->done_count++] = run_id;
}

// Entries that the next round reads; the tail's, whose items may be longer, are about so many.
static uint64 entries_of_round(const Verification &verification, const storage::View &view,
                               const storage::Items &tail) {
    uint64 entries = tail.bytes / sizeof(storage::TailTuple);
    for (int i = 0; i < view.run_count; i++)
        if (!is_done(verification, view.runs[i].run_id))
            entries += view.runs[i].entries;
    return entries;
}

// Verifies the tail and those runs of one view that have not been verified. True when none of them changed
// meanwhile: then all entries of the view have been read, in this round or in an earlier one.
static bool verify_round(Verification *verification, const storage::View &view, const storage::Items &tail) {
    begin_phase("reading the index", entries_of_round(*verification, view, tail));
    MemoryContext run_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu.verify run", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(run_context);
    const Verdict of_tail = verify_tail(verification, tail, view.vacuum_seq);
    bool complete = of_tail != Verdict::Again;
    if (of_tail == Verdict::Damaged)
        report_findings(*verification);
    for (int i = 0; i < view.run_count; i++) {
        const storage::RunEntry &run = view.runs[i];
        if (is_done(*verification, run.run_id))
            continue;
        MemoryContextReset(run_context);
        bool readable;
        const Verdict verdict = verify_run(verification, run, view.vacuum_seq, &readable);
        complete = complete && verdict != Verdict::Again;
        if (verdict == Verdict::Again)
            continue;
        report_findings(*verification);
        verification->readable = verification->readable && readable;
        note_done(verification, run.run_id);
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(run_context);
    return complete;
}

void verify_index(Relation heap, Relation index, const storage::RunKind *kind, const VerifySteps &steps,
                  bool check_heap, storage::ProblemReporter report, void *context) {
    constexpr int kRoundsWithoutLocks = 8;
    constexpr int kMaxRounds = 100;
    Snapshot snapshot = RegisterSnapshot(GetActiveSnapshot());
    storage::View view = {};
    storage::Items tail = {allocate<char>(storage::kContentBytes), 0};
    storage::take_view(index, kind, snapshot, &view, storage::copy_tail, &tail);
    auto *verification = allocate_zeroed<Verification>(1);
    const uint64 entries = entries_of_round(*verification, view, tail);
    begin_progress("verify", RelationGetRelid(index), "reading the index", entries);
    verification->index = index;
    verification->kind = kind;
    verification->steps = &steps;
    verification->report = report;
    verification->context = context;
    verification->findings.context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu.verify findings", ALLOCSET_SMALL_SIZES);
    verification->done_room = 64;
    verification->done = allocate<uint64>(verification->done_room);
    verification->readable = true;
    begin_table_check(&verification->check, heap, index, check_heap, entries, view.vacuum_seq, find,
                      &verification->findings);
    verification->state = steps.begin(&verification->check);

    bool locked = false;
    for (int round = 1; !verify_round(verification, view, tail); round++) {
        if (round == kMaxRounds)
            ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
                            errmsg("could not verify index \"%s\"", RelationGetRelationName(index)),
                            errdetail("Its runs change faster than they are read."),
                            errhint("Try again when less is written.")));
        // A standby has no such locks to offer.
        if (round == kRoundsWithoutLocks && !RecoveryInProgress()) {
            storage::lock_runs_patiently(index, storage::RunLock::OldRuns, ShareLock);
            storage::lock_runs_patiently(index, storage::RunLock::RecentRuns, ShareLock);
            locked = true;
        }
        storage::take_view(index, kind, snapshot, &view, storage::copy_tail, &tail);
    }
    if (locked) {
        storage::unlock_runs(index, storage::RunLock::RecentRuns, ShareLock);
        storage::unlock_runs(index, storage::RunLock::OldRuns, ShareLock);
    }
    if (verification->readable) {
        verification->check.report = report;
        verification->check.context = context;
        finish_table_check(&verification->check, snapshot, steps.fingerprint_row, verification->state);
    }
    end_progress();
    UnregisterSnapshot(snapshot);
}

}  // namespace pg_gpu::table
