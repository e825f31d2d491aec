// Inserting: append to the tail, seal a full tail into a one-page run.
#include "storage/runs.h"

#include "compat.h"
#include "storage/merge.h"

namespace pg_gpu::storage {

// A fragment of a generic WAL record's delta says that the `length` bytes behind it are to be laid at
// `offset` of the page.
struct DeltaFragmentHead {
    uint16 offset;
    uint16 length;
};
static_assert(sizeof(DeltaFragmentHead) == 4);

// A statement that has sealed so many tails will seal more of them soon.
static constexpr uint32 kSealsOfStream = 16;

static constexpr uint16 kLowerOffset = offsetof(PageHeaderData, pd_lower);

// Logs an append as the two fragments it consists of. GenericXLogFinish would find the same by copying the
// page twice and comparing it byte by byte, which costs more than the rest of the insert (rule "Cost of a
// record").
static void log_append(Buffer buffer, Page page, uint16 offset, const char *tail_tuples, uint32 size) {
    alignas(4) char delta[2 * sizeof(DeltaFragmentHead) + sizeof(LocationIndex) + kContentBytes];
    char *end = delta;
    const LocationIndex lower = reinterpret_cast<PageHeader>(page)->pd_lower;
    const DeltaFragmentHead lower_head = {kLowerOffset, sizeof(lower)};
    const DeltaFragmentHead tail_tuple_head = {offset, static_cast<uint16>(size)};
    memcpy(end, &lower_head, sizeof(lower_head));
    memcpy(end + sizeof(lower_head), &lower, sizeof(lower));
    end += sizeof(lower_head) + sizeof(lower);
    memcpy(end, &tail_tuple_head, sizeof(tail_tuple_head));
    memcpy(end + sizeof(tail_tuple_head), tail_tuples, size);
    end += sizeof(tail_tuple_head) + size;

    XLogBeginInsert();
    XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
    register_buffer_data(0, delta, static_cast<uint32>(end - delta));
    const XLogRecPtr end_of_record = XLogInsert(RM_GENERIC_ID, 0);
    PageSetLSN(page, end_of_record);
}

// Returns how many bytes the tuples have that find room.
static uint32 fitting_bytes(const char *tail_tuples, uint32 bytes, uint32 room) {
    if (likely(bytes <= room))
        return bytes;
    uint32 fitting = 0;
    for (;;) {
        const uint32 size = tail_tuple_size(reinterpret_cast<const TailTuple *>(tail_tuples + fitting));
        if (fitting + size > room)
            return fitting;
        fitting += size;
    }
}

// Appends as many of the tuples as fit, by one record; returns how many bytes they have.
static uint32 append_to_tail(Relation index, const RunKind *kind, const char *tail_tuples, uint32 bytes) {
    Buffer buffer = ReadBuffer(index, kTailBlock);
    LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
    Page page = BufferGetPage(buffer);
    check_tail(index, kind, page);
    const uint32 length = content_length(page);
    Assert(length <= kind->tail_capacity);
    const uint32 size = fitting_bytes(tail_tuples, bytes, kind->tail_capacity - length);
    if (size > 0) {
        START_CRIT_SECTION();
        memcpy(page_content(page) + length, tail_tuples, size);
        set_content_length(page, length + size);
        MarkBufferDirty(buffer);
        if (RelationNeedsWAL(index))
            log_append(buffer, page, static_cast<uint16>(kContentStart + length), tail_tuples, size);
        END_CRIT_SECTION();
    }
    UnlockReleaseBuffer(buffer);
    return size;
}

bool is_tail_valid(const RunKind *kind, Page page) {
    return !PageIsNew(page) && PageGetSpecialSize(page) == sizeof(PageStamp) &&
           page_stamp(page)->kind == static_cast<uint16>(PageKind::Tail) &&
           content_length(page) <= kind->tail_capacity &&
           (kind->tail_tuple_bytes == 0 || kind->tail_tuple_extra != 0 ||
            content_length(page) % kind->tail_tuple_bytes == 0);
}

void check_tail(Relation index, const RunKind *kind, Page page) {
    if (unlikely(!is_tail_valid(kind, page)))
        report_corruption(index, kTailBlock, "The tail page is damaged.");
}

uint32 checked_tail_tuple_size(Relation index, const RunKind *kind, const char *tail_tuples, uint32 at,
                               uint32 length) {
    const uint32 size = tail_tuple_size(reinterpret_cast<const TailTuple *>(tail_tuples + at));
    if (size > length - at || !is_tail_tuple_size(kind, size))
        report_corruption(index, kTailBlock, "A tuple of the tail has a wrong size.");
    return size;
}

uint32 count_tail_tuples(Relation index, const RunKind *kind, const char *tail_tuples, uint32 bytes) {
    uint32 count = 0;
    for (uint32 at = 0; at < bytes; count++)
        at += checked_tail_tuple_size(index, kind, tail_tuples, at, bytes);
    return count;
}

// Appends a run to the metapage image's inline list, or, when that is full, first moves the list to the
// chained page image `spill` (whose block is spill_block).
static void list_run(Page meta_image, const RunEntry &run, Page spill, BlockNumber spill_block) {
    MetaPage *meta = meta_page(meta_image);
    if (spill != nullptr) {
        PageInit(spill, BLCKSZ, sizeof(PageStamp));
        page_stamp(spill)->kind = static_cast<uint16>(PageKind::Directory);
        auto *directory = reinterpret_cast<DirectoryPage *>(page_content(spill));
        directory->next = meta->directory_head;
        directory->runs_on_page = meta->inline_runs;
        memcpy(directory->runs, meta->runs, meta->inline_runs * sizeof(RunEntry));
        set_content_length(spill, offsetof(DirectoryPage, runs) + meta->inline_runs * sizeof(RunEntry));
        meta->directory_head = spill_block;
        meta->chained_runs += meta->inline_runs;
        meta->inline_runs = 0;
    }
    meta->runs[meta->inline_runs++] = run;
    meta->directory_version++;
    set_content_length(meta_image, offsetof(MetaPage, runs) + meta->inline_runs * sizeof(RunEntry));
}

// Makes the full tail a one-page run of level 0 and empties it, in one WAL record. Does nothing when somebody
// else was faster, nor, and says how long the file should be first, when its page lies behind the end of the
// file. Locks: metapage, tail, then the new pages.
static BlockNumber seal_tail(Relation index, const RunKind *kind, uint32 wanted) {
    const uint64 run_id = new_run_id();
    Buffer meta_buffer = lock_metapage(index, kind, BUFFER_LOCK_EXCLUSIVE);
    Buffer tail_buffer = ReadBuffer(index, kTailBlock);
    LockBuffer(tail_buffer, BUFFER_LOCK_EXCLUSIVE);
    check_tail(index, kind, BufferGetPage(tail_buffer));
    const uint32 length = content_length(BufferGetPage(tail_buffer));
    if (length + wanted <= kind->tail_capacity) {
        UnlockReleaseBuffer(tail_buffer);
        UnlockReleaseBuffer(meta_buffer);
        return 0;
    }

    const bool spill = meta_page(BufferGetPage(meta_buffer))->inline_runs == kInlineRuns;
    int used_count;
    Extent *used = used_extents(index, BufferGetPage(meta_buffer), &used_count);
    used = reallocate(used, used_count + 1);
    Extent place;
    place_pages(index, used, used_count, 1, 1, &place);
    Extent spill_place = place;
    if (spill) {
        used[used_count++] = place;
        place_pages(index, used, used_count, 1, 1, &spill_place);
    }
    pfree(used);
    const BlockNumber blocks = Max(place.start, spill_place.start) + 1;
    if (blocks > RelationGetNumberOfBlocks(index)) {
        check_runs_in_file(index, BufferGetPage(meta_buffer));
        UnlockReleaseBuffer(tail_buffer);
        UnlockReleaseBuffer(meta_buffer);
        // The file becomes some blocks longer than this page needs, so that the next seals find some.
        return blocks + Min(Min(blocks / 8, kMaxInAdvance), kMaxBlocks - blocks);
    }
    Buffer run_buffer = acquire_page(index, place.start);
    Buffer spill_buffer = spill ? acquire_page(index, spill_place.start) : InvalidBuffer;

    GenericXLogState *state = GenericXLogStart(index);
    Page meta_image = GenericXLogRegisterBuffer(state, meta_buffer, 0);
    Page tail_image = GenericXLogRegisterBuffer(state, tail_buffer, 0);
    Page run_image = GenericXLogRegisterBuffer(state, run_buffer, GENERIC_XLOG_FULL_IMAGE);
    Page spill_image =
        spill ? GenericXLogRegisterBuffer(state, spill_buffer, GENERIC_XLOG_FULL_IMAGE) : nullptr;

    PageInit(run_image, BLCKSZ, sizeof(PageStamp));
    PageStamp *stamp = page_stamp(run_image);
    stamp->run_id = run_id;
    stamp->kind = static_cast<uint16>(PageKind::Run);

    RunEntry run = {};
    run.run_id = run_id;
    run.order = meta_page(meta_image)->next_order++;
    run.entries = count_tail_tuples(index, kind, page_content(tail_image), length);
    run.extents[0] = place;
    run.extent_count = 1;
    run.pages = 1;
    run.sections[kEntrySection] = {0, 1};
    run.sections[kDeadBitmapSection] = {0, 1};
    kind->seal(kind, page_content(tail_image), length, static_cast<uint32>(run.entries), run_image, &run);
    run.dead_bitmap_offset = MAXALIGN(kContentStart + content_length(run_image));
    set_content_length(run_image, run.dead_bitmap_offset + dead_bitmap_bytes(run.entries) - kContentStart);

    list_run(meta_image, run, spill_image, spill_place.start);
    set_content_length(tail_image, 0);
    GenericXLogFinish(state);

    if (spill)
        UnlockReleaseBuffer(spill_buffer);
    UnlockReleaseBuffer(run_buffer);
    UnlockReleaseBuffer(tail_buffer);
    UnlockReleaseBuffer(meta_buffer);
    return 0;
}

void require_usable_tid(Relation index, const ItemPointerData &tid) {
    if (likely(ItemPointerGetOffsetNumberNoCheck(&tid) <= MaxHeapTuplesPerPage))
        return;
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("rows of table \"%s\" cannot be indexed by \"%s\"",
                           get_rel_name(index->rd_index->indrelid), RelationGetRelationName(index)),
                    errdetail("The table's access method gives TIDs with offset numbers above %d.",
                              static_cast<int>(MaxHeapTuplesPerPage)),
                    errhint("Use an index of another access method, or a table of access method heap.")));
}

bool append_tail_tuples(Relation index, const RunKind *kind, const char *tail_tuples, uint32 bytes) {
    bool sealed = false;
    check_metapage_once(index, kind);
    for (;;) {
        const uint32 appended = append_to_tail(index, kind, tail_tuples, bytes);
        if (appended == bytes)
            return sealed;
        tail_tuples += appended;
        bytes -= appended;
        CHECK_FOR_INTERRUPTS();
        const BlockNumber blocks =
            seal_tail(index, kind, tail_tuple_size(reinterpret_cast<const TailTuple *>(tail_tuples)));
        if (blocks > 0)
            extend_file(index, blocks);
        sealed = true;
    }
}

void insert_tail_tuple(Relation index, const RunKind *kind, const TailTuple *tail_tuple,
                       InsertStream *stream) {
    require_usable_tid(index, tail_tuple->tid);
    if (!append_tail_tuples(index, kind, reinterpret_cast<const char *>(tail_tuple),
                            tail_tuple_size(tail_tuple)))
        return;
    const bool is_stream = stream != nullptr && ++stream->seals > kSealsOfStream;
    merge_after_seal(index, kind, is_stream);
}

}  // namespace pg_gpu::storage
