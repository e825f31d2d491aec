#include "table/rounds.h"

#include <algorithm>

#include "shared_memory.h"
#include "table/block_facts.h"

namespace pg_gpu::table {

namespace {

// Cursors and the statements beside them have a few snapshots at a time.
constexpr uint32 kRemembered = 4;
// Snapshots that list more transactions are taken for different ones.
constexpr uint32 kMaxListed = 256;

struct Round {
    uint32 number;  // 0: none
    uint64 shared;  // its number for all sessions
    uint64 xmin;
    TransactionId xmax;
    uint32 listed;
    uint32 listed_subtransactions;
    bool overflowed;
    bool in_recovery;
    TransactionId ids[kMaxListed];
};

}  // namespace

static Round remembered[kRemembered] = {};
static uint32 last_number = 0;

// A copy of a snapshot that doesn't know all of them has the number, and no list: it sees by their parents.
static uint32 subtransactions_of(Snapshot snapshot) {
    return snapshot->subxip != nullptr ? static_cast<uint32>(Max(snapshot->subxcnt, 0)) : 0;
}

static bool is_short(Snapshot snapshot) {
    return snapshot->xcnt <= kMaxListed && subtransactions_of(snapshot) <= kMaxListed - snapshot->xcnt;
}

static bool sees_the_same(const Round &round, Snapshot snapshot, uint64 xmin) {
    return round.xmin == xmin && round.xmax == snapshot->xmax && round.listed == snapshot->xcnt &&
           round.listed_subtransactions == subtransactions_of(snapshot) &&
           round.overflowed == snapshot->suboverflowed &&
           round.in_recovery == snapshot->takenDuringRecovery &&
           (round.listed == 0 ||
            memcmp(round.ids, snapshot->xip, round.listed * sizeof(TransactionId)) == 0) &&
           (round.listed_subtransactions == 0 ||
            memcmp(round.ids + round.listed, snapshot->subxip,
                   round.listed_subtransactions * sizeof(TransactionId)) == 0);
}

static uint32 new_number() {
    if (unlikely(++last_number == 0)) {
        // Rounds of long ago must not be taken for new ones.
        forget_block_facts();
        memset(remembered, 0, sizeof(remembered));
        last_number = 1;
    }
    return last_number;
}

// While a transaction is being prepared it is listed twice. Where more are listed than are looked at, one may
// be.
static bool may_list_twice(Snapshot snapshot) {
    constexpr uint32 kMaxLookedAt = 1024;
    TransactionId ids[kMaxLookedAt];
    if (snapshot->xcnt > kMaxLookedAt)
        return true;
    TransactionId *end = std::copy(snapshot->xip, snapshot->xip + snapshot->xcnt, ids);
    std::sort(ids, end);
    return std::adjacent_find(ids, end) != end;
}

// Returns a number that orders snapshots: xmax never falls, and while it stays, transactions that are under
// way below it end and none begins.
uint64 moment_of(Snapshot snapshot, uint64 xmax) {
    constexpr int kBitsUnderWay = 16;
    constexpr uint64 kMaxUnderWay = (uint64{1} << kBitsUnderWay) - 1;
    uint64 under_way;
    if (snapshot->takenDuringRecovery) {
        // All transactions are listed as subtransactions. Else these may be left out.
        under_way = subtransactions_of(snapshot);
    } else {
        if (may_list_twice(snapshot))
            return 0;
        // A snapshot's list leaves out the session's own transaction.
        const TransactionId own = GetTopTransactionIdIfAny();
        under_way = uint64{snapshot->xcnt} +
                    (TransactionIdIsValid(own) && TransactionIdPrecedes(own, snapshot->xmax) ? 1 : 0);
    }
    if (under_way > kMaxUnderWay || xmax >> (64 - kBitsUnderWay) != 0)
        return 0;
    return xmax << kBitsUnderWay | (kMaxUnderWay - under_way);
}

static void remember(Round *round, Snapshot snapshot, uint64 xmin) {
    round->xmin = xmin;
    round->xmax = snapshot->xmax;
    round->listed = snapshot->xcnt;
    round->listed_subtransactions = subtransactions_of(snapshot);
    round->overflowed = snapshot->suboverflowed;
    round->in_recovery = snapshot->takenDuringRecovery;
    if (round->listed > 0)
        memcpy(round->ids, snapshot->xip, round->listed * sizeof(TransactionId));
    if (round->listed_subtransactions > 0)
        memcpy(round->ids + round->listed, snapshot->subxip,
               round->listed_subtransactions * sizeof(TransactionId));
}

// ---- the rounds of all sessions ---------------------------------------------------------------------------

namespace {

struct SharedRounds {
    int tranche;
    LWLock lock;
    pg_atomic_uint64 last;     // written under the lock
    Round round[kRemembered];  // number n is the one in place n % kRemembered; all of them are numbered
};

}  // namespace

static SharedStructure structure = {"pg_gpu rounds", sizeof(SharedRounds),
                                    [](void *place) {
                                        auto *rounds = static_cast<SharedRounds *>(place);
                                        memset(place, 0, sizeof(*rounds));
                                        pg_atomic_init_u64(&rounds->last, 0);
                                        rounds->tranche = LWLockNewTrancheId();
                                        LWLockInitialize(&rounds->lock, rounds->tranche);
                                    },
                                    nullptr, false};
static bool is_reserved = false;
static uint64 last_shared = 0;

void reserve_shared_rounds() {
    reserve_shared(structure);
    is_reserved = true;
}

uint64 shared_round() {
    return last_shared;
}

static SharedRounds *shared_rounds() {
    static bool is_registered = false;
    auto *rounds = is_reserved ? static_cast<SharedRounds *>(find_shared(&structure)) : nullptr;
    if (rounds != nullptr && !is_registered) {
        LWLockRegisterTranche(rounds->tranche, "pg_gpu_rounds");
        is_registered = true;
    }
    return rounds;
}

uint64 last_shared_round() {
    SharedRounds *rounds = shared_rounds();
    const uint64 last = rounds != nullptr ? pg_atomic_read_u64(&rounds->last) : 0;
    pg_memory_barrier();
    return last;
}

// The lock must be held. Returns 0 when nobody has met the snapshot lately.
static uint64 find_shared_round(const SharedRounds &rounds, Snapshot snapshot, uint64 xmin) {
    for (const Round &round : rounds.round)
        if (round.shared != 0 && sees_the_same(round, snapshot, xmin))
            return round.shared;
    return 0;
}

static uint64 number_for_all(Snapshot snapshot, uint64 xmin) {
    SharedRounds *rounds = shared_rounds();
    if (rounds == nullptr)
        return 0;
    LWLockAcquire(&rounds->lock, LW_SHARED);
    uint64 number = find_shared_round(*rounds, snapshot, xmin);
    LWLockRelease(&rounds->lock);
    if (number != 0)
        return number;
    LWLockAcquire(&rounds->lock, LW_EXCLUSIVE);
    number = find_shared_round(*rounds, snapshot, xmin);
    if (number == 0) {
        number = pg_atomic_read_u64(&rounds->last) + 1;
        // A session that sees the number must see all that the snapshot does.
        pg_memory_barrier();
        pg_atomic_write_u64(&rounds->last, number);
        Round *round = &rounds->round[number % kRemembered];
        round->shared = number;
        remember(round, snapshot, xmin);
    }
    LWLockRelease(&rounds->lock);
    return number;
}

// ---- the session's ----------------------------------------------------------------------------------------

uint32 round_of(Snapshot snapshot, uint64 xmin) {
    last_shared = 0;
    // Changes of this transaction are seen by some of its snapshots, and no snapshot lists its own id.
    if (TransactionIdIsValid(GetTopTransactionIdIfAny()) || !is_short(snapshot))
        return new_number();
    for (const Round &round : remembered) {
        if (round.number == 0 || !sees_the_same(round, snapshot, xmin))
            continue;
        last_shared = round.shared;
        return round.number;
    }
    const uint32 number = new_number();
    Round *round = &remembered[number % kRemembered];
    round->number = number;
    round->shared = last_shared = number_for_all(snapshot, xmin);
    remember(round, snapshot, xmin);
    return number;
}

}  // namespace pg_gpu::table
