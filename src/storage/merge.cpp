// Merging runs: which ones, under which lock, and the swap of the run list.
#include "storage/merge.h"
#include "storage/free_space.h"
#include "storage/index_statistics.h"
#include "storage/last_damage.h"
#include "storage/merge_choice.h"
#include "storage/deferred_merges.h"

#include <algorithm>

#include "compat.h"
#include "progress.h"
#include "subtransaction.h"

namespace pg_gpu::storage {

// An insert merges by itself what takes some 20 ms, by RunKind::merge_weight, and where entries are long by
// pages.
static constexpr MergeLimits kForeground = {260000, 512};

// A VACUUM merges at most so much by itself; a background worker does the rest.
static constexpr MergeLimits kVacuum = {2000000, PG_UINT64_MAX};

// If entries vary in size, a merged run may be larger than the runs it is made of suggest, by this part.
static constexpr uint32 kSlackOfVarying = 16;

// At most so many runs are moved to the front of the file in one go.
static constexpr int kMoves = 16;

// Takes the inputs off the list and puts the output, if it holds anything, on it: one metapage record, after
// which the inputs' extents are free. Returns 0, or as replace_directory does how long the file must be
// first.
static BlockNumber try_swap(Relation index, const RunKind *kind, ReservationOwner owner,
                            const RunEntry *inputs, int input_count, const RunEntry &output) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_EXCLUSIVE);
    int count;
    RunEntry *runs = copy_directory(index, kind, BufferGetPage(buffer), &count);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const bool merged = std::any_of(inputs, inputs + input_count, [&](const RunEntry &input) {
            return input.run_id == runs[i].run_id;
        });
        if (!merged)
            runs[kept++] = runs[i];
    }
    if (kept + input_count != count) {
        UnlockReleaseBuffer(buffer);
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("runs of index \"%s\" changed during a merge that held their lock",
                               RelationGetRelationName(index))));
    }
    if (output.entries > 0)
        runs[kept++] = output;
    // Seals add to the end, where the smallest runs are: views begin with those that will be merged first.
    std::stable_sort(runs, runs + kept,
                     [](const RunEntry &a, const RunEntry &b) { return a.pages > b.pages; });
    const BlockNumber blocks = replace_directory(index, buffer, runs, kept, owner);
    UnlockReleaseBuffer(buffer);
    pfree(runs);
    return blocks;
}

static void swap(Relation index, const RunKind *kind, ReservationOwner owner, const RunEntry *inputs,
                 int input_count, const RunEntry &output) {
    BlockNumber blocks;
    Assert(output.entries == 0 || output.extent_count > 0);
    while ((blocks = try_swap(index, kind, owner, inputs, input_count, output)) > 0)
        extend_file(index, blocks);
}

// A merge, as far as its failure must be explained.
struct Attempt {
    const RunEntry *inputs;
    int count;  // 0: nothing had been chosen yet
    uint64 pages;
};

namespace {

struct Directory {
    RunEntry *runs;
    int count;
    uint64 horizon;
    uint64 max_together;  // ChoiceRule's
};

}  // namespace

static Directory read_directory(Relation index, const RunKind *kind) {
    Directory directory;
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    directory.runs = copy_directory(index, kind, BufferGetPage(buffer), &directory.count);
    const MetaPage *meta = meta_page(BufferGetPage(buffer));
    directory.horizon = meta->old_runs_horizon;
    // An index in which VACUUM has found dead entries will have more of them, and entries should not be
    // written again before they are found. Besides, a merge of most of the index would need as much room once
    // more.
    directory.max_together = meta->vacuum_seq > kFirstVacuumSeq
                                 ? half_of_living_pages(directory.runs, directory.count)
                                 : kNoLimits.pages;
    UnlockReleaseBuffer(buffer);
    return directory;
}

