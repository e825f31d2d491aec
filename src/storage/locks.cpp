// The two heavyweight locks on an index's run list, and the claim that splits the list between them.
#include "storage/runs.h"

namespace pg_gpu::storage {

// Returns the tag of an object lock on the index, which its sub-object number distinguishes from others. The
// lock takes part in deadlock detection and is given back at transaction end, whatever happens.
static LOCKTAG run_lock_tag(Relation index, RunLock which) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationRelationId, RelationGetRelid(index),
                       static_cast<uint16>(which));
    return tag;
}

bool lock_runs(Relation index, RunLock which, LOCKMODE mode, bool conditional) {
    const LOCKTAG tag = run_lock_tag(index, which);
    return LockAcquire(&tag, mode, false, conditional) != LOCKACQUIRE_NOT_AVAIL;
}

void unlock_runs(Relation index, RunLock which, LOCKMODE mode) {
    const LOCKTAG tag = run_lock_tag(index, which);
    LockRelease(&tag, mode, false);
}

void lock_runs_patiently(Relation index, RunLock which, LOCKMODE mode) {
    constexpr long kLongestPauseMs = 20;
    for (long pause = 1; !lock_runs(index, which, mode, true); pause = Min(pause * 2, kLongestPauseMs)) {
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, pause, PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
}

static bool lock_runs_with(Relation index, RunLock which, Timeout timeout) {
    if (timeout != Timeout::Endless)
        return lock_runs(index, which, ExclusiveLock, timeout == Timeout::None);
    // VACUUM waits in the lock's queue, so that it gets its turn, and pg_locks shows whom it waits for.
    // lock_timeout is meant for locks on tables, and must not end a VACUUM here.
    const int nest_level = NewGUCNestLevel();
    set_config_option("lock_timeout", "0", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    lock_runs(index, which, ExclusiveLock, false);
    AtEOXact_GUC(false, nest_level);
    return true;
}

bool claim_old_runs(Relation index, const RunKind *kind, Timeout timeout, uint64 *horizon, Buffer *metapage) {
    if (!lock_runs_with(index, RunLock::OldRuns, timeout))
        return false;
    // Merges of recent runs are short; once this lock is ours none is under way, so none has a run below the
    // horizon in its hands.
    if (!lock_runs_with(index, RunLock::RecentRuns, timeout)) {
        unlock_runs(index, RunLock::OldRuns, ExclusiveLock);
        return false;
    }
    Buffer buffer = lock_metapage(index, kind, BUFFER_LOCK_EXCLUSIVE);
    GenericXLogState *state = GenericXLogStart(index);
    MetaPage *meta = meta_page(GenericXLogRegisterBuffer(state, buffer, 0));
    meta->old_runs_horizon = meta->next_order;
    *horizon = meta->old_runs_horizon;
    // Both locks are ours, so that no merge is under way, and whatever is reserved is left over from one that
    // broke off.
    memset(meta->reservations, 0, sizeof(meta->reservations));
    GenericXLogFinish(state);
    if (metapage != nullptr)
        *metapage = buffer;
    else
        UnlockReleaseBuffer(buffer);
    unlock_runs(index, RunLock::RecentRuns, ExclusiveLock);
    return true;
}

}  // namespace pg_gpu::storage
