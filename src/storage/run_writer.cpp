// Writing a run's pages in order of position, through shared buffers or, in a build, straight to the file
// (rule "Builds").
#include "storage/runs.h"

#include "compat.h"
#include "storage/free_space.h"
#include "test_hooks.h"

namespace pg_gpu::storage {

// Pages of a bulk build written and logged together.
static constexpr int kBulkBatch = 32;

struct RunWriter {
    Relation index;
    RunEntry *entry;
    bool bulk;
    const RunKind *kind;      // not of a build
    Reservation reservation;  // not of a build
    uint32 begun;             // pages handed out; the last one is still pending
    char *images;             // kBulkBatch page images, or one
    int pending;              // images filled or being filled
};

uint64 new_run_id() {
    uint64 id = 0;
    do {
        if (!pg_strong_random(&id, sizeof(id)))
            ereport(ERROR,
                    (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate a random run identifier")));
    } while (id == 0);
    return id;
}

static RunWriter *make_writer(Relation index, RunEntry *entry, bool bulk) {
    auto *writer = allocate_zeroed<RunWriter>(1);
    writer->index = index;
    writer->entry = entry;
    writer->bulk = bulk;
    writer->images = allocate_file_pages(bulk ? kBulkBatch : 1);
    return writer;
}

RunWriter *begin_run(Relation index, const RunKind *kind, const Reservation &reservation, RunEntry *entry) {
    RunWriter *writer = make_writer(index, entry, false);
    writer->kind = kind;
    writer->reservation = reservation;
    reserve_pages(index, kind, reservation, entry);
    return writer;
}

static void write_pages_directly(RunWriter *writer) {
    SMgrRelation smgr = RelationGetSmgr(writer->index);
    BlockNumber blocks[kBulkBatch];
    Page pages[kBulkBatch];
    const uint32 first = writer->begun - static_cast<uint32>(writer->pending);
    for (int i = 0; i < writer->pending; i++) {
        blocks[i] = kFirstFreeBlock + first + static_cast<uint32>(i);
        pages[i] = writer->images + static_cast<size_t>(i) * BLCKSZ;
    }
    if (RelationNeedsWAL(writer->index))
        log_full_pages(writer->index, MAIN_FORKNUM, writer->pending, blocks, pages);
    for (int i = 0; i < writer->pending; i++) {
        PageSetChecksumInplace(pages[i], blocks[i]);
        extend_fork(smgr, MAIN_FORKNUM, blocks[i], pages[i]);
    }
}

static void write_page_buffered(RunWriter *writer) {
    BlockNumber block = run_block(*writer->entry, writer->begun - 1);
    if (block == InvalidBlockNumber) {
        reserve_more_pages(writer->index, writer->kind, writer->reservation, writer->entry);
        block = run_block(*writer->entry, writer->begun - 1);
    }
    Assert(writer->pending == 1 && block != InvalidBlockNumber);
    Buffer buffer = ReadBufferExtended(writer->index, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, nullptr);
    START_CRIT_SECTION();
    memcpy(BufferGetPage(buffer), writer->images, BLCKSZ);
    MarkBufferDirty(buffer);
    if (RelationNeedsWAL(writer->index))
        log_newpage_buffer(buffer, true);
    END_CRIT_SECTION();
    UnlockReleaseBuffer(buffer);
}

static void flush_pending(RunWriter *writer) {
    if (writer->pending == 0)
        return;
    hold(HoldPoint::RunPages);
    if (writer->bulk) {
        write_pages_directly(writer);
        vacuum_pause();
    } else {
        write_page_buffered(writer);
        pause_merge(writer->index);
    }
    writer->pending = 0;
}

Page next_run_page(RunWriter *writer) {
    if (writer->pending == (writer->bulk ? kBulkBatch : 1))
        flush_pending(writer);
    Assert(writer->pending < (writer->bulk ? kBulkBatch : 1));
    Page page = writer->images + static_cast<size_t>(writer->pending) * BLCKSZ;
    PageInit(page, BLCKSZ, sizeof(PageStamp));
    PageStamp *stamp = page_stamp(page);
    stamp->run_id = writer->entry->run_id;
    stamp->position = writer->begun;
    stamp->kind = static_cast<uint16>(PageKind::Run);
    writer->pending++;
    writer->begun++;
    return page;
}

uint32 pages_begun(const RunWriter *writer) {
    return writer->begun;
}

void finish_run(RunWriter *writer) {
    RunEntry *entry = writer->entry;
    Assert(entry->entries == 0 || writer->begun > 0);
    const uint32 bitmap_bytes = dead_bitmap_bytes(entry->entries);
    Section *section = &entry->sections[kDeadBitmapSection];

    if (writer->begun == 1) {
        // A one-page run keeps its dead bitmap behind its entries when there is room.
        Page only = writer->images;
        const uint32 offset = MAXALIGN(kContentStart + content_length(only));
        if (offset + bitmap_bytes <= kContentEnd) {
            *section = {0, 1};
            entry->dead_bitmap_offset = offset;
            set_content_length(only, offset + bitmap_bytes - kContentStart);
        }
    }
    if (section->pages == 0 && entry->entries > 0) {
        *section = {writer->begun, dead_bitmap_pages(entry->entries)};
        entry->dead_bitmap_offset = kContentStart;
        for (uint32 i = 0; i < section->pages; i++)
            set_content_length(next_run_page(writer), kContentBytes);
    }
    flush_pending(writer);

    entry->pages = writer->begun;
    if (writer->bulk) {
        entry->extents[0] = {kFirstFreeBlock, entry->pages};
        entry->extent_count = entry->pages > 0 ? 1 : 0;
    } else {
        entry->extent_count =
            static_cast<uint16>(trim_extents(entry->extents, entry->extent_count, entry->pages));
    }
    pfree(writer->images);
}

RunWriter *begin_build(Relation index, RunEntry *entry) {
    // Hold places 0 and 1 with empty pages; finish_build overwrites them once the run is complete.
    FilePage zeros = {};
    SMgrRelation smgr = RelationGetSmgr(index);
    extend_fork(smgr, MAIN_FORKNUM, kMetaBlock, zeros.data);
    extend_fork(smgr, MAIN_FORKNUM, kTailBlock, zeros.data);
    return make_writer(index, entry, true);
}

static void write_fork_head(Relation index, ForkNumber fork, const char *meta, const char *tail,
                            bool exists) {
    SMgrRelation smgr = RelationGetSmgr(index);
    const char *images[2] = {meta, tail};
    for (BlockNumber block = kMetaBlock; block <= kTailBlock; block++) {
        char *page = const_cast<char *>(images[block]);
        // An init fork is logged whatever the relation's persistence says: it is what recovery copies from.
        if (fork == INIT_FORKNUM || RelationNeedsWAL(index))
            log_full_page(index, fork, block, page);
        PageSetChecksumInplace(page, block);
        if (exists)
            smgrwrite(smgr, fork, block, page, true);
        else
            extend_fork(smgr, fork, block, page);
    }
    // Pages written past the buffer manager are not covered by the next checkpoint; WAL replay could start
    // after it, and an unlogged index outlives a clean shutdown. What is permanent but not logged, since its
    // file is new to this transaction, the commit syncs.
    if (fork == INIT_FORKNUM || RelationNeedsWAL(index) ||
        index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
        smgrimmedsync(smgr, fork);
}

void finish_build(Relation index, const RunKind *kind, const RunEntry &entry) {
    FilePage meta_image;
    FilePage tail_image;
    initialise_metapage(meta_image.data, kind, index);
    initialise_tail(tail_image.data);
    if (entry.entries > 0) {
        MetaPage *meta = meta_page(meta_image.data);
        meta->runs[0] = entry;
        meta->runs[0].order = meta->next_order++;
        meta->inline_runs = 1;
        set_content_length(meta_image.data, offsetof(MetaPage, runs) + sizeof(RunEntry));
    }
    write_fork_head(index, MAIN_FORKNUM, meta_image.data, tail_image.data, true);
}

void build_empty(Relation index, const RunKind *kind) {
    FilePage meta_image;
    FilePage tail_image;
    initialise_metapage(meta_image.data, kind, index);
    initialise_tail(tail_image.data);
    write_fork_head(index, INIT_FORKNUM, meta_image.data, tail_image.data, false);
}

}  // namespace pg_gpu::storage
