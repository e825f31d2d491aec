#include "progress.h"

#include "shared_memory.h"

namespace pg_gpu {

namespace {

constexpr int kPlaces = 24;
constexpr int kReservedPlaces = 512;  // places where the library is preloaded

struct Place {
    slock_t mutex;
    Progress progress;  // pid 0: a free place
    pg_atomic_uint64 done;
};

struct SharedPlaces {
    int count;
    Place places[FLEXIBLE_ARRAY_MEMBER];
};

constexpr size_t bytes_of(int places) {
    return offsetof(SharedPlaces, places) + static_cast<size_t>(places) * sizeof(Place);
}

// The session's own. Work stands within work no deeper than that; if it does, levels are the last one's.
constexpr int kMaxDepth = 8;

struct Own {
    Place *place;           // nullptr: none
    int depth;              // work within work
    int levels[kMaxDepth];  // nest levels of the transactions in which the phases began
};

}  // namespace

static void initialise(void *place, int count) {
    auto *shared = static_cast<SharedPlaces *>(place);
    memset(place, 0, bytes_of(count));
    shared->count = count;
    for (int i = 0; i < count; i++) {
        SpinLockInit(&shared->places[i].mutex);
        pg_atomic_init_u64(&shared->places[i].done, 0);
    }
}

static SharedStructure structure = {"pg_gpu progress", bytes_of(kPlaces),
                                    [](void *place) { initialise(place, kPlaces); }, nullptr, false};

void reserve_progress() {
    structure.bytes = bytes_of(kReservedPlaces);
    structure.initialise = [](void *place) { initialise(place, kReservedPlaces); };
    reserve_shared(structure);
}

static SharedPlaces *shared_places() {
    return static_cast<SharedPlaces *>(find_shared(&structure));
}

static Own own = {};

// This phase's tuples, and whether pg_stat_progress_create_index has them, too.
static uint64 own_done = 0;
static uint64 own_total = 0;
static bool is_reported = false;

static void leave() {
    if (own.place != nullptr) {
        SpinLockAcquire(&own.place->mutex);
        own.place->progress.pid = 0;
        SpinLockRelease(&own.place->mutex);
    }
    own = {};
}

static void leave_at_exit(int, Datum) {
    leave();
}

static void end_of_transaction(XactEvent event, void *) {
    if (event != XACT_EVENT_ABORT && event != XACT_EVENT_PARALLEL_ABORT)
        return;
    is_reported = false;
    leave();
}

static void end_of_subtransaction(SubXactEvent event, SubTransactionId, SubTransactionId, void *) {
    if (event != SUBXACT_EVENT_ABORT_SUB)
        return;
    // PostgreSQL has then taken the command out of its view.
    is_reported = false;
    if (own.depth == 0)
        return;
    while (own.depth > 0 && own.levels[Min(own.depth, kMaxDepth) - 1] >= GetCurrentTransactionNestLevel())
        own.depth--;
    if (own.depth == 0)
        leave();
}

static void register_callbacks() {
    static bool registered = false;
    if (registered)
        return;
    registered = true;
    RegisterXactCallback(end_of_transaction, nullptr);
    RegisterSubXactCallback(end_of_subtransaction, nullptr);
    before_shmem_exit(leave_at_exit, Datum{0});
}

static void count_from_start(uint64 total) {
    own_done = 0;
    own_total = total;
    if (!is_reported)
        return;
    pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, 0);
    pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, static_cast<int64>(total));
}

void begin_progress(const char *command, Oid index, const char *phase, uint64 total) {
    register_callbacks();
    const bool is_outermost = own.depth++ == 0;
    own.levels[Min(own.depth, kMaxDepth) - 1] = GetCurrentTransactionNestLevel();
    if (!is_outermost) {
        begin_phase(phase, total);
        return;
    }
    own.place = nullptr;
    Progress progress = {};
    progress.pid = MyProcPid;
    progress.database = MyDatabaseId;
    progress.user = GetSessionUserId();
    progress.index = index;
    progress.total = total;
    progress.started = GetCurrentTimestamp();
    strlcpy(progress.command, command, sizeof(progress.command));
    strlcpy(progress.phase, phase, sizeof(progress.phase));
    SharedPlaces *shared = shared_places();
    for (int i = 0; shared != nullptr && i < shared->count && own.place == nullptr; i++) {
        Place *place = &shared->places[i];
        SpinLockAcquire(&place->mutex);
        if (place->progress.pid == 0) {
            place->progress = progress;
            pg_atomic_write_u64(&place->done, 0);
            own.place = place;
        }
        SpinLockRelease(&place->mutex);
    }
    count_from_start(total);
}

void end_progress() {
    if (own.depth > 1)
        own.depth--;
    else
        leave();
}

void begin_phase(const char *phase, uint64 total) {
    count_from_start(total);
    if (own.place == nullptr)
        return;
    SpinLockAcquire(&own.place->mutex);
    strlcpy(own.place->progress.phase, phase, sizeof(own.place->progress.phase));
    own.place->progress.total = total;
    pg_atomic_write_u64(&own.place->done, 0);
    SpinLockRelease(&own.place->mutex);
}

void add_progress(uint64 tuples) {
    set_progress(own_done + tuples);
}

// Only this session writes its own place, so that it is written without a lock.
void set_progress(uint64 tuples) {
    own_done = tuples;
    if (own.place != nullptr)
        pg_atomic_write_u64(&own.place->done, tuples);
    if (is_reported)
        pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, static_cast<int64>(tuples));
}

// ---- pg_stat_progress_create_index ------------------------------------------------------------------------

void begin_build_report(Relation index, int64 subphase) {
    if (MyBEEntry == nullptr || MyBEEntry->st_progress_command != PROGRESS_COMMAND_INVALID)
        return;
    register_callbacks();
    const int parameters[] = {PROGRESS_CREATEIDX_INDEX_OID, PROGRESS_CREATEIDX_ACCESS_METHOD_OID,
                              PROGRESS_CREATEIDX_PHASE, PROGRESS_CREATEIDX_SUBPHASE};
    const int64 values[] = {RelationGetRelid(index), index->rd_rel->relam, PROGRESS_CREATEIDX_PHASE_BUILD,
                            subphase};
    pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, index->rd_index->indrelid);
    pgstat_progress_update_multi_param(lengthof(parameters), parameters, values);
    is_reported = true;
}

void report_blocks(int64 done, int64 total) {
    if (!is_reported)
        return;
    pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, total);
    pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, done);
}

void end_build_report() {
    if (is_reported)
        pgstat_progress_end_command();
    is_reported = false;
}

void begin_writing_report(uint64 rows) {
    register_callbacks();
    is_reported = true;
    count_from_start(rows);
}

void end_writing_report() {
    set_progress(own_total);
    is_reported = false;
}

void show_progress(void (*show)(const Progress &progress, uint64 done, void *context), void *context) {
    SharedPlaces *shared = shared_places();
    for (int i = 0; shared != nullptr && i < shared->count; i++) {
        Place *place = &shared->places[i];
        SpinLockAcquire(&place->mutex);
        const Progress progress = place->progress;
        const uint64 done = pg_atomic_read_u64(&place->done);
        SpinLockRelease(&place->mutex);
        if (progress.pid != 0)
            show(progress, done, context);
    }
}

}  // namespace pg_gpu
