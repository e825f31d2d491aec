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
    if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
        leave();
}

static void end_of_subtransaction(SubXactEvent event, SubTransactionId, SubTransactionId, void *) {
    if (event != SUBXACT_EVENT_ABORT_SUB || own.depth == 0)
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
}

void end_progress() {
    if (own.depth > 1)
        own.depth--;
    else
        leave();
}

void begin_phase(const char *phase, uint64 total) {
    if (own.place == nullptr)
        return;
    SpinLockAcquire(&own.place->mutex);
    strlcpy(own.place->progress.phase, phase, sizeof(own.place->progress.phase));
    own.place->progress.total = total;
    pg_atomic_write_u64(&own.place->done, 0);
    SpinLockRelease(&own.place->mutex);
}

// Only this session writes its own place, so that it is read and written without a lock.
void add_progress(uint64 tuples) {
    if (own.place != nullptr)
        pg_atomic_write_u64(&own.place->done, pg_atomic_read_u64(&own.place->done) + tuples);
}

void set_progress(uint64 tuples) {
    if (own.place != nullptr)
        pg_atomic_write_u64(&own.place->done, tuples);
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
