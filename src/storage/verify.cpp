// gpu.verify, the part that knows nothing of keys: directory, extents, stamps, dead bitmaps and tail.

#include "storage/runs.h"

namespace pg_gpu::storage {

struct Verification {
    Relation index;
    const RunKind *kind;
    ProblemReporter report;
    void *context;
};

static void verify_extents(const Verification &state, Page meta_image) {
    int count;
    Extent *used = used_extents(state.index, meta_image, &count);
    sort_extents(used, count);
    for (int i = 1; i < count; i++)
        if (used[i].start < used[i - 1].start + used[i - 1].count)
            state.report(used[i].start, nullptr, "Two extents overlap.", state.context);
    pfree(used);
}

static bool verify_tail_items(const Verification &state) {
    Buffer buffer = ReadBuffer(state.index, kTailBlock);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    if (!is_tail_sound(state.kind, page)) {
        UnlockReleaseBuffer(buffer);
        state.report(kTailBlock, nullptr, "The tail page is damaged.", state.context);
        return false;
    }
    const uint32 length = content_length(page);
    const char *items = page_content(page);
    bool sound = true;
    for (uint32 at = 0; sound && at < length;) {
        const auto *item = reinterpret_cast<const TailItem *>(items + at);
        const uint32 size = tail_item_size(item);
        if (size > length - at || !is_tail_item_size(state.kind, size)) {
            state.report(kTailBlock, nullptr, "A tail item has a wrong size.", state.context);
            sound = false;
        }
        if (!ItemPointerIsValid(&item->tid))
            state.report(kTailBlock, &item->tid, "A tail item has an invalid TID.", state.context);
        at += size;
    }
    UnlockReleaseBuffer(buffer);
    return sound;
}

bool verify_run_pages(Relation index, const RunEntry &run, ProblemReporter report, void *context) {
    const BlockNumber blocks = RelationGetNumberOfBlocks(index);
    bool stamps_right = true;
    for (uint32 position = 0; position < run.pages; position++) {
        CHECK_FOR_INTERRUPTS();
        const BlockNumber block = run_block(run, position);
        if (block >= blocks) {
            report(block, nullptr, "A run's page lies beyond the end of the file.", context);
            return false;
        }
        const RunPage page = read_run_page(index, run, position, nullptr);
        if (page.page == nullptr) {
            report(block, nullptr, "The page does not carry its run's stamp.", context);
            stamps_right = false;
            continue;
        }
        release_run_page(page);
    }
    if (!stamps_right)
        return true;

    uint64 dead = 0;
    auto *bits = allocate<uint64>(kDeadBitsPerPage / 64);
    for (uint64 first = 0; first < run.entries; first += kDeadBitsPerPage) {
        const uint32 count = static_cast<uint32>(Min(run.entries - first, uint64{kDeadBitsPerPage}));
        if (!read_dead_bits(index, run, first, count, bits)) {
            pfree(bits);
            return true;
        }
        for (uint32 i = 0; i < (count + 63) / 64; i++)
            dead += static_cast<uint64>(__builtin_popcountll(bits[i]));
    }
    pfree(bits);
    // More bits than counted are what a VACUUM that broke off leaves behind.
    if (dead < run.dead)
        report(run_block(run, run.sections[kDeadBitmapSection].first_page), nullptr,
               "The dead bitmap disagrees with the directory's count.", context);
    return true;
}

// Metapage and directory; *runs is the whole list when they are sound.
static bool verify_directory(const Verification &state, RunEntry **runs, int *count) {
    Buffer buffer = ReadBuffer(state.index, kMetaBlock);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    BlockNumber damaged = kMetaBlock;
    const char *problem = find_metapage_problem(state.index, state.kind, page);
    if (problem == nullptr)
        *runs = try_copy_directory(state.index, page, count, &problem, &damaged);
    bool sound = problem == nullptr;
    if (!sound)
        state.report(damaged, nullptr, problem, state.context);
    for (int i = 0; i < *count; i++) {
        if (!is_run_entry_sound(state.kind, (*runs)[i])) {
            state.report(kMetaBlock, nullptr, "An entry of the run directory is not sound.", state.context);
            sound = false;
        }
    }
    if (sound)
        verify_extents(state, page);
    UnlockReleaseBuffer(buffer);
    return sound;
}

bool verify_structure(Relation index, const RunKind *kind, ProblemReporter report, void *context) {
    const Verification state = {index, kind, report, context};
    const BlockNumber blocks = RelationGetNumberOfBlocks(index);
    if (blocks < kFirstFreeBlock) {
        report(blocks, nullptr, "The file ends before the metapage or the tail.", context);
        return false;
    }
    RunEntry *runs = nullptr;
    int count = 0;
    bool sound = verify_directory(state, &runs, &count);
    sound = verify_tail_items(state) && sound;
    if (runs != nullptr)
        pfree(runs);
    return sound;
}

}  // namespace pg_gpu::storage
