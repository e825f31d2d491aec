// Page images are copied into slots of the transfer buffer, a chunk of pages each, and sent in order: while
// the server takes the entries out of one slot, others are filled. Parallel workers copy as well; only the
// leader speaks with the server. README.md beside this file has the protocol between them.
#include "residency/page_load.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cost/cost.h"
#include "compat.h"
#include "memory.h"

namespace pg_gpu::client {

static constexpr uint32 kMaxChunkPages = (1U << 20) / BLCKSZ;
// A slot is being copied into by each participant, one is sent and one is ready.
static constexpr uint32 kMaxSlots = 64;
// A worker's share, in units of min_parallel_index_scan_size: it must pay for the worker's start.
static constexpr uint32 kLeastShare = 16;
// Workers that fill slots as fast as the server empties them. Then the leader doesn't copy, which would keep
// the server waiting.
static constexpr uint32 kEnoughHelpers = 4;
static constexpr uint64 kKeyLoad = UINT64CONST(0xB600000000000011);

namespace {

// The participants share this: in a DSM segment, or, without workers, in the leader's own memory.
struct SharedLoad {
    Oid index;
    storage::RunEntry run;
    MirroredPages pages;
    uint32 chunk_pages;
    uint32 chunks;
    uint32 slots;
    // The leader's transfer buffer.
    pid_t leader;
    int descriptor;
    uint64 bytes;
    dev_t device;
    ino_t inode;
    // Chunks ascend, and chunk c has slot c % slots.
    pg_atomic_uint32 claimed;            // chunks that someone copies or has copied
    pg_atomic_uint32 answered;           // chunks that the server has taken: their slots are free
    pg_atomic_uint32 stopped;            // nothing more is wanted
    pg_atomic_uint32 helpers;            // workers that copy
    pg_atomic_uint32 filled[kMaxSlots];  // the number of the chunk last copied into a slot, plus one
    ConditionVariable changed;
};

// The state of one participant that reads pages.
struct Reader {
    BufferAccessStrategy strategy;
    storage::NearbyBuffer nearby;
};

}  // namespace

static bool is_stopped(SharedLoad *shared) {
    return pg_atomic_read_u32(&shared->stopped) != 0;
}

// The exchange is the barrier that what was copied before needs.
static void report(SharedLoad *shared, pg_atomic_uint32 *what, uint32 value) {
    pg_atomic_exchange_u32(what, value);
    ConditionVariableBroadcast(&shared->changed);
}

// ---- copying ---------------------------------------------------------------------------------------------

// The next chunk that has a free slot; false when there is none now.
static bool claim_chunk(SharedLoad *shared, uint32 *chunk) {
    *chunk = pg_atomic_read_u32(&shared->claimed);
    while (*chunk < shared->chunks && *chunk < pg_atomic_read_u32(&shared->answered) + shared->slots)
        if (pg_atomic_compare_exchange_u32(&shared->claimed, chunk, *chunk + 1))
            return true;
    return false;
}

static uint32 pages_of_chunk(const SharedLoad *shared, uint32 chunk) {
    return Min(shared->chunk_pages, shared->pages.count - chunk * shared->chunk_pages);
}

static uint32 position_of(const SharedLoad *shared, uint32 page) {
    const storage::Section &entries = shared->run.sections[storage::kEntrySection];
    if (shared->pages.further_section == 0 || page < entries.pages)
        return entries.first_page + page;
    return shared->run.sections[shared->pages.further_section].first_page + page - entries.pages;
}

// False when the page was recycled.
static bool copy_page(Relation index, const SharedLoad *shared, uint32 page, char *place, Reader *reader) {
    const uint32 position = position_of(shared, page);
    const storage::RunPage held =
        storage::read_run_page(index, shared->run, position, reader->strategy, &reader->nearby);
    if (held.page == nullptr)
        return false;
    Page image = held.page;
    const MirroredPages &pages = shared->pages;
    const uint64 entries = Min(shared->run.entries - uint64{page} * pages.per_page, uint64{pages.per_page});
    uint64 content = entries * (pages.key_bytes + sizeof(ItemPointerData));
    if (pages.stream_bytes > 0 && page >= pages.ragged_pages)
        content = Min(pages.stream_bytes - uint64{page - pages.ragged_pages} * storage::kContentBytes,
                      uint64{storage::kContentBytes});
    if (storage::content_length(image) < content)
        storage::report_corruption(index, storage::run_block(shared->run, position),
                                   "A page is shorter than its entries.");
    memcpy(place, image, BLCKSZ);
    storage::release_run_page(held);
    return true;
}

// Copies a claimed chunk into its slot of the buffer at `base`; stops the load when the run is gone.
static void copy_chunk(Relation index, SharedLoad *shared, uint32 chunk, char *base, Reader *reader) {
    const uint32 slot = chunk % shared->slots;
    const uint32 pages = pages_of_chunk(shared, chunk);
    for (uint32 i = 0; i < pages; i++) {
        CHECK_FOR_INTERRUPTS();
        if (!copy_page(index, shared, chunk * shared->chunk_pages + i,
                       base + (uint64{slot} * shared->chunk_pages + i) * BLCKSZ, reader)) {
            report(shared, &shared->stopped, 1);
            return;
        }
    }
    report(shared, &shared->filled[slot], chunk + 1);
}

static void wait_for_change(SharedLoad *shared) {
    static uint32 wait_event = 0;
    if (wait_event == 0)
        wait_event = named_wait_event("PgGpuLoad");
    ConditionVariableSleep(&shared->changed, wait_event);
}

// ---- workers ---------------------------------------------------------------------------------------------

// Maps the leader's transfer buffer, by way of its descriptor; nullptr when the system doesn't allow that.
static char *map_buffer_of_leader(const SharedLoad *shared) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", static_cast<int>(shared->leader), shared->descriptor);
    const int fd = OpenTransientFile(path, O_RDWR);
    if (fd < 0)
        return nullptr;
    struct stat status;
    void *base = MAP_FAILED;
    if (fstat(fd, &status) == 0 && status.st_dev == shared->device && status.st_ino == shared->inode)
        base = mmap(nullptr, shared->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CloseTransientFile(fd);
    return base != MAP_FAILED ? static_cast<char *>(base) : nullptr;
}

static uint32 help_to_copy(Relation index, SharedLoad *shared, char *base) {
    uint32 copied = 0;
    Reader reader = {GetAccessStrategy(BAS_BULKREAD), {}};
    ConditionVariablePrepareToSleep(&shared->changed);
    while (!is_stopped(shared) && pg_atomic_read_u32(&shared->claimed) < shared->chunks) {
        uint32 chunk;
        if (claim_chunk(shared, &chunk)) {
            copy_chunk(index, shared, chunk, base, &reader);
            copied++;
        } else {
            wait_for_change(shared);
        }
    }
    ConditionVariableCancelSleep();
    FreeAccessStrategy(reader.strategy);
    return copied;
}

static ParallelContext *launch_workers(const PageLoad &load, uint32 pages, SharedLoad **shared) {
    const uint32 share = kLeastShare * static_cast<uint32>(Max(min_parallel_index_scan_size, 1));
    const int workers = Min(load.max_workers, static_cast<int>(pages / share));
    // Workers can't read temporary indexes, which lie in the session's own buffers.
    if (workers <= 0 || IsInParallelMode() || RelationUsesLocalBuffers(load.set->index))
        return nullptr;
    EnterParallelMode();
    ParallelContext *context = CreateParallelContext("pg_gpu", "pg_gpu_load_worker_main", workers);
    shm_toc_estimate_chunk(&context->estimator, sizeof(SharedLoad));
    shm_toc_estimate_keys(&context->estimator, 1);
    InitializeParallelDSM(context);
    if (context->seg == nullptr) {
        DestroyParallelContext(context);
        ExitParallelMode();
        return nullptr;
    }
    auto *placed = static_cast<SharedLoad *>(shm_toc_allocate(context->toc, sizeof(SharedLoad)));
    *placed = **shared;
    // The copy had no sleepers on its condition variable, so that it can be initialised anew.
    ConditionVariableInit(&placed->changed);
    shm_toc_insert(context->toc, kKeyLoad, placed);
    pfree(*shared);
    *shared = placed;
    LaunchParallelWorkers(context);
    return context;
}

static void end_workers(ParallelContext *context) {
    WaitForParallelWorkersToFinish(context);
    DestroyParallelContext(context);
    ExitParallelMode();
}

// ---- the leader ------------------------------------------------------------------------------------------

static SharedLoad *begin_load(const PageLoad &load, const MirroredPages &pages, uint32 chunk_pages) {
    auto *shared = allocate_zeroed<SharedLoad>(1);
    shared->index = RelationGetRelid(load.set->index);
    shared->run = *load.run;
    shared->pages = pages;
    shared->chunk_pages = chunk_pages;
    shared->chunks = (pages.count + chunk_pages - 1) / chunk_pages;
    shared->slots =
        static_cast<uint32>(Min(buffer_bytes() / (uint64{chunk_pages} * BLCKSZ), uint64{kMaxSlots}));
    shared->leader = MyProcPid;
    shared->descriptor = buffer_descriptor();
    shared->bytes = buffer_bytes();
    struct stat status = {};
    fstat(shared->descriptor, &status);
    shared->device = status.st_dev;
    shared->inode = status.st_ino;
    pg_atomic_init_u32(&shared->claimed, 0);
    pg_atomic_init_u32(&shared->answered, 0);
    pg_atomic_init_u32(&shared->stopped, 0);
    pg_atomic_init_u32(&shared->helpers, 0);
    for (pg_atomic_uint32 &slot : shared->filled)
        pg_atomic_init_u32(&slot, 0);
    ConditionVariableInit(&shared->changed);
    return shared;
}

// Waits for the reply about the last chunk sent, if it hasn't come yet. It is called after a failure, too, so
// that the connection is free for the next request.
static bool settle(SharedLoad *shared, uint32 sent, bool *pending) {
    if (!*pending)
        return true;
    *pending = false;
    protocol::ReplyHeader reply;
    if (!receive_reply(&reply, sizeof(reply)) ||
        (result_of(reply) != protocol::ReplyResult::done && !fail_by_reply(reply)))
        return false;
    report(shared, &shared->answered, sent);
    return true;
}

static bool send_chunks(const PageLoad &load, SharedLoad *shared) {
    auto message = make_message<protocol::AppendPages>(protocol::Message::append_pages, load.path);
    message.handle = load.handle;
    message.run_entries = load.run->entries;
    message.run_first = 0;
    message.layout = {BLCKSZ, storage::kContentStart, shared->pages.per_page, shared->pages.key_bytes};
    const uint64 slot_bytes = uint64{shared->chunk_pages} * BLCKSZ;
    const double estimate = static_cast<double>(slot_bytes) / kMebibyte * cost_constants().load;
    Reader reader = {GetAccessStrategy(BAS_BULKREAD), {}};
    uint32 sent = 0;  // chunks
    bool pending = false;
    bool valid = true;
    ConditionVariablePrepareToSleep(&shared->changed);
    while (valid && sent < shared->chunks) {
        uint32 chunk;
        if (is_stopped(shared)) {
            valid = fail_as_recycled();
        } else if (pg_atomic_read_u32(&shared->filled[sent % shared->slots]) == sent + 1) {
            pg_read_barrier();
            message.offset = sent % shared->slots * slot_bytes;
            message.first_page = sent * shared->chunk_pages;
            message.pages = pages_of_chunk(shared, sent);
            valid = settle(shared, sent, &pending) && send_request(&message.header, estimate);
            pending = valid;
            sent++;
            load.sent(message.pages);
        } else if (pg_atomic_read_u32(&shared->helpers) < kEnoughHelpers && claim_chunk(shared, &chunk)) {
            copy_chunk(load.set->index, shared, chunk, buffer_at(0), &reader);
        } else if (pending) {
            valid = settle(shared, sent, &pending);
        } else {
            wait_for_change(shared);
        }
    }
    ConditionVariableCancelSleep();
    valid = settle(shared, sent, &pending) && valid;
    FreeAccessStrategy(reader.strategy);
    return valid;
}

bool send_pages(const PageLoad &load) {
    const MirroredPages pages = mirrored_pages(*load.set->format, *load.run);
    const int workers = Max(load.max_workers, 0);
    // Two slots a participant: one is filled while the other one waits for its turn.
    const uint64 slots = Min(uint64{kMaxSlots}, 2 * (uint64{1} + static_cast<uint64>(workers)));
    // A run of a few pages needs no large buffer.
    const uint32 chunk_pages = Max(Min(kMaxChunkPages, pages.count), 1);
    const uint64 chunk_bytes = uint64{chunk_pages} * BLCKSZ;
    const uint64 chunks = (uint64{pages.count} + chunk_pages - 1) / chunk_pages;
    if (!need_buffer(chunk_bytes, Min(slots, chunks + 1) * chunk_bytes))
        return false;
    SharedLoad *shared = begin_load(load, pages, chunk_pages);
    ParallelContext *context = launch_workers(load, pages.count, &shared);
    const bool valid = send_chunks(load, shared);
    if (context == nullptr) {
        pfree(shared);
        return valid;
    }
    report(shared, &shared->stopped, 1);
    end_workers(context);
    return valid;
}

}  // namespace pg_gpu::client

extern "C" PGDLLEXPORT void pg_gpu_load_worker_main(dsm_segment *, shm_toc *toc);

void pg_gpu_load_worker_main(dsm_segment *, shm_toc *toc) {
    using namespace pg_gpu::client;
    auto *shared = static_cast<SharedLoad *>(shm_toc_lookup(toc, kKeyLoad, false));
    char *base = map_buffer_of_leader(shared);
    if (base == nullptr) {
        ereport(DEBUG1, (errmsg("a parallel worker cannot map its leader's transfer buffer: %m")));
        return;
    }
    Relation index = index_open(shared->index, AccessShareLock);
    pg_atomic_fetch_add_u32(&shared->helpers, 1);
    const uint32 copied = help_to_copy(index, shared, base);
    ereport(DEBUG1,
            (errmsg_internal("a parallel worker copied %u of %u chunks of pages", copied, shared->chunks)));
    index_close(index, AccessShareLock);
    munmap(base, shared->bytes);
}
