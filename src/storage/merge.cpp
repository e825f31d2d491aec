// Merging runs: which ones, under which lock, and the swap of the run list.
#include "storage/merge.h"
#include "storage/index_statistics.h"
#include "storage/put_off.h"

#include <algorithm>

#include "compat.h"
#include "progress.h"
#include "subtransaction.h"

namespace pg_gpu::storage {

// An insert merges by itself what takes some 20 ms, by RunKind::merge_weight, and where entries are long by
// pages.
static constexpr uint64 kForegroundWeight = 260000;
static constexpr uint64 kForegroundPages = 512;

// Reservations of at least this many pages at the end of the file leave room in front.
static constexpr uint32 kSlackFrom = 64;

static constexpr uint16 kMaxLevels = 40;

// Runs of the lowest levels merge in fours: every reader visits each run, while to merge them, in shared
// buffers still, costs the writer little.
static constexpr uint16 kSmallLevels = 5;
static constexpr int kSmallFanout = 4;

// Tails that one statement fills, one after the other, merge sixteen at a time: the next sixteen come within
// milliseconds, and two merges of each entry become one. The next seal that isn't part of such a stream, and
// VACUUM, merge what it leaves in fours.
static constexpr int kStreamFanout = 16;

// A run with more dead entries than this share is rewritten when VACUUM or a worker comes by.
static constexpr double kDeadShare = 0.25;

// Runs of this level that make one of the next.
static int tier_size(uint16 level, int fanout, bool is_stream = false) {
    if (level == 0 && is_stream)
        return Min(2 * fanout, kStreamFanout);
    return level < kSmallLevels ? Min(fanout, kSmallFanout) : fanout;
}

// What an entry counts for in the size of a level: entries of varying size are documents, with dozens of
// postings each.
static uint64 entry_weight(const RunKind *kind) {
    return kind->tail_item_bytes == 0 ? 64 : 1;
}

uint16 level_of(const RunKind *kind, uint64 entries, int fanout) {
    // Level 0 holds what one tail holds, each next one what a tier of runs of the level below does.
    double limit =
        static_cast<double>(kind->tail_capacity) / static_cast<double>(sizeof(TailItem) * entry_weight(kind));
    uint16 level = 0;
    while (static_cast<double>(entries) > limit && level < kMaxLevels) {
        limit *= tier_size(level, fanout);
        level++;
    }
    return level;
}

// Reserves extents for `pages` pages in the metapage, durably: a crash in the middle of the merge leaves a
// reservation that the next holder of the same lock overwrites.
static void reserve(Relation index, const RunKind *kind, ReservationOwner owner, uint32 pages,
                    RunEntry *entry) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_EXCLUSIVE);
    GenericXLogState *state = GenericXLogStart(index);
    Page image = GenericXLogRegisterBuffer(state, buffer, 0);
    Extent *reservation = meta_page(image)->reservations[static_cast<int>(owner)];
    memset(reservation, 0, sizeof(Extent) * kExtentsPerRun);
    int used_count;
    Extent *used = used_extents(index, image, &used_count);
    check_extents_in_file(index, kind, image);
    entry->extent_count =
        static_cast<uint16>(place_pages(index, used, used_count, pages, kExtentsPerRun, entry->extents));
    // At the end of the file, leave seals some room in front: behind a reservation that is not written yet, a
    // seal would have to extend the file over all of it while it holds metapage and tail.
    const Extent last = used[used_count - 1];  // place_pages has sorted them
    if (pages >= kSlackFrom && entry->extents[0].start == last.start + last.count)
        entry->extents[0].start +=
            Min(Min(pages / 4, kMaxReservationSlack), kMaxBlocks - (entry->extents[0].start + pages));
    memcpy(reservation, entry->extents, sizeof(Extent) * entry->extent_count);
    GenericXLogFinish(state);
    UnlockReleaseBuffer(buffer);
    pfree(used);
}

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
    // The smallest last, where seals add to them: views begin with those that will be merged first.
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
    while ((blocks = try_swap(index, kind, owner, inputs, input_count, output)) > 0)
        extend_file(index, blocks);
}

