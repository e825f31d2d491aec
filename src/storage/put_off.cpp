#include "storage/put_off.h"

#include "shared_memory.h"
#include "storage/index_statistics.h"

namespace pg_gpu::storage {

namespace {

struct SharedMerges {
    slock_t mutex;
    PutOffMerges merges;
};

}  // namespace

static PutOffMerges session_merges = {};

static SharedStructure structure = {"pg_gpu merges that were put off", sizeof(SharedMerges),
                                    [](void *place) {
                                        auto *shared = static_cast<SharedMerges *>(place);
                                        SpinLockInit(&shared->mutex);
                                        shared->merges = {};
                                    },
                                    nullptr, false};

void reserve_put_off_merges() {
    reserve_shared(structure);
}

static SharedMerges *shared_merges() {
    return static_cast<SharedMerges *>(find_shared(&structure));
}

static void count(PutOffMerges *merges, const char *reason) {
    merges->count++;
    merges->last_database = MyDatabaseId;
    strlcpy(merges->last_reason, reason, sizeof(merges->last_reason));
}

void count_put_off_merge(Relation index, const char *reason) {
    char text[sizeof(PutOffMerges::last_reason)];
    snprintf(text, sizeof(text), "index \"%s\": %s", RelationGetRelationName(index), reason);
    text[pg_mbcliplen(text, static_cast<int>(strlen(text)), sizeof(text) - 1)] = '\0';
    count(&session_merges, text);
    count_put_off(RelationGetRelid(index));
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
