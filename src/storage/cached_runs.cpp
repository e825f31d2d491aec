#include "storage/cached_runs.h"

#include <algorithm>

#include "storage/runs.h"
#include "temporary_file.h"

namespace pg_gpu::storage {

// Runs of so many pages are copied under the metapage's lock, and no more pages than that in all.
static constexpr uint32 kSmallRun = 64;
static constexpr uint32 kPagesUnderLock = 512;
// At most so many of these may have to be read from the file, because inserts that fill a page wait
// meanwhile.
static constexpr uint32 kReadsUnderLock = 16;
// The limit rises by this factor when a larger run than it allowed for was taken away.
static constexpr uint32 kGrowth = 16;

// ---- who has a copy ---------------------------------------------------------------------------------------

// Copies of all readers of this session, by slot. A reader's RunEntries name the slots of its own, so that
// nobody reads another reader's dead bits, which may be older than his view.
struct Slot {
    uint64 run_id;  // 0: free
    char *images;
    BufFile *file;
    uint32 pages;
    MemoryContext context;
};
static Slot *slots = nullptr;
static uint32 slot_room = 0;
static uint32 slots_in_use = 0;

static uint32 take_slot(const Slot &taken) {
    uint32 slot = 0;
    while (slot < slot_room && slots[slot].run_id != 0)
        slot++;
    if (slot == slot_room) {
        const uint32 room = slot_room * 2 + 16;
        auto *larger = static_cast<Slot *>(MemoryContextAllocZero(TopMemoryContext, room * sizeof(Slot)));
        if (slots != nullptr) {
            memcpy(larger, slots, slot_room * sizeof(Slot));
            pfree(slots);
        }
        slots = larger;
        slot_room = room;
    }
    slots[slot] = taken;
    slots_in_use++;
    return slot + 1;
}

static void give_slot_back(uint32 slot) {
    slots[slot - 1] = {};
    slots_in_use--;
}

Page cached_page(Relation index, const RunEntry &run, uint32 position, bool *temporary) {
    *temporary = false;
    if (run.cached == 0 || run.cached > slot_room)
        return nullptr;
    const Slot &slot = slots[run.cached - 1];
    if (slot.run_id != run.run_id || position >= slot.pages)
        return nullptr;
    if (slot.images != nullptr)
        return slot.images + static_cast<size_t>(position) * BLCKSZ;
    *temporary = true;
    // Pages may be held for longer than the caller's context lives.
    auto *image = static_cast<char *>(MemoryContextAlloc(slot.context, BLCKSZ));
    seek_file_block(slot.file, position, index);
    read_file(slot.file, image, BLCKSZ, index);
    return image;
}

// ---- a reader's copies ------------------------------------------------------------------------------------

struct Copy {
    uint64 run_id;
    uint32 pages;
    uint32 slot;   // RunEntry::cached of those who read it
    char *images;  // nullptr: in the file
    BufFile *file;
};

struct Copies {
    MemoryContext context;  // has everything here
    MemoryContextCallback callback;
    uint64 vacuum_seq;  // vacuum seq of the view for which they were made: dead bits are no older
    Copy *runs;
    int count;
    int room;
    uint32 pages_in_memory;
};

void begin_cached(CachedRuns *cached) {
    *cached = {CurrentMemoryContext, 0, nullptr};
}

// Gives all slots back, after an error too: files have gone with their resource owner then.
static void give_slots_back(void *argument) {
    auto *copies = static_cast<Copies *>(argument);
    for (int i = 0; i < copies->count; i++)
        give_slot_back(copies->runs[i].slot);
}

static Copies *make_copies(MemoryContext owner) {
    MemoryContext context = AllocSetContextCreate(owner, "pg_gpu cached runs", ALLOCSET_DEFAULT_SIZES);
    auto *copies = static_cast<Copies *>(MemoryContextAllocZero(context, sizeof(Copies)));
    copies->context = context;
    copies->callback.func = give_slots_back;
    copies->callback.arg = copies;
    MemoryContextRegisterResetCallback(context, &copies->callback);
    return copies;
}

static void drop_copy(Copies *copies, int number) {
    Copy *run = &copies->runs[number];
    give_slot_back(run->slot);
    if (run->images != nullptr) {
        copies->pages_in_memory -= run->pages;
        pfree(run->images);
    } else {
        BufFileClose(run->file);
    }
    *run = copies->runs[--copies->count];
}

void end_cached(CachedRuns *cached) {
    if (cached->copies != nullptr) {
        while (cached->copies->count > 0)
            drop_copy(cached->copies, cached->copies->count - 1);
        MemoryContextDelete(cached->copies->context);
    }
    cached->copies = nullptr;
    cached->page_limit = 0;
}

static const Copy *find_copy(const Copies *copies, uint64 run_id) {
    const Copy *end = copies->runs + copies->count;
    const Copy *found = std::find_if(static_cast<const Copy *>(copies->runs), end,
                                     [&](const Copy &run) { return run.run_id == run_id; });
    return found == end ? nullptr : found;
}

static void add_copy(Copies *copies, const Copy &run, RunEntry *entry) {
    if (copies->count == copies->room) {
        copies->room = copies->room * 2 + 32;
        copies->runs =
            copies->runs == nullptr ? allocate<Copy>(copies->room) : reallocate(copies->runs, copies->room);
    }
    Copy *added = &copies->runs[copies->count];
    *added = run;
    added->slot = take_slot({run.run_id, run.images, run.file, run.pages, copies->context});
    copies->count++;
    if (run.images != nullptr)
        copies->pages_in_memory += run.pages;
    entry->cached = added->slot;
}

// Copies that the view has no use for: of runs that are gone, or with dead bits as of an earlier VACUUM.
static void drop_useless(Copies *copies, const View &view) {
    for (int i = copies->count - 1; i >= 0; i--) {
        const bool listed = std::any_of(view.runs, view.runs + view.run_count, [&](const RunEntry &run) {
            return run.run_id == copies->runs[i].run_id;
        });
        if (!listed || copies->vacuum_seq != view.vacuum_seq)
            drop_copy(copies, i);
    }
    copies->vacuum_seq = view.vacuum_seq;
}

// False when a page was recycled.
static bool copy_pages(Relation index, const RunEntry &run, char *images, BufFile *file) {
    NearbyBuffer nearby = {};
    for (uint32 position = 0; position < run.pages; position++) {
        CHECK_FOR_INTERRUPTS();
        const RunPage page = read_run_page(index, run, position, nullptr, &nearby);
        if (page.page == nullptr)
            return false;
        if (images != nullptr)
            memcpy(images + static_cast<size_t>(position) * BLCKSZ, page.page, BLCKSZ);
        else
            BufFileWrite(file, page.page, BLCKSZ);
        release_run_page(page);
    }
    return true;
}

// A run of which a page is recycled meanwhile is left to be met by the reader, who takes another view then.
static void keep_run(Relation index, Copies *copies, RunEntry *run, bool in_memory) {
    Copy copy = {run->run_id, run->pages, 0, nullptr, nullptr};
    if (in_memory)
        copy.images = allocate<char>(static_cast<size_t>(run->pages) * BLCKSZ);
    else
        copy.file = BufFileCreateTemp(false);
    if (copy_pages(index, *run, copy.images, copy.file))
        add_copy(copies, copy, run);
    else if (in_memory)
        pfree(copy.images);
    else
        BufFileClose(copy.file);
}

// Returns how many of a run's pages aren't in shared buffers; a result above `limit` only says that they are
// too many. The operating system is asked to read ahead those that were looked at. A run behind the end of
// the file is damage, which the reader will meet.
static uint32 count_reads(Relation index, const RunEntry &run, BlockNumber blocks, uint32 limit) {
    uint32 reads = 0;
    for (uint32 position = 0; position < run.pages && reads <= limit; position++) {
        const BlockNumber block = run_block(run, position);
        if (block >= blocks)
            return limit + 1;
        if (!BufferIsValid(PrefetchBuffer(index, MAIN_FORKNUM, block).recent_buffer))
            reads++;
    }
    return reads;
}

void cache_small_runs(Relation index, View *view) {
    CachedRuns *cached = view->cached;
    if (cached->page_limit == 0) {
        end_cached(cached);
        return;
    }
    if (cached->copies == nullptr)
        cached->copies = make_copies(cached->owner);
    Copies *copies = cached->copies;
    drop_useless(copies, *view);
    MemoryContext caller = MemoryContextSwitchTo(copies->context);
    const BlockNumber blocks = RelationGetNumberOfBlocks(index);
    uint32 pages = 0;
    uint32 reads_left = kReadsUnderLock;
    for (int i = 0; i < view->run_count; i++) {
        RunEntry *run = &view->runs[i];
        const Copy *copy = find_copy(copies, run->run_id);
        if (copy != nullptr) {
            run->cached = copy->slot;
        } else if (run->pages <= kSmallRun && pages + run->pages <= kPagesUnderLock) {
            const uint32 reads = count_reads(index, *run, blocks, reads_left);
            if (reads <= reads_left) {
                reads_left -= reads;
                pages += run->pages;
                keep_run(index, copies, run, true);
            }
        }
    }
    MemoryContextSwitchTo(caller);
}

void cache_large_runs(Relation index, View *view) {
    const CachedRuns *cached = view->cached;
    if (cached->page_limit == 0)
        return;
    Copies *copies = cached->copies;
    MemoryContext caller = MemoryContextSwitchTo(copies->context);
    const auto max_in_memory = static_cast<uint64>(work_mem) * 1024 / BLCKSZ;
    for (int i = 0; i < view->run_count; i++) {
        RunEntry *run = &view->runs[i];
        if (run->cached == 0 && run->pages <= cached->page_limit)
            keep_run(index, copies, run, copies->pages_in_memory + uint64{run->pages} <= max_in_memory);
    }
    MemoryContextSwitchTo(caller);
}

// ---- after a mismatch -------------------------------------------------------------------------------------

static void keep_more(CachedRuns *cached, const RunEntry &run) {
    if (cached->page_limit == 0)
        cached->page_limit = kSmallRun;
    else if (run.pages > cached->page_limit)
        cached->page_limit =
            static_cast<uint32>(Min(uint64{cached->page_limit} * kGrowth, uint64{kMaxBlocks}));
}

void confirm_recycled(Relation index, const RunKind *kind, const View &view, const RunEntry &run,
                      uint32 position) {
    CHECK_FOR_INTERRUPTS();
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    const bool changed = meta_page(BufferGetPage(buffer))->directory_version != view.directory_version;
    UnlockReleaseBuffer(buffer);
    if (!changed)
        report_foreign_page(index, run, position);
    if (view.cached != nullptr)
        keep_more(view.cached, run);
}

}  // namespace pg_gpu::storage