// Merges the given runs, whose lock the caller holds.
static uint64 merge_runs(Relation index, const RunKind *kind, ReservationOwner owner, const RunEntry *inputs,
                         int count) {
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
    const uint32 pages = kind->merge_page_bound(index, kind, inputs, count) + dead_bitmap_pages(entries);
    reserve(index, kind, owner, pages, &output);
    RunWriter *writer = begin_run(index, &output, false);
    kind->merge(index, inputs, count, writer, &output);
    finish_run(writer);
    output.level = level_of(kind, output.entries, fanout_of(index));
    swap(index, kind, owner, inputs, count, output);
    kind->merged(index, inputs, count, output);
    count_merge(RelationGetRelid(index));
    end_progress();

    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return output.entries;
}

// ---- a run of an insert's own -----------------------------------------------------------------------------

// The next run's place in the order of runs.
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
    lock_runs_patiently(index, RunLock::YoungRuns, ExclusiveLock);
    RunEntry run = {};
    run.run_id = new_run_id();
    run.order = take_order(index, kind);
    reserve(index, kind, ReservationOwner::YoungRuns, pages, &run);
    RunWriter *writer = begin_run(index, &run, false);
    write(writer, &run, context);
    finish_run(writer);
    run.level = level_of(kind, run.entries, fanout_of(index));
    swap(index, kind, ReservationOwner::YoungRuns, nullptr, 0, run);
    unlock_runs(index, RunLock::YoungRuns, ExclusiveLock);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(memory);
}

void insert_run(Relation index, const RunKind *kind, uint32 pages,
                void (*write)(RunWriter *writer, RunEntry *entry, void *context), void *context) {
    add_run(index, kind, pages + dead_bitmap_pages(1), write, context);
    merge_after_seal(index, kind);
}

// ---- what to merge ----------------------------------------------------------------------------------------

struct Choice {
    RunEntry *runs;
    int count;
    uint64 entries;
    uint64 pages;
};

static RunEntry *read_directory(Relation index, const RunKind *kind, int *count, uint64 *horizon) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    RunEntry *runs = copy_directory(index, kind, BufferGetPage(buffer), count);
    *horizon = meta_page(BufferGetPage(buffer))->old_runs_horizon;
    UnlockReleaseBuffer(buffer);
    return runs;
}

static Choice gather(RunEntry *runs, int count, bool (*wanted)(const RunEntry &, uint64), uint64 parameter) {
    Choice choice = {runs, 0, 0, 0};
    for (int i = 0; i < count; i++) {
        if (wanted(runs[i], parameter)) {
            std::swap(runs[choice.count], runs[i]);
            choice.entries += runs[choice.count].entries;
            choice.pages += runs[choice.count].pages;
            choice.count++;
        }
    }
    return choice;
}

// The lowest level with a full tier, among the runs that may be touched.
static Choice choose_tier(RunEntry *runs, int count, int fanout, bool is_stream = false) {
    for (uint16 level = 0; level <= kMaxLevels; level++) {
        const auto members =
            std::count_if(runs, runs + count, [&](const RunEntry &run) { return run.level == level; });
        if (members >= tier_size(level, fanout, is_stream))
            return gather(
                runs, count, [](const RunEntry &run, uint64 wanted) { return run.level == wanted; }, level);
    }
    return {nullptr, 0, 0, 0};
}

// The smallest runs of a tier that are no more than so much to merge: where a tier could not be merged for
// long, it is more than an insert may merge, and would grow for ever if no worker came.
static Choice part_of_tier(const Choice &tier, const RunKind *kind, uint64 weight, uint64 pages) {
    std::sort(tier.runs, tier.runs + tier.count,
              [](const RunEntry &a, const RunEntry &b) { return a.entries < b.entries; });
    Choice part = {tier.runs, 0, 0, 0};
    for (; part.count < tier.count; part.count++) {
        const RunEntry &next = tier.runs[part.count];
        if ((part.entries + next.entries) * kind->merge_weight > weight || part.pages + next.pages > pages)
            break;
        part.entries += next.entries;
        part.pages += next.pages;
    }
    return part;
}

