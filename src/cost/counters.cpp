#include "cost/counters.h"

#include <ctime>

#include "cost/usage.h"
#include "shared_memory.h"
#include "storage/storage.h"

namespace pg_gpu::client {

// ---- counters --------------------------------------------------------------------------------------------

namespace {

constexpr uint32 kKinds = kPaths * kRequestKinds;
// There is room for so many users' counters, beside those of user 0, which stands for all that have no place
// of their own.
constexpr uint32 kUserPlaces = 48;
constexpr uint32 kReservedUserPlaces = 1024;  // places where the library is preloaded
constexpr uint32 kProbes = 8;

struct SharedCounters {
    slock_t mutex;
    bool is_taken;  // once and for all, by this user and kind
    Oid user;
    uint32 kind;  // path and request
    Counters counters;
};

struct AllCounters {
    uint32 count;
    SharedCounters places[FLEXIBLE_ARRAY_MEMBER];
};

constexpr size_t bytes_of(uint32 user_places) {
    return offsetof(AllCounters, places) + (kKinds + user_places) * sizeof(SharedCounters);
}

}  // namespace

static void initialise(void *place, uint32 user_places) {
    auto *all = static_cast<AllCounters *>(place);
    memset(place, 0, bytes_of(user_places));
    all->count = kKinds + user_places;
    for (uint32 i = 0; i < all->count; i++)
        SpinLockInit(&all->places[i].mutex);
    for (uint32 kind = 0; kind < kKinds; kind++) {
        all->places[kind].is_taken = true;
        all->places[kind].kind = kind;
    }
}

static SharedStructure structure = {"pg_gpu counters", bytes_of(kUserPlaces),
                                    [](void *place) { initialise(place, kUserPlaces); }, nullptr, false};

void reserve_counters() {
    structure.bytes = bytes_of(kReservedUserPlaces);
    structure.initialise = [](void *place) { initialise(place, kReservedUserPlaces); };
    reserve_shared(structure);
}

// Returns the counters of all sessions, or those of this session alone, which are user 0's, when shared
// memory has no room.
static AllCounters *all_counters() {
    auto *shared = static_cast<AllCounters *>(find_shared(&structure));
    if (shared != nullptr)
        return shared;
    alignas(AllCounters) static char own[bytes_of(0)];
    auto *all = reinterpret_cast<AllCounters *>(own);
    if (all->count == 0)
        initialise(all, 0);
    return all;
}

// Takes a free place, or finds the user's. Places are never given back, so that a session can keep theirs.
static SharedCounters *find_place(AllCounters *all, Oid user, uint32 kind) {
    const uint32 user_places = all->count - kKinds;
    for (uint32 probe = 0; probe < Min(kProbes, user_places) && OidIsValid(user); probe++) {
        const uint32 hash = hash_combine(murmurhash32(user), kind);
        SharedCounters *place = &all->places[kKinds + (hash + probe) % user_places];
        SpinLockAcquire(&place->mutex);
        if (!place->is_taken) {
            place->is_taken = true;
            place->user = user;
            place->kind = kind;
        }
        const bool found = place->user == user && place->kind == kind;
        SpinLockRelease(&place->mutex);
        if (found)
            return place;
    }
    return &all->places[kind];
}

static uint32 kind_number(Path path, RequestKind kind) {
    return static_cast<uint32>(path) * kRequestKinds + static_cast<uint32>(kind);
}

// Changes the counters of the session's user. The supervisor has none.
template <typename Change>
static void change(Path path, RequestKind kind, Change change) {
    struct Found {
        SharedCounters *place;
        Oid user;
    };
    static Found found[kKinds] = {};
    const uint32 number = kind_number(path, kind);
    const Oid user = OidIsValid(MyDatabaseId) ? GetSessionUserId() : InvalidOid;
    Found &its = found[number];
    if (its.place == nullptr || its.user != user)
        its = {find_place(all_counters(), user, number), user};
    SpinLockAcquire(&its.place->mutex);
    change(&its.place->counters);
    SpinLockRelease(&its.place->mutex);
}

static void add(const Counters &one, Counters *sum) {
    sum->requests += one.requests;
    sum->items += one.items;
    sum->bytes += one.bytes;
    sum->milliseconds += one.milliseconds;
    sum->fallbacks += one.fallbacks;
    if (one.last_fallback > sum->last_fallback) {
        sum->last_fallback = one.last_fallback;
        sum->last_reason = one.last_reason;
    }
    for (int i = 0; i < kLatencyBuckets; i++)
        sum->latencies[i] += one.latencies[i];
}

Counters sum_counters(Path path, RequestKind kind, bool (*may_see)(Oid user)) {
    AllCounters *all = all_counters();
    const uint32 number = kind_number(path, kind);
    const bool is_shared = structure.place != nullptr;
    Counters sum = {};
    for (uint32 i = 0; i < all->count; i++) {
        SharedCounters *place = &all->places[i];
        if (!place->is_taken || place->kind != number)
            continue;
        if (is_shared && !may_see(place->user))
            continue;
        SpinLockAcquire(&place->mutex);
        const Counters copy = place->counters;
        SpinLockRelease(&place->mutex);
        add(copy, &sum);
    }
    return sum;
}

void reset_counters(Oid user) {
    AllCounters *all = all_counters();
    const bool is_shared = structure.place != nullptr;
    for (uint32 i = 0; i < all->count; i++) {
        SharedCounters *place = &all->places[i];
        if (is_shared && OidIsValid(user) && place->user != user)
            continue;
        SpinLockAcquire(&place->mutex);
        place->counters = {};
        SpinLockRelease(&place->mutex);
    }
}

static int bucket_of(double latency) {
    int bucket = 0;
    while (bucket < kLatencyBuckets - 1 && latency > static_cast<double>(latency_bound(bucket)))
        bucket++;
    return bucket;
}

void count_request(Path path, RequestKind kind, uint64 items, uint64 bytes, double computing,
                   double latency) {
    const int bucket = bucket_of(latency);
    change(path, kind, [=](Counters *counters) {
        counters->requests++;
        counters->items += items;
        counters->bytes += bytes;
        counters->milliseconds += computing / 1000;
        counters->latencies[bucket]++;
    });
    count_usage(path, items, bytes, computing / 1000);
}

void count_paged(RequestKind kind, uint64 items, const instr_time &taken) {
    const auto microseconds = static_cast<double>(INSTR_TIME_GET_MICROSEC(taken));
    count_request(Path::Paged, kind, items, 0, microseconds, microseconds);
}

void note_reason(Path path, RequestKind kind, Oid index, const char *reason) {
    const uint16 number = storage::number_of_reason(reason);
    const TimestampTz now = GetCurrentTimestamp();
    change(path, kind, [=](Counters *counters) {
        counters->fallbacks++;
        counters->last_fallback = now;
        counters->last_reason = number;
    });
    storage::count_fallback(index, reason);
    count_fallback(reason);
}

// ---- waiting ---------------------------------------------------------------------------------------------

// For each path this says how long requests lately waited, beside the time that they worked: in the server's
// queue or, on pages, for a processor or a page. A wait counts half after a second, so that a path which is
// avoided for its queue is tried again.

namespace {

struct Wait {
    double microseconds;
    TimestampTz noted;
};

}  // namespace

static Wait waits[kPaths];

double lately_waited(Path path) {
    constexpr double kNothing = 1;
    constexpr double kHalfLife = USECS_PER_SEC;
    const Wait &wait = waits[static_cast<int>(path)];
    if (wait.microseconds < kNothing)
        return 0;
    const auto ago = static_cast<double>(Max(GetCurrentTimestamp() - wait.noted, 0));
    return wait.microseconds * exp2(-ago / kHalfLife);
}

void note_wait(Path path, double microseconds) {
    // On pages most wait for nothing, and a few for long.
    const double weight = path == Path::Paged ? 1.0 / 8 : 1.0 / 4;
    const double before = lately_waited(path);
    waits[static_cast<int>(path)] = {before + (microseconds - before) * weight, GetCurrentTimestamp()};
}

// Waits are measured of every fourth search, because that takes two calls of the system.
static bool measure_next_wait(RequestKind kind) {
    constexpr uint32 kSearchesPerMeasurement = 4;
    static uint32 searches = 0;
    return cost_of(kind).waits_are_known && searches++ % kSearchesPerMeasurement == 0;
}

static double processor_microseconds() {
    timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

PagedRequest begin_paged(RequestKind kind, uint64 items) {
    PagedRequest request = {kind, items, {}, measure_next_wait(kind) ? processor_microseconds() : -1};
    INSTR_TIME_SET_CURRENT(request.began);
    return request;
}

void end_paged(const PagedRequest &request) {
    instr_time taken;
    INSTR_TIME_SET_CURRENT(taken);
    INSTR_TIME_SUBTRACT(taken, request.began);
    count_paged(request.kind, request.items, taken);
    if (request.processor_began >= 0) {
        const double used = processor_microseconds() - request.processor_began;
        note_wait(Path::Paged, Max(static_cast<double>(INSTR_TIME_GET_MICROSEC(taken)) - used, 0));
    }
}

}  // namespace pg_gpu::client
