#include "client/supervisor_record.h"

#include "shared_memory.h"

namespace pg_gpu::client {

namespace {

struct SharedRecord {
    slock_t mutex;
    SupervisorRecord record;
};

}  // namespace

static SharedStructure structure = {"pg_gpu supervisor", sizeof(SharedRecord),
                                    [](void *place) {
                                        auto *shared = static_cast<SharedRecord *>(place);
                                        SpinLockInit(&shared->mutex);
                                        shared->record = {};
                                    },
                                    nullptr, false};

void reserve_supervisor_record() {
    reserve_shared(structure);
}

static SharedRecord *shared_record() {
    return static_cast<SharedRecord *>(find_shared(&structure));
}

template <typename Change>
static void change(Change change) {
    SharedRecord *shared = shared_record();
    if (shared == nullptr)
        return;
    SpinLockAcquire(&shared->mutex);
    change(&shared->record);
    SpinLockRelease(&shared->mutex);
}

void record_server_start(pid_t pid) {
    const TimestampTz now = GetCurrentTimestamp();
    change([&](SupervisorRecord *record) {
        record->server = pid;
        record->started_at = now;
    });
}

void record_server_stop() {
    change([](SupervisorRecord *record) { record->server = 0; });
}

void record_restart() {
    change([](SupervisorRecord *record) {
        record->server = 0;
        record->restarts++;
    });
}

void record_error(const char *format, ...) {
    char text[sizeof(SupervisorRecord::last_error)];
    va_list arguments;
    va_start(arguments, format);
    pg_vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const TimestampTz now = GetCurrentTimestamp();
    change([&](SupervisorRecord *record) {
        record->failed_at = now;
        memcpy(record->last_error, text, sizeof(text));
    });
}

bool read_supervisor_record(SupervisorRecord *record) {
    SharedRecord *shared = shared_record();
    if (shared == nullptr)
        return false;
    SpinLockAcquire(&shared->mutex);
    *record = shared->record;
    SpinLockRelease(&shared->mutex);
    return true;
}

}  // namespace pg_gpu::client
