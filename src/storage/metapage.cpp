// The metapage and the run directory behind it, and which blocks are free.
#include "storage/runs.h"

#include "compat.h"
#include "storage/last_damage.h"

namespace pg_gpu::storage {

void report_corruption(Relation index, BlockNumber block, const char *detail) {
    last_damage.block = block;
    ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
                    errmsg("index \"%s\" is corrupted at block %u", RelationGetRelationName(index), block),
                    errdetail("%s", detail), errhint("Rebuild it with REINDEX INDEX.")));
}

void report_foreign_page(Relation index, const RunEntry &run, uint32 position) {
    report_corruption(index, run_block(run, position), "The page does not carry its run's stamp.");
}

void initialise_metapage(Page page, const RunKind *kind, Relation index) {
    PageInit(page, BLCKSZ, sizeof(PageStamp));
    PageStamp *stamp = page_stamp(page);
    stamp->kind = static_cast<uint16>(PageKind::Meta);
    MetaPage *meta = meta_page(page);
    memset(meta, 0, offsetof(MetaPage, runs));
    meta->magic = kMagic;
    meta->format_version = kFormatVersion;
    meta->access_method = kind->id;
    if (kind->built_with != nullptr) {
        const BuiltWith with = kind->built_with(index);
        meta->built_with_names = with.names;
        meta->built_with_numbers = with.numbers;
    }
    meta->vacuum_seq = kFirstVacuumSeq;
    meta->next_order = 1;
    meta->directory_version = 1;
    meta->directory_head = InvalidBlockNumber;
    set_content_length(page, offsetof(MetaPage, runs));
}

void initialise_tail(Page page) {
    PageInit(page, BLCKSZ, sizeof(PageStamp));
    PageStamp *stamp = page_stamp(page);
    stamp->position = kTailBlock;
    stamp->kind = static_cast<uint16>(PageKind::Tail);
}

const char *find_metapage_problem(Relation index, const RunKind *kind, Page page) {
    if (PageIsNew(page) || PageGetSpecialSize(page) != sizeof(PageStamp))
        return "The metapage is empty or not a metapage.";
    const MetaPage *meta = meta_page(page);
    if (meta->magic != kMagic)
        return "The metapage's magic number is wrong.";
    if (meta->format_version != kFormatVersion)
        return "The metapage has another on-disk format version.";
    if (meta->access_method != kind->id)
        return "The metapage belongs to another kind of index.";
    if (meta->inline_runs > kInlineRuns ||
        content_length(page) != offsetof(MetaPage, runs) + meta->inline_runs * sizeof(RunEntry))
        return "The run directory's length is wrong.";
    if (unlikely(meta->chained_runs > 0 || meta->directory_head != InvalidBlockNumber)) {
        const BlockNumber blocks = RelationGetNumberOfBlocks(index);
        if (meta->chained_runs == 0 || meta->directory_head >= blocks ||
            meta->chained_runs > static_cast<uint64>(blocks) * kRunsPerDirectoryPage)
            return "The chained run directory's length or place is wrong.";
    }
    return nullptr;
}

Buffer lock_metapage(Relation index, const RunKind *kind, int lock_mode) {
    Buffer buffer = ReadBuffer(index, kMetaBlock);
    LockBuffer(buffer, lock_mode);
    Page page = BufferGetPage(buffer);
    const char *problem = find_metapage_problem(index, kind, page);
    if (likely(problem == nullptr))
        return buffer;
    const MetaPage *meta = meta_page(page);
    if (meta->magic == kMagic && meta->format_version != kFormatVersion)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("index \"%s\" has on-disk format version %u, but this pg_gpu reads version %u",
                               RelationGetRelationName(index), meta->format_version, kFormatVersion),
                        errhint("Rebuild it with REINDEX INDEX.")));
    report_corruption(index, kMetaBlock, problem);
}

uint64 read_vacuum_seq(Relation index, const RunKind *kind) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    const uint64 vacuum_seq = meta_page(BufferGetPage(buffer))->vacuum_seq;
    UnlockReleaseBuffer(buffer);
    return vacuum_seq;
}

BuiltWith read_built_with(Relation index, const RunKind *kind) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    const MetaPage *meta = meta_page(BufferGetPage(buffer));
    const BuiltWith with = {meta->built_with_names, meta->built_with_numbers};
    UnlockReleaseBuffer(buffer);
    return with;
}

