// One session at a time reads on for all. Records are read by PostgreSQL's own reader, from files, so up to
// where they are flushed, or replayed on a standby.
#include "table/wal_follower.h"

#include "settings.h"
#include "shared_memory.h"
#include "table/shared_facts.h"

namespace pg_gpu::table {

namespace {

// Transactions whose commits are looked up at most.
constexpr uint64 kMaxUnchecked = 1 << 18;
// What is read at most, and how many times as much as pays at once, to catch up where questions follow one
// another.
constexpr uint64 kMaxBytes = 16 << 20;
constexpr uint64 kCatchUp = 8;
// What it takes to begin reading, as bytes that are read.
constexpr uint64 kCostOfReading = 16384;
// Ids whose commits are looked up in the time of a look at a page.
constexpr uint64 kIdsPerLook = 16;

struct Follower {
    int tranche;
    LWLock lock;                // whoever holds it exclusively reads
    pg_atomic_uint64 epoch;     // 0: nothing was followed yet
    pg_atomic_uint64 reading;   // the number of the last reading that was begun
    pg_atomic_uint64 known_to;  // what all records that end here or before it have done is known
    pg_atomic_uint64 asked_at;  // where WAL ended when it was asked about last
    // All transactions with an id below were found to have no commit behind known_to, or to have ended before
    // this epoch.
    pg_atomic_uint64 unchecked_from;
    // These are the reader's.
    XLogRecPtr next;  // where the next record begins
    bool in_recovery;
    bool is_reading;  // left by one that ended in an error
};

}  // namespace

static void initialise(void *place) {
    auto *follower = static_cast<Follower *>(place);
    memset(place, 0, sizeof(*follower));
    follower->tranche = LWLockNewTrancheId();
    LWLockInitialize(&follower->lock, follower->tranche);
    for (pg_atomic_uint64 *value : {&follower->epoch, &follower->reading, &follower->known_to,
                                    &follower->asked_at, &follower->unchecked_from})
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

// ---- commits ----------------------------------------------------------------------------------------------

static uint64 full_id_of(TransactionId id) {
    const uint64 next = U64FromFullTransactionId(ReadNextFullTransactionId());
    return next - static_cast<uint32>(static_cast<uint32>(next) - id);
}

// Where the last commit ends that the snapshot may see and that need not be flushed; PG_UINT64_MAX: more than
// so many transactions would have to be asked about. A synchronous commit is flushed before anybody sees it,
// an asynchronous one later. Ids are kept in groups with the end of their last such commit. What clog has
// forgotten meanwhile, because a page of it was written, has been flushed before: so the end of what is
// flushed must be read afterwards.
static XLogRecPtr last_commit(Follower *follower, Snapshot snapshot, uint64 most) {
    constexpr uint64 kIdsOfGroup = 32;  // clog has one end for so many, as CLOG_XACTS_PER_LSN_GROUP says
    const uint64 last = full_id_of(snapshot->xmax);
    LWLockAcquire(XactTruncationLock, LW_SHARED);
    // Before clog is cut off, all is flushed.
    const uint64 first = Max(pg_atomic_read_u64(&follower->unchecked_from), full_id_of(oldest_clog_id()));
    XLogRecPtr latest = last > first && last - first > most ? PG_UINT64_MAX : InvalidXLogRecPtr;
    for (uint64 id = first; latest != PG_UINT64_MAX && id < last;) {
        const uint64 behind = Min((id / kIdsOfGroup + 1) * kIdsOfGroup, last);
        // Of two ids, because that of the transaction that was looked up last is told from memory, as it was
        // then.
        for (uint32 asked = 0; asked < 2 && id < behind; id++)
            if (TransactionIdIsNormal(static_cast<TransactionId>(id))) {
                latest = Max(latest, TransactionIdGetCommitLSN(static_cast<TransactionId>(id)));
                asked++;
            }
        id = behind;
    }
    LWLockRelease(XactTruncationLock);
    return latest;
}

// ---- reading ----------------------------------------------------------------------------------------------

// Applies the records that end at `end` or before it. False when something can't be followed.
static bool read_records(Follower *follower, XLogRecPtr end) {
    ReadLocalXLogPageNoWaitPrivate private_data = {};
    XLogReaderRoutine routine = {};
    routine.page_read = &read_local_xlog_page_no_wait;
    routine.segment_open = &wal_segment_open;
    routine.segment_close = &wal_segment_close;
    XLogReaderState *reader = XLogReaderAllocate(wal_segment_size, nullptr, &routine, &private_data);
    if (reader == nullptr)
        return false;
    XLogBeginRead(reader, follower->next);
    bool is_good = true;
    while (is_good && follower->next < end) {
        char *error = nullptr;
        if (XLogReadRecord(reader, &error) == nullptr) {
            // The last record that is flushed in part alone is left for the next time.
            is_good = error == nullptr && private_data.end_of_wal;
            break;
        }
        if (reader->EndRecPtr > end)
            break;
        // Databases and files that come and go may take the place of others.
        is_good = XLogRecGetRmid(reader) != RM_DBASE_ID && XLogRecGetRmid(reader) != RM_TBLSPC_ID;
        for (int i = 0; i <= XLogRecMaxBlockId(reader); i++) {
            PhysicalRelation relation;
            ForkNumber fork;
            BlockNumber block;
            if (XLogRecGetBlockTagExtended(reader, static_cast<uint8>(i), &relation, &fork, &block,
                                           nullptr) &&
                fork == MAIN_FORKNUM)
                clear_current(place_of(relation), block, reader->EndRecPtr);
        }
        follower->next = reader->EndRecPtr;
    }
    XLogReaderFree(reader);
    return is_good;
}

static void begin_reading(Follower *follower) {
    pg_atomic_write_u64(&follower->reading, pg_atomic_read_u64(&follower->reading) + 1);
    pg_memory_barrier();
}

// From here on: nothing is current yet.
static void start_anew(Follower *follower, Snapshot snapshot, bool in_recovery) {
    const XLogRecPtr end = in_recovery ? GetXLogReplayRecPtr(nullptr) : GetXLogInsertRecPtr();
    pg_atomic_write_u64(&follower->epoch, pg_atomic_read_u64(&follower->epoch) + 1);
    begin_reading(follower);
    follower->next = end;
    follower->in_recovery = in_recovery;
    follower->is_reading = false;
    pg_atomic_write_u64(&follower->unchecked_from, full_id_of(snapshot->xmin));
    pg_memory_barrier();
    pg_atomic_write_u64(&follower->known_to, end);
}

// Is the segment of the next record there for sure? Checkpoints remove none from that on where the last one
// began.
static bool is_there(XLogRecPtr next) {
    return next / static_cast<uint64>(wal_segment_size) >=
           GetRedoRecPtr() / static_cast<uint64>(wal_segment_size);
}

bool follow_wal(Snapshot snapshot, uint64 looks) {
    const uint64 bytes = Min(looks, uint64{PG_UINT32_MAX}) * wal_bytes_per_look();
    const uint64 most = Min(kMaxUnchecked, looks * kIdsPerLook);
    // Questions about few pages wait for nobody, and don't say how soon one about many comes again.
    Follower *follower = bytes < kCostOfReading || !XLogIsNeeded() ? nullptr : shared_follower();
    // A transaction that may have changed something sees what it hasn't flushed.
    if (follower == nullptr || TransactionIdIsValid(GetTopTransactionIdIfAny()) ||
        snapshot->xmax - snapshot->xmin > most)
        return false;
    const bool in_recovery = RecoveryInProgress();
    XLogRecPtr end = in_recovery ? GetXLogReplayRecPtr(nullptr) : GetFlushRecPtr(nullptr);
    const uint64 asked_at = pg_atomic_exchange_u64(&follower->asked_at, end);
    const bool comes_again = asked_at != 0 && end >= asked_at && end - asked_at <= bytes;
    LWLockAcquire(&follower->lock, LW_EXCLUSIVE);
    const XLogRecPtr known_to = pg_atomic_read_u64(&follower->known_to);
    const uint64 unread = known_to >= end ? 0 : end - follower->next + kCostOfReading;
    if (follower->is_reading || pg_atomic_read_u64(&follower->epoch) == 0 ||
        follower->in_recovery != in_recovery || unread > kMaxBytes ||
        (unread > 0 && !is_there(follower->next)) ||
        (!in_recovery && full_id_of(snapshot->xmax) > pg_atomic_read_u64(&follower->unchecked_from) + most)) {
        if (comes_again)
            start_anew(follower, snapshot, in_recovery);
        LWLockRelease(&follower->lock);
        return comes_again;
    }
    if (unread > (comes_again ? bytes * kCatchUp : bytes)) {
        LWLockRelease(&follower->lock);
        return false;
    }
    bool is_known = true;
    // Where all that has been written is known or flushed no commit need be looked up.
    if (!in_recovery && GetXLogInsertRecPtr() > Max(end, known_to)) {
        const XLogRecPtr latest = last_commit(follower, snapshot, most);
        end = GetFlushRecPtr(nullptr);
        is_known = latest <= Max(end, known_to);
    }
    if (is_known && known_to < end) {
        begin_reading(follower);
        follower->is_reading = true;
        const bool is_good = read_records(follower, end);
        follower->is_reading = false;
        if (is_good) {
            pg_memory_barrier();
            pg_atomic_write_u64(&follower->known_to, end);
        } else {
            start_anew(follower, snapshot, in_recovery);
        }
    }
    if (is_known && !in_recovery)
        pg_atomic_write_u64(&follower->unchecked_from,
                            Max(pg_atomic_read_u64(&follower->unchecked_from), full_id_of(snapshot->xmin)));
    LWLockRelease(&follower->lock);
    return is_known;
}

}  // namespace pg_gpu::table
