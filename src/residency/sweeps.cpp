#include "residency/sweeps.h"

#include "shared_memory.h"

namespace pg_gpu::client {

static constexpr int kSweptDatabases = 64;

namespace {

// When a session of each database last dropped obsolete mirrors. Two databases that share a place do so more
// often.
struct Sweeps {
    slock_t mutex;
    struct {
        Oid database;
        TimestampTz began_at;
    } last[kSweptDatabases];
};

}  // namespace

static SharedStructure structure = {"pg_gpu sweeps", sizeof(Sweeps),
                                    [](void *place) {
                                        memset(place, 0, sizeof(Sweeps));
                                        SpinLockInit(&static_cast<Sweeps *>(place)->mutex);
                                    },
                                    nullptr, false};

void reserve_sweeps() {
    reserve_shared(structure);
}

bool begin_sweep(TimestampTz now, int pause_ms) {
    auto *sweeps = static_cast<Sweeps *>(find_shared(&structure));
    if (sweeps == nullptr)
        return true;
    auto &last = sweeps->last[murmurhash32(MyDatabaseId) % kSweptDatabases];
    SpinLockAcquire(&sweeps->mutex);
    // The clock may have been set back.
    const bool is_due = last.database != MyDatabaseId || last.began_at > now ||
                        TimestampDifferenceExceeds(last.began_at, now, pause_ms);
    if (is_due) {
        last.database = MyDatabaseId;
        last.began_at = now;
    }
    SpinLockRelease(&sweeps->mutex);
    return is_due;
}

}  // namespace pg_gpu::client