// Merges the given runs, whose lock the caller holds.
static uint64 merge_runs(Relation index, const RunKind *kind, ReservationOwner owner, const RunEntry *inputs,
                         int count, Attempt *attempt) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "pg_gpu merge", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);

    RunEntry output = {};
    output.run_id = new_run_id();
    uint64 entries = 0;
    for (int i = 0; i < count; i++) {
        entries += inputs[i].entries;
        output.order = Max(output.order, inputs[i].order);
    }
    begin_progress(MyBackendType == B_BG_WORKER ? "merge worker" : "merge", RelationGetRelid(index),
                   "reading runs", entries);
    const Directory directory = read_directory(index, kind);
    uint32 expected = merged_pages(density_of(directory.runs, directory.count), inputs, count) + 1;
    if (kind->tail_tuple_bytes == 0)
        expected += expected / kSlackOfVarying;
    *attempt = {inputs, count, expected};
    const uint32 most = kind->merge_page_bound(index, kind, inputs, count) + dead_bitmap_pages(entries);
    RunWriter *writer = begin_run(index, kind, {owner, Min(expected, most), most}, &output);
    kind->merge(index, inputs, count, writer, &output);
    finish_run(writer);
    output.level = level_of(kind, output.entries, fanout_of(index));
    swap(index, kind, owner, inputs, count, output);
    kind->merged(index, inputs, count);
    count_merge(RelationGetRelid(index));
    end_progress();

    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return output.entries;
}

// ---- a run of an insert's own -----------------------------------------------------------------------------

// Takes the next run's place in the order of runs.
static uint64 take_order(Relation index, const RunKind *kind) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_EXCLUSIVE);
    GenericXLogState *state = GenericXLogStart(index);
    const uint64 order = meta_page(GenericXLogRegisterBuffer(state, buffer, 0))->next_order++;
    GenericXLogFinish(state);
    UnlockReleaseBuffer(buffer);
    return order;
}

void add_run(Relation index, const RunKind *kind, uint32 pages,
             void (*write)(RunWriter *writer, RunEntry *entry, void *context), void *context) {
    MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "pg_gpu run", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(memory);
    // Held until the run is listed, so that no horizon is set between it and its order.
    lock_runs_patiently(index, RunLock::RecentRuns, ExclusiveLock);
    RunEntry run = {};
    run.run_id = new_run_id();
    run.order = take_order(index, kind);
    RunWriter *writer = begin_run(index, kind, {ReservationOwner::RecentRuns, pages, pages}, &run);
    write(writer, &run, context);
    finish_run(writer);
    run.level = level_of(kind, run.entries, fanout_of(index));
    swap(index, kind, ReservationOwner::RecentRuns, nullptr, 0, run);
    unlock_runs(index, RunLock::RecentRuns, ExclusiveLock);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(memory);
}

void insert_run(Relation index, const RunKind *kind, uint32 pages,
                void (*write)(RunWriter *writer, RunEntry *entry, void *context), void *context) {
    add_run(index, kind, pages + dead_bitmap_pages(1), write, context);
    merge_after_seal(index, kind);
}

// ---- what to merge ----------------------------------------------------------------------------------------

static int keep_recent(RunEntry *runs, int count, uint64 horizon) {
    return static_cast<int>(
        std::partition(runs, runs + count, [&](const RunEntry &run) { return run.order >= horizon; }) - runs);
}

// ---- runs without living entries --------------------------------------------------------------------------

namespace {

struct DeadRuns {
    uint64 horizon;
    RunEntry *dropped;
    int count;
    uint64 pages;
};

}  // namespace

static bool is_all_dead(const RunEntry &run, uint64 horizon) {
    return run.dead == run.entries && run.order < horizon;
}