// The smallest run in which dead entries have piled up.
static Choice choose_dead(RunEntry *runs, int count) {
    RunEntry *smallest = nullptr;
    for (int i = 0; i < count; i++)
        if (static_cast<double>(runs[i].dead) > kDeadShare * static_cast<double>(runs[i].entries) &&
            (smallest == nullptr || runs[i].entries < smallest->entries))
            smallest = &runs[i];
    if (smallest == nullptr)
        return {nullptr, 0, 0, 0};
    return {smallest, 1, smallest->entries, smallest->pages};
}

static int keep_young(RunEntry *runs, int count, uint64 horizon) {
    return static_cast<int>(
        std::partition(runs, runs + count, [&](const RunEntry &run) { return run.order >= horizon; }) - runs);
}

// ---- errors that must not reach an INSERT or a VACUUM -----------------------------------------------------

// What must reach neither an INSERT nor a VACUUM (rule "Lack of space"): a lack of disk, memory or block
// numbers, and giving way.
static bool may_be_put_off(int sqlerrcode) {
    return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_INSUFFICIENT_RESOURCES ||
           ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_PROGRAM_LIMIT_EXCEEDED ||
           sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE;
}

// Drops what a crashed or cancelled merge has left reserved; its owner's lock is ours.
static void forget_reservations(Relation index, const RunKind *kind, bool old_too) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_EXCLUSIVE);
    const MetaPage *meta = meta_page(BufferGetPage(buffer));
    const bool left_over =
        meta->reservations[static_cast<int>(ReservationOwner::YoungRuns)][0].count > 0 ||
        (old_too && meta->reservations[static_cast<int>(ReservationOwner::OldRuns)][0].count > 0);
    if (left_over) {
        GenericXLogState *state = GenericXLogStart(index);
        MetaPage *image = meta_page(GenericXLogRegisterBuffer(state, buffer, 0));
        memset(image->reservations[static_cast<int>(ReservationOwner::YoungRuns)], 0,
               sizeof(image->reservations[0]));
        if (old_too)
            memset(image->reservations[static_cast<int>(ReservationOwner::OldRuns)], 0,
                   sizeof(image->reservations[0]));
        GenericXLogFinish(state);
    }
    UnlockReleaseBuffer(buffer);
}

// The locks of a merge that failed are gone. Where nobody has taken them since, so is the need for what it
// had reserved.
static void clean_up_after_merge(Relation index, const RunKind *kind) {
    if (!lock_runs(index, RunLock::YoungRuns, ExclusiveLock, true))
        return;
    const bool may_touch_old = lock_runs(index, RunLock::OldRuns, ExclusiveLock, true);
    forget_reservations(index, kind, may_touch_old);
    if (may_touch_old)
        unlock_runs(index, RunLock::OldRuns, ExclusiveLock);
    unlock_runs(index, RunLock::YoungRuns, ExclusiveLock);
}

// Giving way to others is no lack, and happens all the time.
static void note_put_off(Relation index, const ErrorData &error) {
    const char *name = RelationGetRelationName(index);
    if (error.sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE) {
        ereport(DEBUG1, (errmsg_internal("merge of index \"%s\" put off: %s", name, error.message)));
        return;
    }
    count_put_off_merge(index, error.message);
    ereport(LOG, (errcode(error.sqlerrcode), errmsg("merge of index \"%s\" was put off", name),
                  errdetail("The reason is: %s.", error.message),
                  errhint("The next insert that fills a page, or the next VACUUM, tries again.")));
}

enum class OnLack { PutOff, Raise };

