#include "table/wal_commits.h"

namespace pg_gpu::table {

static uint64 next_id() {
    return U64FromFullTransactionId(ReadNextFullTransactionId());
}

// `next` was read after the id was given out.
static uint64 full_id_of(TransactionId id, uint64 next) {
    return next - static_cast<uint32>(static_cast<uint32>(next) - id);
}

namespace {

// What is to be asked about: a copy.
struct Unchecked {
    uint64 from;
    int open_count;
    uint64 open[CheckedCommits::kMaxOpen];
};

}  // namespace

static void copy_unchecked(CheckedCommits *checked, Unchecked *unchecked) {
    LWLockAcquire(&checked->lock, LW_SHARED);
    unchecked->from = checked->from;
    unchecked->open_count = checked->open_count;
    memcpy(unchecked->open, checked->open, static_cast<size_t>(checked->open_count) * sizeof(uint64));
    LWLockRelease(&checked->lock);
}

static XLogRecPtr commit_of(uint64 id) {
    const auto short_id = static_cast<TransactionId>(id);
    return TransactionIdIsNormal(short_id) ? TransactionIdGetCommitLSN(short_id) : InvalidXLogRecPtr;
}

// Ids are kept in groups with the end of the group's last asynchronous commit. Two ids of each are asked
// about, because that of the transaction that was looked up last is told from memory, as it was then.
static XLogRecPtr last_commit_between(uint64 first, uint64 last) {
    constexpr uint64 kIdsOfGroup = 32;  // as CLOG_XACTS_PER_LSN_GROUP says
    XLogRecPtr latest = InvalidXLogRecPtr;
    for (uint64 id = first; id < last;) {
        const uint64 behind = Min((id / kIdsOfGroup + 1) * kIdsOfGroup, last);
        for (uint32 asked = 0; asked < 2 && id < behind; id++)
            if (TransactionIdIsNormal(static_cast<TransactionId>(id))) {
                latest = Max(latest, commit_of(id));
                asked++;
            }
        id = behind;
    }
    return latest;
}

XLogRecPtr last_commit(CheckedCommits *checked, Snapshot snapshot, uint64 most) {
    Unchecked unchecked;
    copy_unchecked(checked, &unchecked);
    const uint64 next = next_id();
    const uint64 last = full_id_of(snapshot->xmax, next);
    LWLockAcquire(XactTruncationLock, LW_SHARED);
    // Before clog is cut off, all is flushed.
    const uint64 oldest = full_id_of(oldest_clog_id(), next);
    const uint64 first = Max(unchecked.from, oldest);
    XLogRecPtr latest = InvalidXLogRecPtr;
    if (last > first && last - first > most) {
        latest = PG_UINT64_MAX;
    } else {
        latest = last_commit_between(first, last);
        for (int i = 0; i < unchecked.open_count; i++)
            if (unchecked.open[i] >= oldest)
                latest = Max(latest, commit_of(unchecked.open[i]));
    }
    LWLockRelease(XactTruncationLock);
    return latest;
}

uint64 unchecked_ids(CheckedCommits *checked, Snapshot snapshot) {
    const uint64 last = full_id_of(snapshot->xmax, next_id());
    LWLockAcquire(&checked->lock, LW_SHARED);
    const uint64 from = checked->from;
    LWLockRelease(&checked->lock);
    return last > from ? last - from : 0;
}

// A snapshot taken during recovery has all ids in subxip.
void note_checked(CheckedCommits *checked, Snapshot snapshot, bool anew) {
    const uint64 next = next_id();
    const uint64 xmin = full_id_of(snapshot->xmin, next);
    const uint64 xmax = full_id_of(snapshot->xmax, next);
    const uint64 open_count = snapshot->xcnt + static_cast<uint64>(Max(snapshot->subxcnt, 0));
    const bool has_room = !snapshot->suboverflowed && open_count <= CheckedCommits::kMaxOpen;
    LWLockAcquire(&checked->lock, LW_EXCLUSIVE);
    if (has_room && (anew || xmax >= checked->from)) {
        checked->from = xmax;
        checked->open_count = 0;
        for (uint32 i = 0; i < snapshot->xcnt; i++)
            checked->open[checked->open_count++] = full_id_of(snapshot->xip[i], next);
        for (int32 i = 0; i < snapshot->subxcnt; i++)
            checked->open[checked->open_count++] = full_id_of(snapshot->subxip[i], next);
    } else if (!has_room && (anew || xmin >= checked->from)) {
        checked->from = xmin;
        checked->open_count = 0;
    }
    LWLockRelease(&checked->lock);
}

}  // namespace pg_gpu::table
