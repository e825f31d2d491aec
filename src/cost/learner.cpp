// Records are copied out of shared memory and back, each under a spinlock. What another session has learned
// in between is lost, which is one request of many.
#include "cost/learner.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "common/hashfn.h"
#include "shared_memory.h"

namespace pg_gpu::client {

namespace {

// Something that is kept by the hash of its name. The one with the least weight leaves for another.
template <typename T>
struct Slot {
    uint64 hash;  // 0: free
    double weight;
    T value;
};

// A name may have any of so many slots that lie together.
constexpr uint64 kWays = 8;
constexpr uint64 kShapeSlots = 96;
constexpr uint64 kSortSlots = 32;
constexpr uint64 kRunSlots = 128;

struct Learned {
    slock_t mutex;
    double uses;  // weight of the records of requests: that of those that were used last is the greatest
    LoadRecord loads;
    Slot<PathRecord> requests[kShapeSlots];  // records of one shape each
    Slot<ShapesRecord> sorts[kSortSlots];    // records of all shapes
    Slot<double> savings[kRunSlots];         // microseconds, which are their weight as well
};
// A library that isn't preloaded shares what PostgreSQL has to spare, some tens of kB, with structures that
// the server process can't do without.
static_assert(sizeof(Learned) <= 24 * 1024);

}  // namespace

static void initialise(void *place) {
    auto *learned = new (place) Learned{};
    SpinLockInit(&learned->mutex);
}

static SharedStructure structure = {"pg_gpu learned costs", sizeof(Learned), initialise, nullptr, false};
static Learned *own_costs = nullptr;

void reserve_cost_learner() {
    reserve_shared(structure);
}

static Learned *learned_costs() {
    auto *shared = static_cast<Learned *>(find_shared(&structure));
    if (shared != nullptr)
        return shared;
    if (own_costs == nullptr) {
        own_costs = static_cast<Learned *>(MemoryContextAlloc(TopMemoryContext, sizeof(Learned)));
        initialise(own_costs);
    }
    return own_costs;
}

// The slots that a name may have. The caller holds the lock.
template <typename T, uint64 N>
static Slot<T> *ways_of(Slot<T> (&slots)[N], uint64 hash) {
    static_assert(N % kWays == 0);
    return &slots[hash % (N / kWays) * kWays];
}

template <typename T, uint64 N>
static Slot<T> *find_slot(Slot<T> (&slots)[N], uint64 hash) {
    Slot<T> *ways = ways_of(slots, hash);
    Slot<T> *found =
        std::find_if(ways, ways + kWays, [hash](const Slot<T> &slot) { return slot.hash == hash; });
    return found == ways + kWays ? nullptr : found;
}

template <typename T, uint64 N>
static Slot<T> *find_or_take_slot(Slot<T> (&slots)[N], uint64 hash) {
    if (Slot<T> *found = find_slot(slots, hash))
        return found;
    Slot<T> *ways = ways_of(slots, hash);
    Slot<T> *least = std::min_element(ways, ways + kWays, [](const Slot<T> &one, const Slot<T> &other) {
        return one.weight < other.weight;
    });
    *least = {hash, 0, {}};
    return least;
}

static uint64 hash_of_bytes(const void *bytes, size_t count, uint64 seed) {
    return Max(hash_bytes_extended(static_cast<const unsigned char *>(bytes), static_cast<int>(count), seed),
               uint64{1});
}

// ---- requests ---------------------------------------------------------------------------------------------

namespace {

// Requests whose size differs by more are not compared, since the constants' errors differ with size.
constexpr double kClassWidth = 4;

struct RequestSort {
    Oid database;
    Oid index;
    int32 kind;
    int32 size_class;
};

// The records that apply to a request: that of its shape, and that of all shapes.
struct Known {
    PathRecord record;
    ShapesRecord others;
};

}  // namespace

static RequestSort sort_of(Oid index, RequestKind kind, const PathEstimates &estimates) {
    const double paged = Max(estimates[static_cast<int>(Path::Paged)], 1.0);
    return {MyDatabaseId, index, static_cast<int32>(kind),
            static_cast<int32>(std::log(paged) / std::log(kClassWidth))};
}

static uint64 hash_of(const RequestSort &sort, uint32 shape = 0) {
    return hash_of_bytes(&sort, sizeof(sort), shape);
}

template <typename Record, uint64 N>
static Record read_record(Learned *learned, Slot<Record> (&slots)[N], uint64 hash) {
    Record record;
    SpinLockAcquire(&learned->mutex);
    if (const Slot<Record> *slot = find_slot(slots, hash))
        record = slot->value;
    SpinLockRelease(&learned->mutex);
    return record;
}

template <typename Record, uint64 N>
static void write_record(Learned *learned, Slot<Record> (&slots)[N], uint64 hash, const Record &record) {
    SpinLockAcquire(&learned->mutex);
    Slot<Record> *slot = find_or_take_slot(slots, hash);
    slot->weight = ++learned->uses;
    slot->value = record;
    SpinLockRelease(&learned->mutex);
}

static Known find_known(const RequestSort &sort, uint32 shape) {
    Learned *learned = learned_costs();
    return {read_record(learned, learned->requests, hash_of(sort, shape)),
            read_record(learned, learned->sorts, hash_of(sort))};
}

static Known known_of(const Request &request, const PathEstimates &estimates) {
    if (!request.learns)
        return {};
    return find_known(sort_of(request.index, request.kind, estimates), request.shape);
}

Path choose_by_experience(const Request &request, const PathEstimates &estimates) {
    const Known known = known_of(request, estimates);
    return static_cast<Path>(known.record.choose(estimates, known.others));
}

double expected_microseconds(const Request &request, const PathEstimates &estimates, Path path) {
    const Known known = known_of(request, estimates);
    return known.record.expected(static_cast<int>(path), estimates, known.others);
}

// ---- loads, and what they would save ----------------------------------------------------------------------

static double left_out_microseconds = 0;  // in all the session's time

void leave_out(double microseconds) {
    left_out_microseconds += microseconds;
}

static double shared_microseconds = 0;  // in all the session's time

void note_shared(double microseconds, uint32 others) {
    shared_microseconds += microseconds * others / (others + 1.0);
}

void note_load(double estimate, double taken) {
    Learned *learned = learned_costs();
    SpinLockAcquire(&learned->mutex);
    learned->loads.note(estimate, taken);
    SpinLockRelease(&learned->mutex);
    leave_out(taken);
}

double expected_load(double estimate) {
    Learned *learned = learned_costs();
    SpinLockAcquire(&learned->mutex);
    const double expected = learned->loads.expected(estimate);
    SpinLockRelease(&learned->mutex);
    return expected;
}

static uint64 hash_of(const gpu_engine::protocol::RunName &run) {
    return hash_of_bytes(&run, sizeof(run), 0);
}

// Changes what a run would have saved by change(sum), if it has a sum or `is_added`.
template <typename Change>
static double change_saving(const gpu_engine::protocol::RunName &run, bool is_added, Change change) {
    Learned *learned = learned_costs();
    const uint64 hash = hash_of(run);
    double sum = 0;
    SpinLockAcquire(&learned->mutex);
    if (Slot<double> *slot =
            is_added ? find_or_take_slot(learned->savings, hash) : find_slot(learned->savings, hash)) {
        slot->value = change(slot->value);
        slot->weight = slot->value;
        sum = slot->value;
    }
    SpinLockRelease(&learned->mutex);
    return sum;
}

void add_saving(const gpu_engine::protocol::RunName &run, double microseconds) {
    change_saving(run, true, [microseconds](double sum) { return sum + microseconds; });
}

double saving_of_run(const gpu_engine::protocol::RunName &run) {
    return change_saving(run, false, [](double sum) { return sum; });
}

void forget_saving(const gpu_engine::protocol::RunName &run) {
    change_saving(run, false, [](double) { return 0.0; });
}

// ---- attempts ---------------------------------------------------------------------------------------------

// The last one that was begun. One that an error broke off is of another statement, or is replaced.
static Attempt last_attempt;
static TimestampTz last_statement = 0;

Attempt begin_attempt(const Request &request, const PathEstimates &estimates, Path path) {
    Attempt attempt;
    attempt.index = request.learns ? request.index : InvalidOid;
    attempt.kind = request.kind;
    attempt.shape = request.shape;
    attempt.path = path;
    attempt.estimates = estimates;
    attempt.left_out_before = left_out_microseconds;
    attempt.shared_before = shared_microseconds;
    INSTR_TIME_SET_CURRENT(attempt.began);
    last_attempt = attempt;
    last_statement = GetCurrentStatementStartTimestamp();
    return attempt;
}

static double taken_by(const Attempt &attempt, double microseconds) {
    return Max(microseconds - (left_out_microseconds - attempt.left_out_before), 0.0);
}

static void go_to_pages(Attempt *attempt) {
    attempt->path = Path::Paged;
    attempt->left_out_before = left_out_microseconds;
    attempt->shared_before = shared_microseconds;
    INSTR_TIME_SET_CURRENT(attempt->began);
}

void fall_back(Attempt *attempt) {
    if (attempt->path == Path::Paged)
        return;
    attempt->declined = attempt->path;
    attempt->declined_microseconds = taken_by(*attempt, microseconds_since(attempt->began));
    go_to_pages(attempt);
}

void go_to_pages(RequestKind kind, bool is_declined) {
    if (last_attempt.kind != kind || last_attempt.path == Path::Paged)
        return;
    if (is_declined)
        fall_back(&last_attempt);
    else
        go_to_pages(&last_attempt);
}

void note_taken(const Attempt &attempt, double microseconds) {
    if (!OidIsValid(attempt.index))
        return;
    const double taken = taken_by(attempt, microseconds);
    const RequestSort sort = sort_of(attempt.index, attempt.kind, attempt.estimates);
    Known known = find_known(sort, attempt.shape);
    known.record.note(static_cast<int>(attempt.path), attempt.estimates, known.others, taken,
                      shared_microseconds - attempt.shared_before);
    // Who has chosen that path has waited for both. It tells nothing of other shapes, which may be answered.
    if (attempt.declined == Path::Paged)
        known.others.note(known.record.known_ratios());
    else
        known.record.note_vain(static_cast<int>(attempt.declined), static_cast<int>(attempt.path),
                               attempt.estimates, known.others, attempt.declined_microseconds);
    Learned *learned = learned_costs();
    write_record(learned, learned->requests, hash_of(sort, attempt.shape), known.record);
    write_record(learned, learned->sorts, hash_of(sort), known.others);
}

Attempt take_attempt(Relation index, RequestKind kind) {
    const Attempt attempt = last_attempt;
    if (attempt.index != RelationGetRelid(index) || attempt.kind != kind ||
        last_statement != GetCurrentStatementStartTimestamp())
        return {};
    last_attempt.index = InvalidOid;
    return attempt;
}

void note_request_done(Relation index, RequestKind kind) {
    const Attempt attempt = take_attempt(index, kind);
    note_taken(attempt, microseconds_since(attempt.began));
}

}  // namespace pg_gpu::client