uint64 drop_dead_runs(Relation index, const RunKind *kind, uint64 horizon, int *dropped) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_EXCLUSIVE);
    int count;
    RunEntry *runs = copy_directory(index, kind, BufferGetPage(buffer), &count);
    DeadRuns dead = {horizon, runs, 0, 0};
    if (std::any_of(runs, runs + count, [&](const RunEntry &run) { return is_all_dead(run, horizon); }))
        edit_directory(
            index, buffer,
            [](RunEntry *run, void *context) {
                auto *sought = static_cast<DeadRuns *>(context);
                if (!is_all_dead(*run, sought->horizon))
                    return true;
                sought->dropped[sought->count++] = *run;
                sought->pages += run->pages;
                return false;
            },
            &dead, false);
    UnlockReleaseBuffer(buffer);
    if (dead.count > 0)
        kind->merged(index, dead.dropped, dead.count);
    if (dropped != nullptr)
        *dropped = dead.count;
    pfree(runs);
    return dead.pages;
}

// ---- errors that must not reach an INSERT or a VACUUM -----------------------------------------------------

// The failures of merges that run by themselves, and not by a user's command, by their causes.
enum class Failure { None, GaveWay, Lack, Damage };

// Classifies an error. A lack of disk, memory or block numbers, giving way and damage reach neither an INSERT
// nor a VACUUM (rule "Merges that fail"). None says that the error is raised.
static Failure failure_of(int sqlerrcode) {
    if (sqlerrcode == ERRCODE_INDEX_CORRUPTED || sqlerrcode == ERRCODE_DATA_CORRUPTED)
        return Failure::Damage;
    if (sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
        return Failure::GaveWay;
    if (ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_INSUFFICIENT_RESOURCES ||
        ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_PROGRAM_LIMIT_EXCEEDED || sqlerrcode == ERRCODE_IO_ERROR)
        return Failure::Lack;
    return Failure::None;
}

// The locks of a merge that failed are gone. Where nobody has taken them since, so is the need for what it
// had reserved.
static void clean_up_after_merge(Relation index, const RunKind *kind) {
    if (!lock_runs(index, RunLock::RecentRuns, ExclusiveLock, true))
        return;
    const bool may_touch_old = lock_runs(index, RunLock::OldRuns, ExclusiveLock, true);
    forget_reservations(index, kind, may_touch_old);
    if (may_touch_old)
        unlock_runs(index, RunLock::OldRuns, ExclusiveLock);
    unlock_runs(index, RunLock::RecentRuns, ExclusiveLock);
}

// Giving way to others is no lack, and happens all the time.
static void note_deferred(Relation index, const ErrorData &error, Failure failure) {
    const char *name = RelationGetRelationName(index);
    if (failure == Failure::GaveWay) {
        ereport(DEBUG1, (errmsg_internal("merge of index \"%s\" deferred: %s", name, error.message)));
        return;
    }
    count_deferred_merge(index, error.message);
    if (failure == Failure::Damage)
        ereport(LOG, (errcode(error.sqlerrcode), errmsg("merge of index \"%s\" was deferred", name),
                      errdetail("The reason is: %s. What is damaged is left out of merges.", error.message),
                      errhint("Rebuild the index with REINDEX INDEX.")));
    else
        ereport(LOG, (errcode(error.sqlerrcode), errmsg("merge of index \"%s\" was deferred", name),
                      errdetail("The reason is: %s.", error.message),
                      errhint("The next insert that fills a page, or the next VACUUM, tries again.")));
}

// Counts each merge for which no worker is to be had, and logs one now and then.
static void note_no_worker(Relation index) {
    constexpr int kLogIntervalMs = 60000;
    static TimestampTz last_logged = 0;
    count_deferred_merge(index, "no background worker can be had");
    const TimestampTz now = GetCurrentTimestamp();
    if (!TimestampDifferenceExceeds(last_logged, now, kLogIntervalMs))
        return;
    last_logged = now;
    ereport(LOG, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                  errmsg("merge of index \"%s\" was deferred", RelationGetRelationName(index)),
                  errdetail("The reason is: no background worker can be had."),
                  errhint("Raise max_worker_processes. VACUUM merges a part by itself, and gpu.merge all.")));
}

