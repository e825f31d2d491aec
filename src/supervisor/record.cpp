#include "supervisor/record.h"

#include "shared_memory.h"

namespace pg_gpu::client {

namespace {

constexpr int kKeptEnds = 16;

struct SharedRecord {
    slock_t mutex;
    SupervisorRecord record;
    ProcessEnd ends[kKeptEnds];
    uint32 end_count;  // number of all ends; end number i lies at place i modulo kKeptEnds
};

}  // namespace

static SharedStructure structure = {"pg_gpu supervisor", sizeof(SharedRecord),
                                    [](void *place) {
                                        auto *shared = static_cast<SharedRecord *>(place);
                                        SpinLockInit(&shared->mutex);
                                        shared->record = {};
                                        memset(shared->ends, 0, sizeof(shared->ends));
                                        shared->end_count = 0;
                                    },
                                    nullptr, false};

void reserve_supervisor_record() {
    reserve_shared(structure);
}

static SharedRecord *shared_record() {
    return static_cast<SharedRecord *>(find_shared(&structure));
}

// Calls change(shared) with the mutex held: it does little, and raises no error.
template <typename Change>
static void change(Change change) {
    SharedRecord *shared = shared_record();
    if (shared == nullptr)
        return;
    SpinLockAcquire(&shared->mutex);
    change(shared);
    SpinLockRelease(&shared->mutex);
}

bool begin_supervision() {
    bool is_only = false;
    change([&](SharedRecord *shared) {
        is_only = shared->record.supervisor == 0;
        if (is_only)
            shared->record.supervisor = MyProcPid;
    });
    return is_only;
}

void end_supervision() {
    change([](SharedRecord *shared) { shared->record.supervisor = 0; });
}

void record_server_start(pid_t pid) {
    const TimestampTz now = GetCurrentTimestamp();
    change([&](SharedRecord *shared) {
        shared->record.server = pid;
        shared->record.started_at = now;
        // An earlier process may have had the number.
        for (ProcessEnd &end : shared->ends)
            if (end.pid == pid)
                end.pid = 0;
    });
}

void record_process_end(pid_t pid, int status) {
    change([&](SharedRecord *shared) { shared->ends[shared->end_count++ % kKeptEnds] = {pid, status}; });
}

void record_server_stop() {
    change([](SharedRecord *shared) { shared->record.server = 0; });
}

void record_restart() {
    change([](SharedRecord *shared) {
        shared->record.server = 0;
        shared->record.restarts++;
    });
}

void record_error(const char *format, ...) {
    char text[sizeof(SupervisorRecord::last_error)];
    va_list arguments;
    va_start(arguments, format);
    pg_vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const TimestampTz now = GetCurrentTimestamp();
    change([&](SharedRecord *shared) {
        shared->record.failed_at = now;
        memcpy(shared->record.last_error, text, sizeof(text));
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

bool find_process_end(pid_t pid, int *status) {
    bool found = false;
    change([&](SharedRecord *shared) {
        for (const ProcessEnd &end : shared->ends)
            if (end.pid == pid) {
                *status = end.status;
                found = true;
            }
    });
    return found;
}

}  // namespace pg_gpu::client
