#include "supervisor/record.h"

#include <algorithm>

#include "shared_memory.h"

namespace pg_gpu::client {

namespace {

constexpr int kQuarantines = 64;
constexpr int kFirstSeconds = 60;
constexpr int kMaxSeconds = 3600;

struct SharedRecord {
    slock_t mutex;
    SupervisorRecord record;
    int quarantine_count;  // which is looked at without the mutex
    Quarantine quarantines[kQuarantines];
};

}  // namespace

static SharedStructure structure = {"pg_gpu supervisor", sizeof(SharedRecord),
                                    [](void *place) {
                                        auto *shared = static_cast<SharedRecord *>(place);
                                        SpinLockInit(&shared->mutex);
                                        shared->record = {};
                                        shared->quarantine_count = 0;
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
    });
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

// ---- requests that server processes ended by -------------------------------------------------------------

// Returns nullptr where there is none.
static Quarantine *search(SharedRecord *shared, const protocol::Subject &subject, Path path) {
    for (int i = 0; i < shared->quarantine_count; i++) {
        Quarantine *quarantine = &shared->quarantines[i];
        if (quarantine->subject == subject && quarantine->path == static_cast<int>(path))
            return quarantine;
    }
    return nullptr;
}

// A full list loses the one that ends first.
static Quarantine *add(SharedRecord *shared) {
    if (shared->quarantine_count < kQuarantines)
        return &shared->quarantines[shared->quarantine_count++];
    return std::min_element(shared->quarantines, shared->quarantines + kQuarantines,
                            [](const Quarantine &a, const Quarantine &b) { return a.until < b.until; });
}

void begin_quarantine(const protocol::Subject &subject, Path path, int status) {
    const TimestampTz now = GetCurrentTimestamp();
    change([&](SharedRecord *shared) {
        Quarantine *quarantine = search(shared, subject, path);
        const int before = quarantine != nullptr ? quarantine->seconds : 0;
        if (quarantine == nullptr)
            quarantine = add(shared);
        const int seconds = Min(Max(before * 2, kFirstSeconds), kMaxSeconds);
        *quarantine = {subject,
                       static_cast<int>(path),
                       TimestampTzPlusMilliseconds(now, seconds * 1000),
                       seconds,
                       status,
                       false};
    });
}

// Each choice of a path asks for it, nearly always in vain.
static bool has_quarantines() {
    const SharedRecord *shared = shared_record();
    return shared != nullptr && *static_cast<const volatile int *>(&shared->quarantine_count) > 0;
}

bool find_quarantine(const protocol::Subject &subject, Path path, Quarantine *quarantine) {
    if (!has_quarantines())
        return false;
    const TimestampTz now = GetCurrentTimestamp();
    bool found = false;
    change([&](SharedRecord *shared) {
        Quarantine *kept = search(shared, subject, path);
        if (kept == nullptr || now >= kept->until)
            return;
        *quarantine = *kept;
        kept->is_reported = true;
        found = true;
    });
    return found;
}

void end_quarantine(const protocol::Subject &subject, Path path) {
    if (!has_quarantines())
        return;
    change([&](SharedRecord *shared) {
        if (Quarantine *kept = search(shared, subject, path))
            *kept = shared->quarantines[--shared->quarantine_count];
    });
}

}  // namespace pg_gpu::client
