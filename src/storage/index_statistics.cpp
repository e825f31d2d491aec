#include "storage/index_statistics.h"

#include "shared_memory.h"

namespace pg_gpu::storage {

// ---- reasons ----------------------------------------------------------------------------------------------

namespace {

constexpr int kMaxReasons = 64;
// This stands for reasons for which there is no place, or no shared memory.
constexpr const char *kAnotherReason = "another reason";
constexpr uint16 kAnotherNumber = 1;

struct SharedReasons {
    slock_t mutex;
    // Written once each, before `count` says so.
    pg_atomic_uint32 count;
    char texts[kMaxReasons][kReasonBytes];
};

}  // namespace

static SharedStructure reasons_structure = {"pg_gpu reasons", sizeof(SharedReasons),
                                            [](void *place) {
                                                auto *reasons = static_cast<SharedReasons *>(place);
                                                SpinLockInit(&reasons->mutex);
                                                pg_atomic_init_u32(&reasons->count, 1);
                                                strlcpy(reasons->texts[kAnotherNumber - 1], kAnotherReason,
                                                        kReasonBytes);
                                            },
                                            nullptr, false};

static SharedReasons *shared_reasons() {
    return static_cast<SharedReasons *>(find_shared(&reasons_structure));
}

// Returns the place of a text among the first `count`; -1 when it isn't there.
static int find_reason(const SharedReasons &reasons, uint32 first, uint32 count, const char *text) {
    for (uint32 i = first; i < count; i++)
        if (strcmp(reasons.texts[i], text) == 0)
            return static_cast<int>(i);
    return -1;
}

uint16 number_of_reason(const char *reason) {
    SharedReasons *reasons = shared_reasons();
    if (reasons == nullptr)
        return kAnotherNumber;
    char text[kReasonBytes] = {};
    memcpy(text, reason,
           static_cast<size_t>(pg_mbcliplen(reason, static_cast<int>(strlen(reason)), kReasonBytes - 1)));
    const uint32 known = pg_atomic_read_u32(&reasons->count);
    pg_read_barrier();
    int place = find_reason(*reasons, 0, known, text);
    if (place < 0) {
        SpinLockAcquire(&reasons->mutex);
        const uint32 count = pg_atomic_read_u32(&reasons->count);
        place = find_reason(*reasons, known, count, text);
        if (place < 0 && count < kMaxReasons) {
            place = static_cast<int>(count);
            memcpy(reasons->texts[place], text, sizeof(text));
            pg_write_barrier();
            pg_atomic_write_u32(&reasons->count, count + 1);
        }
        SpinLockRelease(&reasons->mutex);
    }
    return static_cast<uint16>(Max(place, 0) + 1);
}

const char *reason_of_number(uint16 number) {
    static char text[kReasonBytes];
    const SharedReasons *reasons = shared_reasons();
    if (number == 0)
        return nullptr;
    if (reasons == nullptr || number > kMaxReasons)
        return kAnotherReason;
    strlcpy(text, reasons->texts[number - 1], sizeof(text));
    // It may come from a database of another encoding.
    return pg_verifymbstr(text, static_cast<int>(strlen(text)), true) ? text : kAnotherReason;
}

// ---- indexes ----------------------------------------------------------------------------------------------

namespace {

constexpr uint32 kPlaces = 128;
constexpr uint32 kReservedPlaces = 4096;  // reserved places of a preloaded library
// An index lies in one of so many places from the one on that its hash says.
constexpr uint32 kProbes = 8;

struct SharedIndex {
    slock_t mutex;
    Oid database;
    Oid index;  // invalid: nobody's place
    TimestampTz counted_at;
    IndexStatistics statistics;
};

struct SharedIndexes {
    uint32 count;
    SharedIndex places[FLEXIBLE_ARRAY_MEMBER];
};

constexpr size_t bytes_of(uint32 places) {
    return offsetof(SharedIndexes, places) + places * sizeof(SharedIndex);
}

}  // namespace

static SharedStructure structure = {"pg_gpu indexes", bytes_of(kPlaces),
                                    [](void *place) {
                                        auto *indexes = static_cast<SharedIndexes *>(place);
                                        memset(indexes, 0, structure.bytes);
                                        indexes->count =
                                            structure.bytes == bytes_of(kPlaces) ? kPlaces : kReservedPlaces;
                                        for (uint32 i = 0; i < indexes->count; i++)
                                            SpinLockInit(&indexes->places[i].mutex);
                                    },
                                    nullptr, false};

void reserve_index_statistics() {
    structure.bytes = bytes_of(kReservedPlaces);
    reserve_shared(structure);
    reserve_shared(reasons_structure);
}

static SharedIndexes *shared_indexes() {
    return static_cast<SharedIndexes *>(find_shared(&structure));
}

static SharedIndex *encode_tid(SharedIndexes *indexes, Oid index, uint32 probe) {
    return &indexes->places[(hash_combine(MyDatabaseId, murmurhash32(index)) + probe) % indexes->count];
}

// The place must be locked.
static bool is_of(const SharedIndex &place, Oid index) {
    return place.database == MyDatabaseId && place.index == index;
}

// Changes what is counted of an index. One that has no place yet takes a free one, or that of the index of
// which nothing was counted for longest. Two sessions that come at the same time may take a place each:
// readers add them up.
template <typename Change>
static void change(Oid index, Change change) {
    SharedIndexes *indexes = shared_indexes();
    if (indexes == nullptr || !OidIsValid(index))
        return;
    const TimestampTz now = GetCurrentTimestamp();
    SharedIndex *oldest = nullptr;
    for (uint32 probe = 0; probe < kProbes; probe++) {
        SharedIndex *place = encode_tid(indexes, index, probe);
        SpinLockAcquire(&place->mutex);
        const bool found = is_of(*place, index);
        if (found) {
            place->counted_at = now;
            change(&place->statistics, now);
        }
        const TimestampTz counted_at = place->counted_at;
        SpinLockRelease(&place->mutex);
        if (found)
            return;
        if (oldest == nullptr || counted_at < oldest->counted_at)
            oldest = place;
    }
    SpinLockAcquire(&oldest->mutex);
    if (!is_of(*oldest, index)) {
        oldest->database = MyDatabaseId;
        oldest->index = index;
        oldest->statistics = {};
    }
    oldest->counted_at = now;
    change(&oldest->statistics, now);
    SpinLockRelease(&oldest->mutex);
}

void count_merge(Oid index) {
    change(index, [](IndexStatistics *statistics, TimestampTz now) {
        statistics->merges++;
        statistics->last_merge = now;
    });
}

void count_deferred(Oid index) {
    change(index, [](IndexStatistics *statistics, TimestampTz now) {
        statistics->deferred++;
        statistics->last_deferred = now;
    });
}

static void add_reason(IndexStatistics *statistics, uint16 reason, uint64 count) {
    int place = 0;
    while (place < kReasonsOfIndex - 1 && statistics->reasons[place] != 0 &&
           statistics->reasons[place] != reason)
        place++;
    if (statistics->reasons[place] == 0)
        statistics->reasons[place] = reason;
    else if (statistics->reasons[place] != reason)
        statistics->reasons[place] = 1;
    statistics->counts[place] += count;
}

void count_fallback(Oid index, const char *reason) {
    const uint16 number = number_of_reason(reason);
    change(index, [number](IndexStatistics *statistics, TimestampTz now) {
        statistics->fallbacks++;
        statistics->last_fallback = now;
        statistics->last_reason = number;
        add_reason(statistics, number, 1);
    });
}

static void add(const IndexStatistics &one, IndexStatistics *sum) {
    if (one.last_fallback > sum->last_fallback)
        sum->last_reason = one.last_reason;
    sum->merges += one.merges;
    sum->last_merge = Max(sum->last_merge, one.last_merge);
    sum->deferred += one.deferred;
    sum->last_deferred = Max(sum->last_deferred, one.last_deferred);
    sum->fallbacks += one.fallbacks;
    sum->last_fallback = Max(sum->last_fallback, one.last_fallback);
    for (int i = 0; i < kReasonsOfIndex && one.reasons[i] != 0; i++)
        add_reason(sum, one.reasons[i], one.counts[i]);
}

bool read_index_statistics(Oid index, IndexStatistics *statistics) {
    SharedIndexes *indexes = shared_indexes();
    *statistics = {};
    bool found = false;
    for (uint32 probe = 0; indexes != nullptr && probe < kProbes; probe++) {
        SharedIndex *place = encode_tid(indexes, index, probe);
        SpinLockAcquire(&place->mutex);
        const bool is_its = is_of(*place, index);
        const IndexStatistics copy = place->statistics;
        SpinLockRelease(&place->mutex);
        if (is_its)
            add(copy, statistics);
        found = found || is_its;
    }
    return found;
}

void forget_index_statistics() {
    SharedIndexes *indexes = shared_indexes();
    for (uint32 i = 0; indexes != nullptr && i < indexes->count; i++) {
        SharedIndex *place = &indexes->places[i];
        SpinLockAcquire(&place->mutex);
        place->database = InvalidOid;
        place->index = InvalidOid;
        place->counted_at = 0;
        place->statistics = {};
        SpinLockRelease(&place->mutex);
    }
}

}  // namespace pg_gpu::storage
