#include "table/rounds.h"

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

namespace {

// What orders snapshots: xmax never falls, and while it stays, transactions leave the list and none joins it.
struct Moment {
    uint64 number;  // 0: none
    uint64 xmax;
    uint32 listed;
};

}  // namespace

static Moment last_moments[kRemembered] = {};
static uint64 last_moment = 0;

uint64 moment_of(Snapshot snapshot, uint64 xmax) {
    // During recovery all transactions are listed as subtransactions. Else these may be left out.
    const uint32 listed =
        snapshot->takenDuringRecovery ? subtransactions_of(snapshot) : static_cast<uint32>(snapshot->xcnt);
    for (const Moment &moment : last_moments)
        if (moment.number != 0 && moment.xmax == xmax && moment.listed == listed)
            return moment.number;
    const Moment &last = last_moments[last_moment % kRemembered];
    if (last.number != 0 && (xmax < last.xmax || (xmax == last.xmax && listed > last.listed)))
        return 0;
    last_moment++;
    last_moments[last_moment % kRemembered] = {last_moment, xmax, listed};
    return last_moment;
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
