#include "storage/waiting.h"

namespace pg_gpu::storage {

// Returns for how many milliseconds a process has waited for such a lock on a relation; -1 when it doesn't.
static long waited_for(const PGPROC &process, Oid relation, LOCKMODE weakest, TimestampTz now) {
    // Read without a lock: it may have got what it waits for, and the lock's place be another one's. Then the
    // answer is wrong for once.
    const LOCK *lock = *const_cast<LOCK *const volatile *>(&process.waitLock);
    if (lock == nullptr || process.waitLockMode < weakest)
        return -1;
    const LOCKTAG tag = lock->tag;
    if (tag.locktag_type != LOCKTAG_RELATION || tag.locktag_field1 != MyDatabaseId ||
        tag.locktag_field2 != relation)
        return -1;
    const auto since = static_cast<TimestampTz>(
        pg_atomic_read_u64(const_cast<pg_atomic_uint64 *>(&process.waitStart)));  // 0: about to wait
    return since == 0 ? 0 : TimestampDifferenceMilliseconds(since, now);
}

// It looks at what each process waits for, which needs none of the locks on the lock manager's tables.
// (LockHasWaiters cannot be asked about the weak locks of merges: they are taken by the fast path. A
// conditional request of our own would be refused for those who wait before 17 alone.)
long longest_wait(Oid relation, LOCKMODE weakest, TimestampTz now) {
    long longest = -1;
    for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
        if (&ProcGlobal->allProcs[i] != MyProc)
            longest = Max(longest, waited_for(ProcGlobal->allProcs[i], relation, weakest, now));
    return longest;
}

bool is_database_wanted(Oid database) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
    if (LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
        return true;
    LockRelease(&tag, RowExclusiveLock, false);
    return false;
}

}  // namespace pg_gpu::storage