bool is_run_entry_valid(const RunKind *kind, const RunEntry &run) {
    if (run.extent_count < 1 || run.extent_count > kExtentsPerRun || run.pages < 1 || run.entries < 1 ||
        run.dead > run.entries)
        return false;
    uint64 covered = 0;
    for (int i = 0; i < run.extent_count; i++) {
        const Extent &extent = run.extents[i];
        if (extent.start < kFirstFreeBlock || extent.count == 0 ||
            static_cast<uint64>(extent.start) + extent.count > kMaxBlocks)
            return false;
        covered += extent.count;
    }
    if (covered != run.pages)
        return false;
    for (const Section &section : run.sections)
        if (static_cast<uint64>(section.first_page) + section.pages > run.pages)
            return false;

    const Section &bitmap = run.sections[kDeadBitmapSection];
    const bool shares_page = run.pages == 1;
    const uint32 bytes_on_first_page = static_cast<uint32>(
        Min(static_cast<uint64>(dead_bitmap_bytes(Min(run.entries, uint64{kDeadBitsPerPage}))),
            uint64{kContentBytes}));
    if (bitmap.pages != dead_bitmap_pages(run.entries) || run.dead_bitmap_offset % 8 != 0 ||
        run.dead_bitmap_offset < kContentStart ||
        run.dead_bitmap_offset > kContentEnd - bytes_on_first_page ||
        (!shares_page && run.dead_bitmap_offset != kContentStart))
        return false;
    return kind->is_valid(kind, run);
}

void check_run_entry(Relation index, const RunKind *kind, const RunEntry &run) {
    if (unlikely(!is_run_entry_valid(kind, run)))
        report_corruption(index, kMetaBlock, "An entry of the run directory is not sound.");
}

// Calls visit(block, directory page) for each chained page, newest first, up to the first damaged one: its
// block is *damaged then, and the result says what is wrong. nullptr when all are sound. The metapage is
// locked by the caller; chained pages are locked here one at a time.
template <typename Visit>
static const char *walk_directory(Relation index, const MetaPage *meta, BlockNumber *damaged, Visit visit) {
    uint32 left = meta->chained_runs;
    BlockNumber block = meta->directory_head;
    const BlockNumber blocks = block == InvalidBlockNumber ? 0 : RelationGetNumberOfBlocks(index);
    while (block != InvalidBlockNumber) {
        *damaged = block;
        if (block >= blocks)
            return "A page of the run directory lies beyond the end of the file.";
        Buffer buffer = ReadBuffer(index, block);
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        Page page = BufferGetPage(buffer);
        const auto *directory = reinterpret_cast<const DirectoryPage *>(page_content(page));
        if (PageIsNew(page) || PageGetSpecialSize(page) != sizeof(PageStamp) ||
            page_stamp(page)->kind != static_cast<uint16>(PageKind::Directory) ||
            directory->runs_on_page > kRunsPerDirectoryPage || directory->runs_on_page == 0 ||
            directory->runs_on_page > left) {
            UnlockReleaseBuffer(buffer);
            return "A page of the run directory is damaged.";
        }
        left -= directory->runs_on_page;
        const BlockNumber next = directory->next;
        visit(block, directory);
        UnlockReleaseBuffer(buffer);
        block = next;
    }
    *damaged = kMetaBlock;
    return left == 0 ? nullptr : "The chained run directory is shorter than recorded.";
}

RunEntry *try_copy_directory(Relation index, Page meta_image, int *count, const char **problem,
                             BlockNumber *damaged) {
    const MetaPage *meta = meta_page(meta_image);
    const uint32 total = meta->inline_runs + meta->chained_runs;
    auto *runs = allocate<RunEntry>(total + 1);
    memcpy(runs, meta->runs, meta->inline_runs * sizeof(RunEntry));
    uint32 copied = meta->inline_runs;
    *problem = walk_directory(index, meta, damaged, [&](BlockNumber, const DirectoryPage *directory) {
        memcpy(runs + copied, directory->runs, directory->runs_on_page * sizeof(RunEntry));
        copied += directory->runs_on_page;
    });
    Assert(copied <= total);
    *count = static_cast<int>(copied);
    return runs;
}

static RunEntry *copy_directory_unchecked(Relation index, Page meta_image, int *count) {
    const char *problem;
    BlockNumber damaged;
    RunEntry *runs = try_copy_directory(index, meta_image, count, &problem, &damaged);
    if (problem != nullptr)
        report_corruption(index, damaged, problem);
    return runs;
}

RunEntry *copy_directory(Relation index, const RunKind *kind, Page meta_image, int *count) {
    RunEntry *runs = copy_directory_unchecked(index, meta_image, count);
    for (int i = 0; i < *count; i++)
        check_run_entry(index, kind, runs[i]);
    return runs;
}

// Keeps the runs that `keep` wants; returns how many.
static uint32 keep_runs(RunEntry *runs, uint32 count, RunEditor keep, void *context) {
    uint32 kept = 0;
    for (uint32 i = 0; i < count; i++)
        if (keep(&runs[i], context))
            runs[kept++] = runs[i];
    return kept;
}

static Buffer lock_block(Relation index, BlockNumber block) {
    Buffer buffer = ReadBuffer(index, block);
    LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
    return buffer;
}

