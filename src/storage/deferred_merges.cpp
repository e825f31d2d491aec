#include "storage/deferred_merges.h"

#include "shared_memory.h"
#include "storage/index_statistics.h"

namespace pg_gpu::storage {

namespace {

struct SharedMerges {
    slock_t mutex;
    DeferredMerges merges;
};

}  // namespace

static DeferredMerges session_merges = {};

static SharedStructure structure = {"pg_gpu deferred merges", sizeof(SharedMerges),
                                    [](void *place) {
                                        auto *shared = static_cast<SharedMerges *>(place);
                                        SpinLockInit(&shared->mutex);
                                        shared->merges = {};
                                    },
                                    nullptr, false};

void reserve_deferred_merges() {
    reserve_shared(structure);
}

static SharedMerges *shared_merges() {
    return static_cast<SharedMerges *>(find_shared(&structure));
}

static void count(DeferredMerges *merges, const char *reason) {
    merges->count++;
    merges->last_database = MyDatabaseId;
    strlcpy(merges->last_reason, reason, sizeof(merges->last_reason));
}

void count_deferred_merge(Relation index, const char *reason) {
    char text[sizeof(DeferredMerges::last_reason)];
    snprintf(text, sizeof(text), "index \"%s\": %s", RelationGetRelationName(index), reason);
    text[pg_mbcliplen(text, static_cast<int>(strlen(text)), sizeof(text) - 1)] = '\0';
    count(&session_merges, text);
    count_deferred(RelationGetRelid(index));
    SharedMerges *shared = shared_merges();
    if (shared == nullptr)
        return;
    SpinLockAcquire(&shared->mutex);
    count(&shared->merges, text);
    SpinLockRelease(&shared->mutex);
}

const DeferredMerges &session_deferred_merges() {
    return session_merges;
}

void forget_session_deferred_merges() {
    session_merges = {};
}

DeferredMerges all_deferred_merges() {
    SharedMerges *shared = shared_merges();
    if (shared == nullptr)
        return session_merges;
    SpinLockAcquire(&shared->mutex);
    const DeferredMerges merges = shared->merges;
    SpinLockRelease(&shared->mutex);
    return merges;
}

void forget_all_deferred_merges() {
    SharedMerges *shared = shared_merges();
    if (shared == nullptr)
        return;
    SpinLockAcquire(&shared->mutex);
    shared->merges = {};
    SpinLockRelease(&shared->mutex);
}

}  // namespace pg_gpu::storage