// Returns the input whose damage made the merge fail, by the block that the error names, or by what was read
// last; 0 where neither tells.
static uint64 damaged_input(const Attempt &attempt) {
    for (int i = 0; i < attempt.count; i++)
        for (const Extent &extent : attempt.inputs[i].extents)
            if (last_damage.block >= extent.start && last_damage.block - extent.start < extent.count)
                return attempt.inputs[i].run_id;
    for (int i = 0; i < attempt.count; i++)
        if (attempt.inputs[i].run_id == last_damage.run_read)
            return last_damage.run_read;
    return 0;
}

// Changes only the level, which means nothing to readers. The run keeps its id and its place in the list, by
// which others may look for it.
static void set_aside(Relation index, const RunKind *kind, uint64 run_id) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_EXCLUSIVE);
    edit_directory(
        index, buffer,
        [](RunEntry *run, void *context) {
            if (run->run_id == *static_cast<uint64 *>(context))
                run->level = kSetAsideLevel;
            return true;
        },
        &run_id, false);
    UnlockReleaseBuffer(buffer);
}

enum class OnFailure { Deferred, Raise };

using MergeWork = void (*)(Relation, const RunKind *, Attempt *, void *);

// Runs `work` in a subtransaction, so that after an error what it had reserved can be given back. With
// Deferred a lack of resources and damage end here: the runs stay as they are, and what is damaged is set
// aside. Everything else is raised.
static Failure try_merge(MergeWork work, Relation index, const RunKind *kind, void *argument,
                         Attempt *attempt, OnFailure on_failure) {
    // The context isn't the subtransaction's own: that stays, once used, until the end of the transaction,
    // and a COPY comes by here thousands of times.
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "pg_gpu merging", ALLOCSET_DEFAULT_SIZES);
    *attempt = {};
    last_damage = {0, InvalidBlockNumber};
    Failure failure = Failure::None;
    ErrorData *error = try_in_subtransaction(context, [&] { work(index, kind, attempt, argument); });
    if (error != nullptr) {
        failure = failure_of(error->sqlerrcode);
        const bool is_raised = failure == Failure::None || on_failure == OnFailure::Raise;
        const uint64 damaged = failure == Failure::Damage ? damaged_input(*attempt) : 0;
        // The metapage may be what is damaged.
        ErrorData *another = try_in_subtransaction(context, [&] {
            clean_up_after_merge(index, kind);
            if (damaged != 0 && !is_raised)
                set_aside(index, kind, damaged);
        });
        if (is_raised)
            ReThrowError(error);
        if (another != nullptr || damaged == 0)
            attempt->count = 0;
        note_deferred(index, *error, failure);
    }
    MemoryContextDelete(context);
    return failure;
}

// ---- entry points -----------------------------------------------------------------------------------------

namespace {

struct SealMerges {
    bool is_stream;
    bool needs_worker;
};

}  // namespace

static void merge_tiers(Relation index, const RunKind *kind, Attempt *attempt, void *argument) {
    auto *merges = static_cast<SealMerges *>(argument);
    if (!lock_runs(index, RunLock::RecentRuns, ExclusiveLock, true))
        return;
    const MergeLimits limits = RELATION_IS_LOCAL(index) ? kNoLimits : kForeground;
    ChoiceRule rule = {kind, fanout_of(index), merges->is_stream, limits, limits, false, 0, 0};
    for (bool goes_on = true; goes_on;) {
        const bool may_touch_old = lock_runs(index, RunLock::OldRuns, ExclusiveLock, true);
        forget_reservations(index, kind, may_touch_old);
        if (may_touch_old)
            drop_dead_runs(index, kind, PG_UINT64_MAX, nullptr);
        const Directory directory = read_directory(index, kind);
        RunEntry *runs = directory.runs;
        rule.max_together = directory.max_together;
        // Runs below the horizon belong to the holder of the old-runs lock. Without it they are left out.
        int eligible =
            may_touch_old ? directory.count : keep_recent(runs, directory.count, directory.horizon);
        eligible = leave_out_set_aside(runs, eligible);
        bool beyond = false;
        const Choice choice = choose_tier(runs, eligible, rule, &beyond);
        rule.left.weight -= choice.weight;
        rule.left.pages -= choice.pages;
        goes_on = choice.count > 0;
        // Either reservation would do where both locks are ours; the recent one is ours in any case.
        if (goes_on)
            merge_runs(index, kind, ReservationOwner::RecentRuns, choice.runs, choice.count, attempt);
        pfree(runs);
        if (may_touch_old)
            unlock_runs(index, RunLock::OldRuns, ExclusiveLock);
        merges->needs_worker = merges->needs_worker || (beyond && may_touch_old);
    }
    unlock_runs(index, RunLock::RecentRuns, ExclusiveLock);
}