// Runs `work` in a subtransaction, so that after an error what it had reserved can be given back. With PutOff
// a lack of resources ends here: the runs stay as they are and the next seal or VACUUM tries again.
// Everything else is raised. False when put off.
static bool try_merge(bool (*work)(Relation, const RunKind *, void *), Relation index, const RunKind *kind,
                      void *argument, OnLack on_lack) {
    // Not in the subtransaction's own memory: once used, that stays until the end of the transaction, and a
    // COPY comes by here thousands of times.
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "pg_gpu merging", ALLOCSET_DEFAULT_SIZES);
    bool result = false;
    ErrorData *error = try_in_subtransaction(context, [&] { result = work(index, kind, argument); });
    if (error != nullptr) {
        // A damaged metapage is not touched again.
        if (error->sqlerrcode != ERRCODE_INDEX_CORRUPTED)
            clean_up_after_merge(index, kind);
        if (on_lack == OnLack::Raise || !may_be_put_off(error->sqlerrcode))
            ReThrowError(error);
        note_put_off(index, *error);
        FreeErrorData(error);
        result = false;
    }
    MemoryContextDelete(context);
    return result;
}

// ---- entry points -----------------------------------------------------------------------------------------

static bool merge_tiers(Relation index, const RunKind *kind, void *argument) {
    const bool is_stream = *static_cast<bool *>(argument);
    if (!lock_runs(index, RunLock::YoungRuns, ExclusiveLock, true))
        return false;
    const int fanout = fanout_of(index);
    const bool local = RELATION_IS_LOCAL(index);
    uint64 weight = kForegroundWeight;
    uint64 pages = kForegroundPages;
    for (;;) {
        int count;
        uint64 horizon;
        const bool may_touch_old = lock_runs(index, RunLock::OldRuns, ExclusiveLock, true);
        forget_reservations(index, kind, may_touch_old);
        RunEntry *runs = read_directory(index, kind, &count, &horizon);
        // Without the old-runs lock, what lies below the horizon belongs to its holder.
        const int eligible = may_touch_old ? count : keep_young(runs, count, horizon);
        Choice choice = choose_tier(runs, eligible, fanout, is_stream);
        bool is_for_worker = false;
        if (choice.count > 0 && !local) {
            const int least = tier_size(choice.runs[0].level, fanout, is_stream);
            const Choice now = part_of_tier(choice, kind, weight, pages);
            // What only the merges before it leave no time for is the next seal's.
            is_for_worker = now.count < choice.count &&
                            (now.count >= least ||
                             part_of_tier(choice, kind, kForegroundWeight, kForegroundPages).count < least);
            choice = now.count >= least ? now : Choice{};
            weight -= choice.entries * kind->merge_weight;
            pages -= choice.pages;
        }
        if (choice.count > 0) {
            // With both locks in hand either reservation would do; the young one is ours for sure.
            merge_runs(index, kind, ReservationOwner::YoungRuns, choice.runs, choice.count);
        }
        pfree(runs);
        if (may_touch_old)
            unlock_runs(index, RunLock::OldRuns, ExclusiveLock);
        if (is_for_worker && may_touch_old)
            request_merge_worker(index);
        if (choice.count == 0)
            break;
    }
    unlock_runs(index, RunLock::YoungRuns, ExclusiveLock);
    return true;
}

void merge_after_seal(Relation index, const RunKind *kind, bool is_stream) {
    // No subtransaction can be started in parallel mode, and without one a full disk would fail the INSERT.
    if (IsInParallelMode())
        return;
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    const MetaPage *meta = meta_page(BufferGetPage(buffer));
    const int fanout = fanout_of(index);
    int level_counts[kMaxLevels + 1] = {};
    bool due = meta->chained_runs > 0;
    for (uint32 i = 0; i < meta->inline_runs && !due; i++) {
        const uint16 level = meta->runs[i].level;
        due = level <= kMaxLevels && ++level_counts[level] >= tier_size(level, fanout, is_stream);
    }
    UnlockReleaseBuffer(buffer);
    if (due)
        try_merge(merge_tiers, index, kind, &is_stream, OnLack::PutOff);
}