static DirectoryPage *register_directory(GenericXLogState *state, Buffer buffer) {
    return reinterpret_cast<DirectoryPage *>(page_content(GenericXLogRegisterBuffer(state, buffer, 0)));
}

// Edits one chained page by one record; a page that is left without runs leaves the chain. `before` is the
// page that leads to it, or the metapage itself. The metapage is exclusively locked. Returns whether the page
// is left in the chain.
static bool edit_chained_page(Relation index, Buffer meta_buffer, BlockNumber before, BlockNumber block,
                              RunEditor keep, void *context, BlockNumber *next) {
    Buffer before_buffer = before == kMetaBlock ? InvalidBuffer : lock_block(index, before);
    Buffer buffer = lock_block(index, block);
    GenericXLogState *state = GenericXLogStart(index);
    MetaPage *meta = meta_page(GenericXLogRegisterBuffer(state, meta_buffer, 0));
    DirectoryPage *leading = before == kMetaBlock ? nullptr : register_directory(state, before_buffer);
    Page image = GenericXLogRegisterBuffer(state, buffer, 0);
    auto *directory = reinterpret_cast<DirectoryPage *>(page_content(image));
    const uint32 kept = keep_runs(directory->runs, directory->runs_on_page, keep, context);
    meta->chained_runs -= directory->runs_on_page - kept;
    directory->runs_on_page = kept;
    set_content_length(image, offsetof(DirectoryPage, runs) + kept * sizeof(RunEntry));
    *next = directory->next;
    if (kept == 0)
        *(leading != nullptr ? &leading->next : &meta->directory_head) = *next;
    GenericXLogFinish(state);
    UnlockReleaseBuffer(buffer);
    if (BufferIsValid(before_buffer))
        UnlockReleaseBuffer(before_buffer);
    return kept > 0;
}

void edit_directory(Relation index, Buffer meta_buffer, RunEditor keep, void *context, bool ends_vacuum) {
    BlockNumber damaged;
    const char *problem = walk_directory(index, meta_page(BufferGetPage(meta_buffer)), &damaged,
                                         [](BlockNumber, const DirectoryPage *) {});
    if (problem != nullptr)
        report_corruption(index, damaged, problem);
    const MetaPage *old = meta_page(BufferGetPage(meta_buffer));
    const uint32 listed = old->inline_runs + old->chained_runs;
    BlockNumber before = kMetaBlock;
    BlockNumber block = old->directory_head;
    while (block != InvalidBlockNumber) {
        BlockNumber next;
        if (edit_chained_page(index, meta_buffer, before, block, keep, context, &next))
            before = block;
        block = next;
    }
    GenericXLogState *state = GenericXLogStart(index);
    Page image = GenericXLogRegisterBuffer(state, meta_buffer, 0);
    MetaPage *meta = meta_page(image);
    meta->inline_runs = static_cast<uint16>(keep_runs(meta->runs, meta->inline_runs, keep, context));
    set_content_length(image, offsetof(MetaPage, runs) + meta->inline_runs * sizeof(RunEntry));
    if (meta->inline_runs + meta->chained_runs < listed)
        meta->directory_version++;
    if (ends_vacuum)
        meta->vacuum_seq++;
    GenericXLogFinish(state);
}

RunEntry *read_directory(Relation index, const RunKind *kind, int *count) {
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    RunEntry *runs = copy_directory(index, kind, BufferGetPage(buffer), count);
    UnlockReleaseBuffer(buffer);
    return runs;
}

Summary summarise(Relation index, const RunKind *kind) {
    int count;
    RunEntry *runs = read_directory(index, kind, &count);
    Summary summary = {count, 0, 0, 0};
    for (int i = 0; i < count; i++) {
        summary.entries += runs[i].entries;
        summary.dead += runs[i].dead;
        summary.pages += runs[i].pages;
    }
    pfree(runs);
    return summary;
}

Extent *used_extents(Relation index, Page meta_image, int *count) {
    const MetaPage *meta = meta_page(meta_image);
    int run_count;
    RunEntry *runs = copy_directory_unchecked(index, meta_image, &run_count);
    const int room = run_count * kExtentsPerRun + kReservationOwners * kExtentsPerRun +
                     static_cast<int>(meta->chained_runs) + 1;
    auto *used = allocate<Extent>(room);
    int n = 0;

    const BlockNumber blocks = RelationGetNumberOfBlocks(index);
    const auto add = [&](const Extent &extent) {
        used[n] = clip_extent(extent, blocks);
        n += used[n].count > 0;
    };
    used[n++] = {kMetaBlock, kFirstFreeBlock};
    for (int i = 0; i < run_count; i++)
        for (int j = 0; j < Min(int{runs[i].extent_count}, kExtentsPerRun); j++)
            add(runs[i].extents[j]);
    for (const auto &reservation : meta->reservations)
        for (const Extent &extent : reservation)
            if (static_cast<uint64>(extent.start) + extent.count <= blocks)
                add(extent);
    BlockNumber damaged;
    const char *problem =
        walk_directory(index, meta, &damaged, [&](BlockNumber block, const DirectoryPage *) {
            used[n++] = {block, 1};
        });
    if (problem != nullptr)
        report_corruption(index, damaged, problem);
    Assert(n <= room);
    pfree(runs);
    *count = n;
    return used;
}