void merge_after_seal(Relation index, const RunKind *kind, bool is_stream) {
    // Subtransactions can't be started in parallel mode, and without one a full disk would fail the INSERT.
    if (IsInParallelMode())
        return;
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    const MetaPage *meta = meta_page(BufferGetPage(buffer));
    const int fanout = fanout_of(index);
    int level_counts[kMaxLevels + 1] = {};
    bool due = meta->chained_runs > 0;
    for (uint32 i = 0; i < meta->inline_runs && !due; i++) {
        const RunEntry &run = meta->runs[i];
        due =
            run.dead == run.entries ||
            (run.level <= kMaxLevels && ++level_counts[run.level] >= tier_size(run.level, fanout, is_stream));
    }
    UnlockReleaseBuffer(buffer);
    if (!due)
        return;
    SealMerges merges = {is_stream, false};
    Attempt attempt;
    try_merge(merge_tiers, index, kind, &merges, &attempt, OnFailure::Deferred);
    if (merges.needs_worker && !request_merge_worker(index))
        note_no_worker(index);
}

// The next merge that is due among `count` runs, which nobody else may change.
static Choice choose_due(Relation index, RunEntry *runs, int count, const ChoiceRule &rule, bool moves,
                         bool *beyond) {
    count = leave_out_set_aside(runs, count);
    Choice choice = choose_tier(runs, count, rule, beyond);
    if (choice.count == 0)
        choice = choose_wasteful(runs, count, rule, beyond);
    if (choice.count > 0 || !moves)
        return choice;
    Buffer buffer = lock_metapage(index, rule.kind, BUFFER_LOCK_SHARE);
    int used_count;
    Extent *used = used_extents(index, BufferGetPage(buffer), &used_count);
    UnlockReleaseBuffer(buffer);
    choice = choose_last(runs, count, rule, used, used_count, beyond);
    pfree(used);
    return choice;
}

// Makes one merge of old runs. The locks are given back between merges, so that a VACUUM gets in.
static void merge_next_old(Relation index, const RunKind *kind, Attempt *attempt, void *argument) {
    auto *merges = static_cast<OldMerges *>(argument);
    uint64 horizon;
    merges->step = MergeStep::Busy;
    if (!claim_old_runs(index, kind, Timeout::None, &horizon))
        return;
    drop_dead_runs(index, kind, horizon, nullptr);
    const Directory directory = read_directory(index, kind);
    const int count = directory.count;
    RunEntry *runs = directory.runs;
    const int recent = keep_recent(runs, count, horizon);
    const ChoiceRule rule = {kind,
                             fanout_of(index),
                             false,
                             merges->once,
                             merges->left,
                             merges->takes_pairs,
                             merges->halvings,
                             directory.max_together};
    bool beyond = false;
    const Choice choice =
        choose_due(index, runs + recent, count - recent, rule, merges->moves_left > 0, &beyond);
    if (choice.count == 1)
        merges->moves_left--;
    merges->left.weight -= choice.weight;
    if (choice.count > 0)
        merge_runs(index, kind, ReservationOwner::OldRuns, choice.runs, choice.count, attempt);
    merges->step = choice.count > 0 ? MergeStep::Merged : beyond ? MergeStep::Beyond : MergeStep::NothingDue;
    pfree(runs);
    unlock_runs(index, RunLock::OldRuns, ExclusiveLock);
}

