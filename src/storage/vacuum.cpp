// VACUUM: purge the tail, set dead bits in the runs, bump vacuum_seq (rule "VACUUM"), drop what is all dead;
// afterwards a little merging (rule "Merges that fail"), and a shorter file.
#include "compat.h"
#include "storage/free_space.h"
#include "storage/merge.h"
#include "test_hooks.h"

namespace pg_gpu::storage {

struct BulkDelete {
    IndexVacuumInfo *info;
    const RunKind *kind;
    IndexBulkDeleteResult *stats;
    IndexBulkDeleteCallback callback;
    void *callback_state;
};

static bool is_dead(BulkDelete *state, ItemPointer tid) {
    // PostgreSQL takes it for granted that it is a row's address; a damaged page's needn't be.
    return ItemPointerIsValid(tid) && state->callback(tid, state->callback_state);
}

// Drops the tail's dead tuples. Whoever seals the tail later seals what is left.
static void purge_tail(BulkDelete *state) {
    Relation index = state->info->index;
    Buffer buffer = ReadBuffer(index, kTailBlock);
    LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
    Page page = BufferGetPage(buffer);
    check_tail(index, state->kind, page);
    const uint32 length = content_length(page);
    auto *kept = allocate<char>(kContentBytes);
    uint32 kept_bytes = 0;
    for (uint32 at = 0; at < length;) {
        auto *tail_tuple = reinterpret_cast<TailTuple *>(page_content(page) + at);
        const uint32 size = checked_tail_tuple_size(index, state->kind, page_content(page), at, length);
        if (is_dead(state, &tail_tuple->tid)) {
            state->stats->tuples_removed += 1;
        } else {
            memcpy(kept + kept_bytes, tail_tuple, size);
            kept_bytes += size;
            state->stats->num_index_tuples += 1;
        }
        at += size;
    }
    if (kept_bytes < length) {
        GenericXLogState *xlog = GenericXLogStart(index);
        Page image = GenericXLogRegisterBuffer(xlog, buffer, 0);
        memcpy(page_content(image), kept, kept_bytes);
        set_content_length(image, kept_bytes);
        GenericXLogFinish(xlog);
    }
    UnlockReleaseBuffer(buffer);
    pfree(kept);
}

// Sets the bits of `newly_dead` (bit i is the page's entry i) on one page of the dead bitmap.
static void set_dead_bits(BulkDelete *state, const RunEntry &run, uint32 bitmap_page,
                          const uint64 *newly_dead, uint32 words) {
    Relation index = state->info->index;
    const uint32 position = run.sections[kDeadBitmapSection].first_page + bitmap_page;
    Buffer buffer = ReadBufferExtended(index, MAIN_FORKNUM, run_block(run, position), RBM_NORMAL, nullptr);
    LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
    if (PageIsNew(BufferGetPage(buffer)) || page_stamp(BufferGetPage(buffer))->run_id != run.run_id ||
        page_stamp(BufferGetPage(buffer))->position != position)
        report_foreign_page(index, run, position);
    GenericXLogState *xlog = GenericXLogStart(index);
    Page image = GenericXLogRegisterBuffer(xlog, buffer, 0);
    // Byte by byte, as read_dead_bits reads: the file's byte order is nobody's business.
    auto *bitmap = reinterpret_cast<uint8 *>(static_cast<char *>(image) + run.dead_bitmap_offset);
    for (uint32 i = 0; i < words * 8; i++)
        bitmap[i] |= static_cast<uint8>(newly_dead[i / 8] >> (i % 8 * 8));
    GenericXLogFinish(xlog);
    UnlockReleaseBuffer(buffer);
}

// Passes every entry of a run to the callback, also those already dead (validate_index collects TIDs this
// way). Returns how many entries are dead afterwards. The caller holds the old-runs lock, so that the run
// stays listed.
static uint64 vacuum_run(BulkDelete *state, const RunEntry &run) {
    Relation index = state->info->index;
    const uint32 words_per_page = kDeadBitsPerPage / 64;
    auto *already_dead = allocate<uint64>(words_per_page);
    auto *newly_dead = allocate<uint64>(words_per_page);
    auto *tids = allocate<ItemPointerData>(kMaxTidsRead);
    const Section section = run.sections[kEntrySection];
    uint64 ordinal = 0;
    uint64 dead = 0;
    uint32 bitmap_page = 0;
    uint32 window_words = 0;
    bool window_changed = false;

    for (uint32 i = 0; i < section.pages; i++) {
        vacuum_pause();
        const uint32 position = section.first_page + i;
        const RunPage page = read_run_page(index, run, position, state->info->strategy);
        if (page.page == nullptr)
            report_foreign_page(index, run, position);
        const uint32 count = state->kind->read_tids(index, run, position, page.page, tids);
        release_run_page(page);
        if (count > run.entries - ordinal)
            report_corruption(index, run_block(run, position), "A run holds more entries than recorded.");

        for (uint32 j = 0; j < count; j++, ordinal++) {
            const uint32 bit = static_cast<uint32>(ordinal % kDeadBitsPerPage);
            if (bit == 0) {
                if (window_changed)
                    set_dead_bits(state, run, bitmap_page, newly_dead, window_words);
                bitmap_page = static_cast<uint32>(ordinal / kDeadBitsPerPage);
                const uint64 left = run.entries - ordinal;
                const uint32 here = static_cast<uint32>(Min(left, static_cast<uint64>(kDeadBitsPerPage)));
                if (!read_dead_bits(index, run, ordinal, here, already_dead))
                    report_foreign_page(index, run,
                                        run.sections[kDeadBitmapSection].first_page + bitmap_page);
                window_words = (here + 63) / 64;
                memset(newly_dead, 0, window_words * sizeof(uint64));
                window_changed = false;
            }
            const uint64 mask = UINT64CONST(1) << (bit % 64);
            const bool reaped = is_dead(state, &tids[j]);
            if (already_dead[bit / 64] & mask) {
                dead++;
            } else if (reaped) {
                newly_dead[bit / 64] |= mask;
                window_changed = true;
                dead++;
                state->stats->tuples_removed += 1;
            } else {
                state->stats->num_index_tuples += 1;
            }
        }
    }
    if (window_changed)
        set_dead_bits(state, run, bitmap_page, newly_dead, window_words);
    if (ordinal != run.entries)
        report_corruption(index, run_block(run, section.first_page),
                          "A run holds fewer entries than recorded.");
    pfree(tids);
    pfree(newly_dead);
    pfree(already_dead);
    return dead;
}

namespace {

struct Vacuumed {
    const RunEntry *runs;
    int count;
};

}  // namespace

static bool set_dead_count(RunEntry *run, void *context) {
    const auto *vacuumed = static_cast<const Vacuumed *>(context);
    for (int i = 0; i < vacuumed->count; i++)
        if (run->run_id == vacuumed->runs[i].run_id)
            run->dead = vacuumed->runs[i].dead;
    return true;
}

// Ends ambulkdelete: writes the dead counts, and then vacuum_seq. It is called when nothing changed, too: the
// bump is what tells readers that heap slots may be recycled from here on.
static void publish(BulkDelete *state, Vacuumed vacuumed) {
    Relation index = state->info->index;
    Buffer meta_buffer = lock_metapage(index, state->kind, BUFFER_LOCK_EXCLUSIVE);
    edit_directory(index, meta_buffer, set_dead_count, &vacuumed, true);
    UnlockReleaseBuffer(meta_buffer);
}

IndexBulkDeleteResult *bulk_delete(IndexVacuumInfo *info, const RunKind *kind, IndexBulkDeleteResult *stats,
                                   IndexBulkDeleteCallback callback, void *callback_state) {
    Relation index = info->index;
    if (stats == nullptr)
        stats = allocate_zeroed<IndexBulkDeleteResult>(1);
    stats->num_index_tuples = 0;
    BulkDelete state = {info, kind, stats, callback, callback_state};

    // The tail is purged under the same hold of the metapage that sets the horizon, so every entry of this
    // moment is either seen here or lies in a run below the horizon. Later ones point to heap slots that were
    // not dead when VACUUM collected its list.
    uint64 horizon;
    Buffer meta_buffer;
    claim_old_runs(index, kind, Timeout::Endless, &horizon, &meta_buffer);
    purge_tail(&state);
    int count;
    RunEntry *runs = copy_directory(index, kind, BufferGetPage(meta_buffer), &count);
    UnlockReleaseBuffer(meta_buffer);

    int vacuumed = 0;
    for (int i = 0; i < count; i++) {
        if (runs[i].order < horizon) {
            runs[vacuumed] = runs[i];
            runs[vacuumed].dead = vacuum_run(&state, runs[vacuumed]);
            vacuumed++;
        }
    }
    hold(HoldPoint::Vacuum);
    publish(&state, {runs, vacuumed});
    drop_dead_runs(index, kind, horizon, nullptr);
    unlock_runs(index, RunLock::OldRuns, ExclusiveLock);
    pfree(runs);
    return stats;
}

IndexBulkDeleteResult *vacuum_cleanup(IndexVacuumInfo *info, const RunKind *kind,
                                      IndexBulkDeleteResult *stats) {
    Relation index = info->index;
    if (info->analyze_only)
        return stats;
    // A parallel VACUUM, whose leader is in parallel mode too, can do no merge, and a lock against readers
    // would be the whole group's: a background worker does both.
    if (IsInParallelMode()) {
        request_work_if_due(index, kind);
    } else {
        merge_in_vacuum(index, kind);
        truncate_free_end(index, kind);
    }

    const bool counted = stats != nullptr;
    if (stats == nullptr)
        stats = allocate_zeroed<IndexBulkDeleteResult>(1);

    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    int count;
    RunEntry *runs = copy_directory(index, kind, BufferGetPage(buffer), &count);
    int used_count;
    Extent *used = used_extents(index, BufferGetPage(buffer), &used_count);
    UnlockReleaseBuffer(buffer);

    uint64 used_blocks = 0;
    for (int i = 0; i < used_count; i++)
        used_blocks += used[i].count;
    stats->num_pages = RelationGetNumberOfBlocks(index);
    stats->pages_free =
        stats->num_pages > used_blocks ? static_cast<BlockNumber>(stats->num_pages - used_blocks) : 0;
    if (!counted) {
        Buffer tail = ReadBuffer(index, kTailBlock);
        LockBuffer(tail, BUFFER_LOCK_SHARE);
        check_tail(index, kind, BufferGetPage(tail));
        const char *tail_tuples = page_content(BufferGetPage(tail));
        const uint32 length = content_length(BufferGetPage(tail));
        for (uint32 at = 0; at < length; stats->num_index_tuples += 1)
            at += checked_tail_tuple_size(index, kind, tail_tuples, at, length);
        UnlockReleaseBuffer(tail);
        for (int i = 0; i < count; i++)
            stats->num_index_tuples += static_cast<double>(runs[i].entries - runs[i].dead);
        stats->estimated_count = true;
    }
    pfree(runs);
    pfree(used);
    return stats;
}

}  // namespace pg_gpu::storage
