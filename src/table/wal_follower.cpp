// One session at a time reads on for all. Records are read from files, so up to where they are flushed, or
// replayed on a standby.
#include "table/wal_follower.h"

#include "settings.h"
#include "shared_memory.h"
#include "table/wal_commits.h"
#include "table/wal_records.h"

namespace pg_gpu::table {

namespace {

// Transactions whose commits are looked up at most.
constexpr uint64 kMaxUnchecked = 1 << 18;
// What is read at most, and how many times as much as pays at once, to catch up where questions follow one
// another.
constexpr uint64 kMaxBytes = 16 << 20;
constexpr uint64 kCatchUp = 8;
// More than this no question is worth.
constexpr uint64 kMaxWorth = uint64{1} << 48;
// What it takes to begin reading, as bytes that are read.
constexpr uint64 kCostOfReading = 16384;
// Ids whose commits are looked up in the time of a look at a page.
constexpr uint64 kIdsPerLook = 16;
// One that waits for a reading looks itself after so long, should nobody wake it.
constexpr long kWaitMs = 10;

struct Follower {
    int tranche;
    LWLock lock;                      // whoever holds it exclusively reads
    ConditionVariable has_read;       // broadcast when it is free again
    pg_atomic_uint64 epoch;           // 0: nothing was followed yet
    pg_atomic_uint64 reading;         // the number of the last reading that was begun
    pg_atomic_uint64 known_to;        // what all records that end here or before it have done is known
    pg_atomic_uint64 is_of_recovery;  // 1: so far records that were replayed are read
    CheckedCommits commits;
    // These are the reader's.
    WalPlace place;
    XLogRecPtr asked_at;  // where WAL ended when it was asked about last
    uint64 looked;        // what questions have taken since by looking at pages, as bytes that are read
    bool is_reading;      // left by one that ended in an error
};

}  // namespace

static void initialise(void *place) {
    auto *follower = static_cast<Follower *>(place);
    memset(place, 0, sizeof(*follower));
    follower->tranche = LWLockNewTrancheId();
    LWLockInitialize(&follower->lock, follower->tranche);
    LWLockInitialize(&follower->commits.lock, follower->tranche);
    ConditionVariableInit(&follower->has_read);
    for (pg_atomic_uint64 *value :
         {&follower->epoch, &follower->reading, &follower->known_to, &follower->is_of_recovery})
        pg_atomic_init_u64(value, 0);
}

static SharedStructure structure = {"pg_gpu WAL follower", sizeof(Follower), initialise, nullptr, false};
static bool is_reserved = false;

void reserve_wal_follower() {
    reserve_shared(structure);
    is_reserved = true;
}

static Follower *shared_follower() {
    static bool is_registered = false;
    auto *follower = is_reserved ? static_cast<Follower *>(find_shared(&structure)) : nullptr;
    if (follower != nullptr && !is_registered) {
        LWLockRegisterTranche(follower->tranche, "pg_gpu_wal_follower");
        is_registered = true;
    }
    return follower;
}

// That of a session which has followed WAL: pages' and sets' locks may be held, and nothing is attached under
// these.
static Follower *attached_follower() {
    return static_cast<Follower *>(structure.place);
}

WalReading last_wal_reading() {
    Follower *follower = attached_follower();
    if (follower == nullptr)
        return {};
    const uint64 epoch = pg_atomic_read_u64(&follower->epoch);
    pg_read_barrier();
    const uint64 number = pg_atomic_read_u64(&follower->reading);
    pg_memory_barrier();
    return {epoch, number};
}

uint64 wal_epoch() {
    Follower *follower = attached_follower();
    return follower != nullptr ? pg_atomic_read_u64(&follower->epoch) : 0;
}

bool is_last_wal_reading(const WalReading &reading) {
    Follower *follower = attached_follower();
    return follower != nullptr && reading.epoch != 0 &&
           pg_atomic_read_u64(&follower->reading) == reading.number &&
           pg_atomic_read_u64(&follower->epoch) == reading.epoch;
}

// ---- is it known already? ---------------------------------------------------------------------------------

namespace {

// What is asked for.
struct Wanted {
    Snapshot snapshot;
    bool in_recovery;
    XLogRecPtr end;      // of what was flushed, or replayed, when it was asked for
    uint64 max_commits;  // that may be looked up
    uint64 bytes;        // that may be read
};

}  // namespace

// Without the follower's lock, so nobody waits for a reading that another one needs. A new epoch begins by
// its number, so that what is read of two epochs is noticed.
static bool is_known(Follower *follower, const Wanted &wanted) {
    const uint64 epoch = pg_atomic_read_u64(&follower->epoch);
    pg_read_barrier();
    const XLogRecPtr known_to = pg_atomic_read_u64(&follower->known_to);
    if (epoch == 0 || known_to < wanted.end ||
        (pg_atomic_read_u64(&follower->is_of_recovery) != 0) != wanted.in_recovery)
        return false;
    // Where all that has been written is known no commit need be looked up.
    if (!wanted.in_recovery && GetXLogInsertRecPtr() > known_to &&
        (last_commit(&follower->commits, wanted.snapshot, wanted.max_commits) > known_to ||
         GetFlushRecPtr(nullptr) > known_to))
        return false;
    pg_read_barrier();
    return pg_atomic_read_u64(&follower->epoch) == epoch;
}

// ---- reading ----------------------------------------------------------------------------------------------

static void begin_reading(Follower *follower) {
    pg_atomic_write_u64(&follower->reading, pg_atomic_read_u64(&follower->reading) + 1);
    pg_memory_barrier();
}

// From here on: nothing is current yet.
static void start_anew(Follower *follower, const Wanted &wanted) {
    const XLogRecPtr end = wanted.in_recovery ? GetXLogReplayRecPtr(nullptr) : GetXLogInsertRecPtr();
    pg_atomic_write_u64(&follower->epoch, pg_atomic_read_u64(&follower->epoch) + 1);
    begin_reading(follower);
    follower->place = {end, 0};
    follower->looked = 0;
    follower->is_reading = false;
    pg_atomic_write_u64(&follower->is_of_recovery, wanted.in_recovery ? 1 : 0);
    note_checked(&follower->commits, wanted.snapshot, true);
    pg_memory_barrier();
    pg_atomic_write_u64(&follower->known_to, end);
}

// Is the segment of the next record there for sure? Checkpoints remove none from that on where the last one
// began.
static bool is_there(XLogRecPtr next) {
    return next / static_cast<uint64>(wal_segment_size) >=
           GetRedoRecPtr() / static_cast<uint64>(wal_segment_size);
}

static bool can_go_on(Follower *follower, const Wanted &wanted, uint64 unread, uint64 unchecked) {
    return !follower->is_reading && pg_atomic_read_u64(&follower->epoch) != 0 &&
           (pg_atomic_read_u64(&follower->is_of_recovery) != 0) == wanted.in_recovery &&
           unread <= kMaxBytes && (unread == 0 || is_there(follower->place.next)) &&
           unchecked <= kMaxUnchecked;
}

static TimeLineID timeline_of(const Wanted &wanted) {
    TimeLineID timeline;
    if (!wanted.in_recovery)
        return GetWALInsertionTimeLine();
    GetXLogReplayRecPtr(&timeline);
    return timeline;
}

static void read_to(Follower *follower, const Wanted &wanted, XLogRecPtr end) {
    begin_reading(follower);
    follower->is_reading = true;
    const bool is_good = read_changed_blocks(&follower->place, end, wanted.in_recovery, timeline_of(wanted));
    follower->is_reading = false;
    follower->looked = 0;
    if (!is_good) {
        start_anew(follower, wanted);
        return;
    }
    pg_memory_barrier();
    pg_atomic_write_u64(&follower->known_to, end);
}

// With the lock held.
static bool read_on(Follower *follower, const Wanted &wanted) {
    const bool comes_again = follower->asked_at != 0 && wanted.end >= follower->asked_at &&
                             wanted.end - follower->asked_at <= wanted.bytes;
    follower->asked_at = wanted.end;
    const XLogRecPtr known_to = pg_atomic_read_u64(&follower->known_to);
    const uint64 unread = known_to >= wanted.end ? 0 : wanted.end - follower->place.next + kCostOfReading;
    const uint64 unchecked = wanted.in_recovery ? 0 : unchecked_ids(&follower->commits, wanted.snapshot);
    if (!can_go_on(follower, wanted, unread, unchecked)) {
        if (comes_again)
            start_anew(follower, wanted);
        return comes_again;
    }
    // What looks have cost since the last reading is not spent on them again and again.
    if (unread + unchecked / kIdsPerLook * wal_bytes_per_look() >
        follower->looked + (comes_again ? wanted.bytes * kCatchUp : wanted.bytes)) {
        follower->looked += wanted.bytes;
        return false;
    }
    // Where all that has been written is known or flushed no commit need be looked up.
    XLogRecPtr end = wanted.end;
    if (!wanted.in_recovery && GetXLogInsertRecPtr() > Max(end, known_to)) {
        const XLogRecPtr latest = last_commit(&follower->commits, wanted.snapshot, kMaxUnchecked);
        end = GetFlushRecPtr(nullptr);
        if (latest > Max(end, known_to))
            return false;
    }
    if (known_to < end)
        read_to(follower, wanted, end);
    if (!wanted.in_recovery)
        note_checked(&follower->commits, wanted.snapshot, false);
    return true;
}

// Waits for one that reads, who is likely to read what is wanted. True: it has. Else the lock is held.
static bool is_read_by_another(Follower *follower, const Wanted &wanted) {
    if (LWLockConditionalAcquire(&follower->lock, LW_EXCLUSIVE))
        return false;
    bool is_read = false;
    ConditionVariablePrepareToSleep(&follower->has_read);
    while (!is_read && !LWLockConditionalAcquire(&follower->lock, LW_EXCLUSIVE)) {
        ConditionVariableTimedSleep(&follower->has_read, kWaitMs, PG_WAIT_EXTENSION);
        is_read = is_known(follower, wanted);
    }
    ConditionVariableCancelSleep();
    return is_read;
}

bool follow_wal(Snapshot snapshot, uint64 looks) {
    Follower *follower = wal_bytes_per_look() == 0 || !XLogIsNeeded() ? nullptr : shared_follower();
    const bool in_recovery = RecoveryInProgress();
    // A transaction that may have changed something sees what it hasn't flushed.
    if (follower == nullptr || TransactionIdIsValid(GetTopTransactionIdIfAny()) ||
        snapshot->takenDuringRecovery != in_recovery)
        return false;
    const Wanted wanted = {snapshot, in_recovery,
                           in_recovery ? GetXLogReplayRecPtr(nullptr) : GetFlushRecPtr(nullptr),
                           Min(kMaxUnchecked, looks * kIdsPerLook),
                           Min(Min(looks, uint64{PG_UINT32_MAX}) * wal_bytes_per_look(), kMaxWorth)};
    if (is_known(follower, wanted))
        return true;
    // Questions about few pages wait for nobody, and don't say how soon one about many comes again.
    if (wanted.bytes < kCostOfReading)
        return false;
    if (is_read_by_another(follower, wanted))
        return true;
    const bool is_read = read_on(follower, wanted);
    LWLockRelease(&follower->lock);
    ConditionVariableBroadcast(&follower->has_read);
    return is_read;
}

}  // namespace pg_gpu::table
