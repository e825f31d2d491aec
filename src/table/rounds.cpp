#include "table/rounds.h"

#include <algorithm>

#include "table/block_facts.h"

namespace pg_gpu::table {

namespace {

// Cursors and the statements beside them have a few snapshots at a time.
constexpr uint32 kRemembered = 4;
// Snapshots that list more transactions are taken for different ones.
constexpr uint32 kMaxListed = 256;

struct Round {
    uint32 number;  // 0: none
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

static uint32 subtransactions_of(Snapshot snapshot) {
    return static_cast<uint32>(Max(snapshot->subxcnt, 0));
}

static bool is_short(Snapshot snapshot) {
    return snapshot->xcnt <= kMaxListed && subtransactions_of(snapshot) <= kMaxListed - snapshot->xcnt;
}

static bool sees_the_same(const Round &round, Snapshot snapshot, uint64 xmin) {
    return round.number != 0 && round.xmin == xmin && round.xmax == snapshot->xmax &&
           round.listed == snapshot->xcnt && round.listed_subtransactions == subtransactions_of(snapshot) &&
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
    constexpr uint32 kMostLookedAt = 1024;
    TransactionId ids[kMostLookedAt];
    if (snapshot->xcnt > kMostLookedAt)
        return true;
    TransactionId *end = std::copy(snapshot->xip, snapshot->xip + snapshot->xcnt, ids);
    std::sort(ids, end);
    return std::adjacent_find(ids, end) != end;
}

// What orders snapshots: xmax never falls, and while it stays, transactions that are under way below it end
// and none begins.
uint64 moment_of(Snapshot snapshot, uint64 xmax) {
    constexpr int kBitsUnderWay = 16;
    constexpr uint64 kMostUnderWay = (uint64{1} << kBitsUnderWay) - 1;
    uint64 under_way;
    if (snapshot->takenDuringRecovery) {
        // All transactions are listed as subtransactions. Else these may be left out.
        under_way = subtransactions_of(snapshot);
    } else {
        if (may_list_twice(snapshot))
            return 0;
        // No list has the session's own.
        const TransactionId own = GetTopTransactionIdIfAny();
        under_way = uint64{snapshot->xcnt} +
                    (TransactionIdIsValid(own) && TransactionIdPrecedes(own, snapshot->xmax) ? 1 : 0);
    }
    if (under_way > kMostUnderWay || xmax >> (64 - kBitsUnderWay) != 0)
        return 0;
    return xmax << kBitsUnderWay | (kMostUnderWay - under_way);
}

uint32 round_of(Snapshot snapshot, uint64 xmin) {
    // Changes of this transaction are seen by some of its snapshots, and no snapshot lists its own id.
    if (TransactionIdIsValid(GetTopTransactionIdIfAny()) || !is_short(snapshot))
        return new_number();
    for (const Round &round : remembered)
        if (sees_the_same(round, snapshot, xmin))
            return round.number;
    const uint32 number = new_number();
    Round *round = &remembered[number % kRemembered];
    *round = {number,
              xmin,
              snapshot->xmax,
              snapshot->xcnt,
              subtransactions_of(snapshot),
              snapshot->suboverflowed,
              snapshot->takenDuringRecovery,
              {}};
    if (round->listed > 0)
        memcpy(round->ids, snapshot->xip, round->listed * sizeof(TransactionId));
    if (round->listed_subtransactions > 0)
        memcpy(round->ids + round->listed, snapshot->subxip,
               round->listed_subtransactions * sizeof(TransactionId));
    return number;
}

}  // namespace pg_gpu::table