void check_runs_in_file(Relation index, Page meta_image) {
    const BlockNumber blocks = RelationGetNumberOfBlocks(index);
    int count;
    RunEntry *runs = copy_directory_unchecked(index, meta_image, &count);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < Min(int{runs[i].extent_count}, kExtentsPerRun); j++)
            if (static_cast<uint64>(runs[i].extents[j].start) + runs[i].extents[j].count > blocks)
                report_corruption(index, kMetaBlock, "A run lies beyond the end of the file.");
    pfree(runs);
}

// Chooses blocks for a chain of so many directory pages; returns how long the file must be for them.
static BlockNumber place_directory_chain(Relation index, Page meta_image, uint32 pages, BlockNumber *blocks) {
    int used_count;
    Extent *used = used_extents(index, meta_image, &used_count);
    used = reallocate(used, static_cast<size_t>(used_count) + pages);
    BlockNumber end = 0;
    for (uint32 i = 0; i < pages; i++) {
        Extent place;
        place_pages(index, used, used_count, 1, 1, &place);
        used[used_count++] = place;
        blocks[i] = place.start;
        end = Max(end, place.start + 1);
    }
    pfree(used);
    return end;
}

// Writes the entries that do not fit the metapage to fresh directory pages and returns the chain's head.
// Nothing refers to the pages until the metapage does; a crash before that leaves them free.
static BlockNumber write_directory_chain(Relation index, const RunEntry *runs, uint32 count,
                                         const BlockNumber *blocks) {
    BlockNumber head = InvalidBlockNumber;
    for (uint32 done = 0; done < count; blocks++) {
        const uint32 on_page = Min(kRunsPerDirectoryPage, count - done);
        Buffer buffer = acquire_page(index, *blocks);
        Page page = BufferGetPage(buffer);
        START_CRIT_SECTION();
        PageInit(page, BLCKSZ, sizeof(PageStamp));
        page_stamp(page)->kind = static_cast<uint16>(PageKind::Directory);
        auto *directory = reinterpret_cast<DirectoryPage *>(page_content(page));
        directory->next = head;
        directory->runs_on_page = on_page;
        memcpy(directory->runs, runs + done, on_page * sizeof(RunEntry));
        set_content_length(page, offsetof(DirectoryPage, runs) + on_page * sizeof(RunEntry));
        MarkBufferDirty(buffer);
        if (RelationNeedsWAL(index))
            log_newpage_buffer(buffer, true);
        END_CRIT_SECTION();
        UnlockReleaseBuffer(buffer);
        head = *blocks;
        done += on_page;
    }
    return head;
}

BlockNumber replace_directory(Relation index, Buffer meta_buffer, const RunEntry *runs, int count,
                              ReservationOwner owner) {
    const uint32 total = static_cast<uint32>(count);
    const uint32 chained = total > kInlineRuns ? total - kInlineRuns : 0;
    const uint32 pages = (chained + kRunsPerDirectoryPage - 1) / kRunsPerDirectoryPage;
    auto *blocks = allocate<BlockNumber>(pages + 1);
    const BlockNumber end =
        pages == 0 ? 0 : place_directory_chain(index, BufferGetPage(meta_buffer), pages, blocks);
    if (end > RelationGetNumberOfBlocks(index)) {
        check_runs_in_file(index, BufferGetPage(meta_buffer));
        pfree(blocks);
        return end;
    }
    const BlockNumber head = write_directory_chain(index, runs + (total - chained), chained, blocks);
    pfree(blocks);

    GenericXLogState *state = GenericXLogStart(index);
    Page page = GenericXLogRegisterBuffer(state, meta_buffer, 0);
    MetaPage *meta = meta_page(page);
    meta->inline_runs = static_cast<uint16>(total - chained);
    meta->chained_runs = chained;
    meta->directory_head = head;
    meta->directory_version++;
    memset(meta->reservations[static_cast<int>(owner)], 0, sizeof(meta->reservations[0]));
    memcpy(meta->runs, runs, meta->inline_runs * sizeof(RunEntry));
    set_content_length(page, offsetof(MetaPage, runs) + meta->inline_runs * sizeof(RunEntry));
    GenericXLogFinish(state);
    return 0;
}

}  // namespace pg_gpu::storage