// The next merge that is due among `count` runs.
static Choice choose_due(Relation index, RunEntry *runs, int count) {
    const Choice choice = choose_tier(runs, count, fanout_of(index));
    return choice.count > 0 ? choice : choose_dead(runs, count);
}

namespace {

struct OldMerge {
    uint64 budget;
    uint64 spent;
    MergeStep step;
};

}  // namespace

// One merge of old runs, if it is within the budget. The locks are given back between merges, so that a
// VACUUM gets in.
static bool merge_next_old(Relation index, const RunKind *kind, void *argument) {
    auto *merge = static_cast<OldMerge *>(argument);
    uint64 horizon;
    merge->step = MergeStep::Busy;
    if (!claim_old_runs(index, kind, true, &horizon))
        return true;
    int count;
    uint64 ignored;
    RunEntry *runs = read_directory(index, kind, &count, &ignored);
    const int young = keep_young(runs, count, horizon);
    const Choice choice = choose_due(index, runs + young, count - young);
    merge->spent += choice.entries * kind->merge_weight;
    const bool is_within = merge->spent <= merge->budget;
    if (choice.count > 0 && is_within)
        merge_runs(index, kind, ReservationOwner::OldRuns, choice.runs, choice.count);
    merge->step =
        choice.count == 0 ? MergeStep::NothingDue : (is_within ? MergeStep::Merged : MergeStep::PutOff);
    pfree(runs);
    unlock_runs(index, RunLock::OldRuns, ExclusiveLock);
    return true;
}

void merge_within(Relation index, const RunKind *kind, uint64 budget) {
    OldMerge merge = {budget, 0, MergeStep::Merged};
    bool went_through = true;
    while (went_through && merge.step == MergeStep::Merged)
        went_through = try_merge(merge_next_old, index, kind, &merge, OnLack::PutOff);
    if (went_through && merge.step == MergeStep::PutOff)
        request_merge_worker(index);
}

MergeStep merge_next(Relation index, const RunKind *kind) {
    OldMerge merge = {PG_UINT64_MAX, 0, MergeStep::PutOff};
    return try_merge(merge_next_old, index, kind, &merge, OnLack::PutOff) ? merge.step : MergeStep::PutOff;
}

void request_merge_if_due(Relation index, const RunKind *kind) {
    int count;
    uint64 ignored;
    RunEntry *runs = read_directory(index, kind, &count, &ignored);
    if (choose_due(index, runs, count).count > 0)
        request_merge_worker(index);
    pfree(runs);
}

static bool merge_old(Relation index, const RunKind *kind, void *argument) {
    auto *outcome = static_cast<MergeOutcome *>(argument);
    uint64 horizon;
    claim_old_runs(index, kind, false, &horizon);
    int count;
    uint64 ignored;
    RunEntry *runs = read_directory(index, kind, &count, &ignored);
    const int young = keep_young(runs, count, horizon);
    RunEntry *old_runs = runs + young;
    outcome->inputs = count - young;
    const bool worth_it = outcome->inputs > 1 || (outcome->inputs == 1 && old_runs[0].dead > 0);
    for (int i = 0; i < outcome->inputs; i++)
        outcome->bytes += static_cast<uint64>(old_runs[i].pages) * BLCKSZ;
    if (worth_it)
        outcome->entries = merge_runs(index, kind, ReservationOwner::OldRuns, old_runs, outcome->inputs);
    else
        outcome->inputs = 0;
    pfree(runs);
    unlock_runs(index, RunLock::OldRuns, ExclusiveLock);
    return true;
}

MergeOutcome merge_all(Relation index, const RunKind *kind) {
    MergeOutcome outcome = {};
    try_merge(merge_old, index, kind, &outcome, OnLack::Raise);
    return outcome;
}

}  // namespace pg_gpu::storage
