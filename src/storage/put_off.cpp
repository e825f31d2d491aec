#include "storage/put_off.h"

namespace pg_gpu::storage {

namespace {

struct SharedMerges {
    slock_t mutex;
    PutOffMerges merges;
};

}  // namespace

static PutOffMerges session_merges = {};

// Takes the counters from the shared memory that PostgreSQL has to spare, so that the library need not be
// preloaded. Raises an error when there is none left, or when a library of another version was here first.
static pg_noinline SharedMerges *attach() {
    bool found;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    auto *shared = static_cast<SharedMerges *>(
        ShmemInitStruct("pg_gpu merges that were put off", sizeof(SharedMerges), &found));
    if (!found) {
        SpinLockInit(&shared->mutex);
        shared->merges = {};
    }
    LWLockRelease(AddinShmemInitLock);
    return shared;
}

// Returns nullptr where the counters can't be had. Neither a merge nor gpu.stat fails for that. There may be
// no subtransaction here, since gpu.stat is read in parallel mode, too, and none is needed: only the lock is
// held when an error is raised.
static SharedMerges *shared_merges() {
    static SharedMerges *shared = nullptr;
    static bool is_tried = false;
    if (is_tried)
        return shared;
    is_tried = true;
    MemoryContext caller_context = CurrentMemoryContext;
    PG_TRY();
    { shared = attach(); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller_context);
        FlushErrorState();
        // The error has reset the count of holders of interrupts, from which the release takes one away.
        HOLD_INTERRUPTS();
        LWLockRelease(AddinShmemInitLock);
    }
    PG_END_TRY();
    return shared;
}

static void count(PutOffMerges *merges, const char *reason) {
    merges->count++;
    merges->last_database = MyDatabaseId;
    strlcpy(merges->last_reason, reason, sizeof(merges->last_reason));
}

void count_put_off_merge(const char *index_name, const char *reason) {
    char text[sizeof(PutOffMerges::last_reason)];
    snprintf(text, sizeof(text), "index \"%s\": %s", index_name, reason);
    text[pg_mbcliplen(text, static_cast<int>(strlen(text)), sizeof(text) - 1)] = '\0';
    count(&session_merges, text);
    SharedMerges *shared = shared_merges();
    if (shared == nullptr)
        return;
    SpinLockAcquire(&shared->mutex);
    count(&shared->merges, text);
    SpinLockRelease(&shared->mutex);
}

const PutOffMerges &session_put_off_merges() {
    return session_merges;
}

void forget_session_put_off_merges() {
    session_merges = {};
}

PutOffMerges all_put_off_merges() {
    SharedMerges *shared = shared_merges();
    if (shared == nullptr)
        return session_merges;
    SpinLockAcquire(&shared->mutex);
    const PutOffMerges merges = shared->merges;
    SpinLockRelease(&shared->mutex);
    return merges;
}

void forget_all_put_off_merges() {
    SharedMerges *shared = shared_merges();
    if (shared == nullptr)
        return;
    SpinLockAcquire(&shared->mutex);
    shared->merges = {};
    SpinLockRelease(&shared->mutex);
}

}  // namespace pg_gpu::storage