OldMerges begin_old_merges(const MergeLimits &limits) {
    return {limits, limits, false, kMoves, 0, MergeStep::NothingDue};
}

MergeStep merge_next(Relation index, const RunKind *kind, OldMerges *merges) {
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        Attempt attempt;
        const Failure failure = try_merge(merge_next_old, index, kind, merges, &attempt, OnFailure::Deferred);
        if (failure == Failure::None)
            return merges->step;
        // Others are tried: after damage those without what is damaged, for want of room smaller ones.
        if (failure == Failure::GaveWay || attempt.count == 0)
            return MergeStep::Deferred;
        if (failure == Failure::Lack)
            merges->left.pages = attempt.pages / 2;
    }
}

void request_work_if_due(Relation index, const RunKind *kind) {
    const Directory directory = read_directory(index, kind);
    const ChoiceRule rule = {kind, fanout_of(index),      false, kNoLimits, kNoLimits, false,
                             0,    directory.max_together};
    bool beyond = false;
    const bool due = choose_due(index, directory.runs, directory.count, rule, true, &beyond).count > 0 ||
                     has_free_end(index, kind);
    if (due && !request_merge_worker(index))
        note_no_worker(index);
    pfree(directory.runs);
}

// Half of what a merge of all entries would take, but for those that a VACUUM merges anyway: where there is
// no worker the next one goes on, and in the end no tier is full.
static MergeLimits limits_without_worker(Relation index, const RunKind *kind) {
    const Summary summary = summarise(index, kind);
    return {Max(kVacuum.weight, summary.entries * kind->merge_weight / 2), PG_UINT64_MAX};
}

void merge_in_vacuum(Relation index, const RunKind *kind) {
    Assert(!IsInParallelMode());
    OldMerges merges = begin_old_merges(RELATION_IS_LOCAL(index) ? kNoLimits : kVacuum);
    MergeStep step;
    while ((step = merge_next(index, kind, &merges)) == MergeStep::Merged)
        ;
    if (step != MergeStep::Beyond || request_merge_worker(index))
        return;
    merges = begin_old_merges(limits_without_worker(index, kind));
    merges.takes_pairs = true;
    while ((step = merge_next(index, kind, &merges)) == MergeStep::Merged)
        ;
    if (step == MergeStep::Beyond)
        note_no_worker(index);
}

static void merge_old(Relation index, const RunKind *kind, Attempt *attempt, void *argument) {
    auto *outcome = static_cast<MergeOutcome *>(argument);
    uint64 horizon;
    claim_old_runs(index, kind, Timeout::LockTimeout, &horizon);
    int dropped;
    outcome->bytes = drop_dead_runs(index, kind, horizon, &dropped) * BLCKSZ;
    const Directory directory = read_directory(index, kind);
    RunEntry *runs = directory.runs;
    const int recent = keep_recent(runs, directory.count, horizon);
    RunEntry *old_runs = runs + recent;
    const int inputs = directory.count - recent;
    outcome->inputs = dropped;
    if (inputs > 1 || (inputs == 1 && old_runs[0].dead > 0)) {
        outcome->inputs += inputs;
        for (int i = 0; i < inputs; i++)
            outcome->bytes += static_cast<uint64>(old_runs[i].pages) * BLCKSZ;
        outcome->entries = merge_runs(index, kind, ReservationOwner::OldRuns, old_runs, inputs, attempt);
    }
    pfree(runs);
    unlock_runs(index, RunLock::OldRuns, ExclusiveLock);
}

MergeOutcome merge_all(Relation index, const RunKind *kind) {
    MergeOutcome outcome = {};
    Attempt attempt;
    try_merge(merge_old, index, kind, &outcome, &attempt, OnFailure::Raise);
    return outcome;
}

}  // namespace pg_gpu::storage
