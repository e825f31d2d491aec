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

static bool verify_tail_tuples(const Verification &state) {
    Buffer buffer = ReadBuffer(state.index, kTailBlock);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    if (!is_tail_valid(state.kind, page)) {
        UnlockReleaseBuffer(buffer);
        state.report(kTailBlock, nullptr, "The tail page is damaged.", state.context);
        return false;
    }
    const uint32 length = content_length(page);
    const char *tail_tuples = page_content(page);
    bool valid = true;
    for (uint32 at = 0; valid && at < length;) {
        const auto *tail_tuple = reinterpret_cast<const TailTuple *>(tail_tuples + at);
        const uint32 size = tail_tuple_size(tail_tuple);
        if (size > length - at || !is_tail_tuple_size(state.kind, size)) {
            state.report(kTailBlock, nullptr, "A tail tuple has a wrong size.", state.context);
            valid = false;
        }
        if (!ItemPointerIsValid(&tail_tuple->tid))
            state.report(kTailBlock, &tail_tuple->tid, "A tail tuple has an invalid TID.", state.context);
        at += size;
    }
    UnlockReleaseBuffer(buffer);
    return valid;
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

// Checks metapage and directory; *runs is the whole list when they are valid.
static bool verify_directory(const Verification &state, RunEntry **runs, int *count) {
    Buffer buffer = ReadBuffer(state.index, kMetaBlock);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    BlockNumber damaged = kMetaBlock;
    const char *problem = find_metapage_problem(state.index, state.kind, page);
    if (problem == nullptr)
        *runs = try_copy_directory(state.index, page, count, &problem, &damaged);
    bool valid = problem == nullptr;
    if (!valid)
        state.report(damaged, nullptr, problem, state.context);
    for (int i = 0; i < *count; i++) {
        if (!is_run_entry_valid(state.kind, (*runs)[i])) {
            state.report(kMetaBlock, nullptr, "An entry of the run directory is not sound.", state.context);
            valid = false;
        }
    }
    if (valid)
        verify_extents(state, page);
    UnlockReleaseBuffer(buffer);
    return valid;
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
    bool valid = verify_directory(state, &runs, &count);
    valid = verify_tail_tuples(state) && valid;
    if (runs != nullptr)
        pfree(runs);
    return valid;
}

}  // namespace pg_gpu::storage
