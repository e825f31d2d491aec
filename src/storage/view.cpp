// Reading: the view of one instant, run pages with their stamps, dead bits.
#include "storage/dead_bits.h"

#include <algorithm>

#include "compat.h"
#include "storage/last_damage.h"
#include "storage/notes.h"
#include "storage/pending_rows.h"
#include "test_hooks.h"

namespace pg_gpu::storage {

// The relation cache remembers this of an index between statements: which state of its run directory has been
// checked already.
struct CheckedDirectory {
    uint64 directory_version;
    uint64 vacuum_seq;  // dead counts change with it
};

namespace {

// PostgreSQL frees it with the index's relation cache entry, as one piece.
struct Remembered {
    bool is_metapage_checked;
    bool is_directory_checked;
    CheckedDirectory checked;
    bool has_note;
    alignas(MAXIMUM_ALIGNOF) char note[kNoteBytes];
};

}  // namespace

static Remembered *remembered_of(Relation index) {
    if (index->rd_amcache == nullptr)
        index->rd_amcache = MemoryContextAllocZero(index->rd_indexcxt, sizeof(Remembered));
    return static_cast<Remembered *>(index->rd_amcache);
}

const void *read_note(Relation index) {
    const auto *remembered = static_cast<const Remembered *>(index->rd_amcache);
    return remembered != nullptr && remembered->has_note ? remembered->note : nullptr;
}

void write_note(Relation index, const void *note, size_t bytes) {
    Assert(bytes <= kNoteBytes);
    Remembered *remembered = remembered_of(index);
    memcpy(remembered->note, note, bytes);
    remembered->has_note = true;
}

static bool is_directory_checked(Relation index, const MetaPage *meta) {
    const Remembered &remembered = *remembered_of(index);
    return remembered.is_directory_checked &&
           remembered.checked.directory_version == meta->directory_version &&
           remembered.checked.vacuum_seq == meta->vacuum_seq;
}

static void remember_checked_directory(Relation index, const CheckedDirectory &checked) {
    Remembered *remembered = remembered_of(index);
    remembered->is_metapage_checked = remembered->is_directory_checked = true;
    remembered->checked = checked;
}

void check_metapage_once(Relation index, const RunKind *kind) {
    if (likely(remembered_of(index)->is_metapage_checked))
        return;
    UnlockReleaseBuffer(lock_metapage(index, kind, BUFFER_LOCK_SHARE));
    remembered_of(index)->is_metapage_checked = true;
}

// Copies the list in reverse: small and recent runs come last in a directory (swap), and first in a view,
// because they are the first to be merged.
static void copy_inline_runs(const MetaPage *meta, View *view) {
    const int count = static_cast<int>(meta->inline_runs);
    if (view->runs == nullptr || view->run_capacity < count) {
        if (view->runs != nullptr)
            pfree(view->runs);
        view->run_capacity = Max(count, 4);
        view->runs = allocate<RunEntry>(view->run_capacity);
    }
    std::reverse_copy(meta->runs, meta->runs + count, view->runs);
    view->run_count = count;
}

static void copy_all_runs(Relation index, const RunKind *kind, Page meta_image, View *view) {
    if (view->runs != nullptr)
        pfree(view->runs);
    view->runs = copy_directory(index, kind, meta_image, &view->run_count);
    view->run_capacity = view->run_count;
    std::sort(view->runs, view->runs + view->run_count,
              [](const RunEntry &a, const RunEntry &b) { return a.pages < b.pages; });
}

void take_view(Relation index, const RunKind *kind, Snapshot snapshot, View *view, TailVisitor visit,
               void *context) {
    write_pending_rows();
    Buffer meta_buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    Page meta_image = BufferGetPage(meta_buffer);
    check_old_snapshot(snapshot, index, meta_image);
    const MetaPage *meta = meta_page(meta_image);

    view->vacuum_seq = meta->vacuum_seq;
    view->directory_version = meta->directory_version;
    if (meta->chained_runs > 0) {
        copy_all_runs(index, kind, meta_image, view);
    } else {
        copy_inline_runs(meta, view);
        if (!is_directory_checked(index, meta)) {
            for (int i = 0; i < view->run_count; i++)
                check_run_entry(index, kind, view->runs[i]);
            remember_checked_directory(index, {meta->directory_version, meta->vacuum_seq});
        }
    }
    const bool keeps =
        view->cached != nullptr && (view->cached->page_limit > 0 || view->cached->copies != nullptr);
    if (unlikely(keeps))
        cache_small_runs(index, view);

    // The tail is locked before the metapage is let go: a seal needs both, so the tuples are either here or
    // in a listed run, never in both or neither.
    Buffer tail_buffer = ReadBuffer(index, kTailBlock);
    LockBuffer(tail_buffer, BUFFER_LOCK_SHARE);
    LockBuffer(meta_buffer, BUFFER_LOCK_UNLOCK);
    ReleaseBuffer(meta_buffer);
    Page tail = BufferGetPage(tail_buffer);
    // Appends leave the metapage as it is, and what is in a run has come with a seal, which doesn't.
    check_old_snapshot(snapshot, index, tail);
    check_tail(index, kind, tail);
    if (kind->tail_tuple_extra != 0)
        count_tail_tuples(index, kind, page_content(tail), content_length(tail));
    // The visitor is called for an empty tail, too: whoever takes a view anew still has what the last one had
    // of the tail.
    visit(page_content(tail), content_length(tail), context);
    UnlockReleaseBuffer(tail_buffer);
    if (unlikely(keeps))
        cache_large_runs(index, view);
    hold(HoldPoint::Reader);
}

void check_snapshot_of_view(Relation index, const RunKind *kind, Snapshot snapshot) {
    if (likely(!do_snapshots_expire()))
        return;
    // Run pages don't change. What VACUUM removed shows in the metapage.
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    check_old_snapshot(snapshot, index, BufferGetPage(buffer));
    UnlockReleaseBuffer(buffer);
}

static constexpr BlockNumber kBlocksBeyondStatistics = 4096;

static bool has_stamp(Page page, const RunEntry &run, uint32 position) {
    const PageStamp *stamp = page_stamp(page);
    return !PageIsNew(page) && PageGetSpecialSize(page) == sizeof(PageStamp) && stamp->run_id == run.run_id &&
           stamp->position == position && stamp->kind == static_cast<uint16>(PageKind::Run);
}

RunPage read_run_page(Relation index, const RunEntry &run, uint32 position, BufferAccessStrategy strategy,
                      NearbyBuffer *nearby) {
    if (unlikely(run.cached != 0)) {
        RunPage copy = {nullptr, InvalidBuffer, false};
        copy.page = cached_page(index, run, position, &copy.temporary);
        if (copy.page != nullptr)
            return copy;
    }
    last_damage.run_read = run.run_id;
    const BlockNumber block = run_block(run, position);
    if (block == InvalidBlockNumber)
        report_corruption(index, kMetaBlock, "A section of a run lies outside its extents.");
    // Far beyond the end the storage manager's own error would say nothing of an index; asking for the length
    // of the file costs a system call, so only where a damaged directory could lead there.
    if (unlikely(block >= static_cast<BlockNumber>(index->rd_rel->relpages) + kBlocksBeyondStatistics) &&
        block >= RelationGetNumberOfBlocks(index))
        report_corruption(index, block, "A run lies beyond the end of the file.");
    Buffer buffer = nearby != nullptr ? read_nearby(index, block, strategy, nearby)
                                      : ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    if (likely(has_stamp(page, run, position)))
        return {page, buffer, false};
    UnlockReleaseBuffer(buffer);
    return {nullptr, InvalidBuffer, false};
}

void release_run_page(const RunPage &page) {
    if (likely(BufferIsValid(page.buffer)))
        UnlockReleaseBuffer(page.buffer);
    else if (page.temporary)
        pfree(page.page);
}

bool lock_run_page_again(const RunEntry &run, uint32 position, const RunPage &page) {
    if (!BufferIsValid(page.buffer))
        return true;
    LockBuffer(page.buffer, BUFFER_LOCK_SHARE);
    if (likely(has_stamp(page.page, run, position)))
        return true;
    LockBuffer(page.buffer, BUFFER_LOCK_UNLOCK);
    return false;
}

void unlock_run_page(const RunPage &page) {
    if (likely(BufferIsValid(page.buffer)))
        LockBuffer(page.buffer, BUFFER_LOCK_UNLOCK);
}

void unpin_run_page(RunPage *page) {
    if (BufferIsValid(page->buffer))
        ReleaseBuffer(page->buffer);
    else if (page->temporary)
        pfree(page->page);
    *page = {nullptr, InvalidBuffer, false};
}

bool read_dead_bits(Relation index, const RunEntry &run, uint64 first, uint32 count, uint64 *bits) {
    const uint32 words = (count + 63) / 64;
    memset(bits, 0, words * sizeof(uint64));
    uint32 done = 0;
    while (done < count) {
        const uint64 ordinal = first + done;
        const uint32 bitmap_page = static_cast<uint32>(ordinal / kDeadBitsPerPage);
        const uint32 bit_on_page = static_cast<uint32>(ordinal % kDeadBitsPerPage);
        const uint32 take = Min(count - done, kDeadBitsPerPage - bit_on_page);
        const RunPage page =
            read_run_page(index, run, run.sections[kDeadBitmapSection].first_page + bitmap_page, nullptr);
        if (page.page == nullptr)
            return false;
        const char *bitmap = static_cast<const char *>(page.page) + run.dead_bitmap_offset;
        uint32 i = 0;
        // Byte by byte, as VACUUM writes, where one of the result is made of one or two of the page.
        const uint32 shift = bit_on_page % 8;
        if (done % 8 == 0)
            for (; i + 8 <= take; i += 8) {
                const char *at = bitmap + (bit_on_page + i) / 8;
                uint32 byte = static_cast<uint8>(at[0]);
                if (shift != 0)
                    byte = (byte >> shift | uint32{static_cast<uint8>(at[1])} << (8 - shift)) & 0xff;
                bits[(done + i) / 64] |= uint64{byte} << ((done + i) % 64);
            }
        for (; i < take; i++) {
            const uint32 bit = bit_on_page + i;
            if ((static_cast<uint8>(bitmap[bit / 8]) >> (bit % 8)) & 1)
                bits[(done + i) / 64] |= UINT64CONST(1) << ((done + i) % 64);
        }
        release_run_page(page);
        done += take;
    }
    return true;
}

// Counts the bits [first, end) of a bitmap.
static uint64 count_bits(const char *bitmap, uint32 first, uint32 end) {
    uint64 count = 0;
    while (first < end) {
        if (first % 64 == 0 && end - first >= 64) {
            uint64 word;
            memcpy(&word, bitmap + first / 8, sizeof(word));
            count += static_cast<uint64>(__builtin_popcountll(word));
            first += 64;
        } else {
            count += (static_cast<uint8>(bitmap[first / 8]) >> (first % 8)) & 1;
            first++;
        }
    }
    return count;
}

bool count_dead(Relation index, const RunEntry &run, uint64 first, uint64 end, uint64 *dead) {
    *dead = 0;
    while (first < end) {
        CHECK_FOR_INTERRUPTS();
        const auto bitmap_page = static_cast<uint32>(first / kDeadBitsPerPage);
        const auto bit = static_cast<uint32>(first % kDeadBitsPerPage);
        const auto end_bit = static_cast<uint32>(Min(end - first + bit, uint64{kDeadBitsPerPage}));
        const RunPage page =
            read_run_page(index, run, run.sections[kDeadBitmapSection].first_page + bitmap_page, nullptr);
        if (page.page == nullptr)
            return false;
        *dead += count_bits(static_cast<const char *>(page.page) + run.dead_bitmap_offset, bit, end_bit);
        release_run_page(page);
        first += end_bit - bit;
    }
    return true;
}

}  // namespace pg_gpu::storage
