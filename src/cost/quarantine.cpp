#include "cost/quarantine.h"

#include <sys/wait.h>

#include <csignal>

#include "rpc/rpc.h"
#include "session_table.h"
#include "supervisor/supervisor.h"

namespace pg_gpu::client {

namespace {

struct Sort {
    Oid index;
    int32 kind;
    int32 path;

    friend bool operator==(const Sort &, const Sort &) = default;
};

struct Quarantine {
    Sort sort;  // the key
    TimestampTz until;
    int seconds;
    // While it isn't known whether the process has crashed; else 0.
    pid_t suspect;
};

}  // namespace

static constexpr int kFirstSeconds = 60;
static constexpr int kMaxSeconds = 3600;

static SessionTable<Sort, Quarantine> quarantines = {"pg_gpu quarantines", 1024};
static Sort requested = {InvalidOid, -1, -1};

static Sort sort_of(Oid index, RequestKind kind, Path path) {
    return {index, static_cast<int32>(kind), static_cast<int32>(path)};
}

static void begin_quarantine(Quarantine *quarantine, const char *end) {
    quarantine->suspect = 0;
    quarantine->seconds = Min(Max(quarantine->seconds * 2, kFirstSeconds), kMaxSeconds);
    quarantine->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), quarantine->seconds * 1000);
    const Sort &sort = quarantine->sort;
    const char *kind = request_name(static_cast<RequestKind>(sort.kind));
    const char *path = path_name(static_cast<Path>(sort.path));
    const char *index = OidIsValid(sort.index) ? get_rel_name(sort.index) : nullptr;
    ereport(LOG, (index != nullptr ? errmsg("requests \"%s\" to index \"%s\" are kept from path %s for %d s",
                                            kind, index, path, quarantine->seconds)
                                   : errmsg("requests \"%s\" are kept from path %s for %d s", kind, path,
                                            quarantine->seconds),
                  errdetail("The server process ended while it answered one: %s.", end)));
}

// Returns whether a fault in the process raises the signal, or a library that finds its data broken. An
// administrator, the supervisor and the kernel's search for memory kill with others.
static bool is_of_fault(int signal) {
    return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
}

static bool is_crash(int status) {
    return WIFSIGNALED(status) ? is_of_fault(WTERMSIG(status))
                               : WIFEXITED(status) && WEXITSTATUS(status) == kGivenUpStatus;
}

// Looks how a process that was lost has ended; false: it was no crash, and nothing is left.
static bool resolve_suspicion(Quarantine *quarantine) {
    int status;
    if (!find_process_end(quarantine->suspect, &status))
        return true;
    if (is_crash(status)) {
        begin_quarantine(quarantine, describe_end(status));
        return true;
    }
    quarantine->suspect = 0;
    quarantine->until = 0;
    return false;
}

bool is_in_quarantine(const Request &request, Path path) {
    Quarantine *quarantine = search(&quarantines, sort_of(request.index, request.kind, path), HASH_FIND);
    return quarantine != nullptr && GetCurrentTimestamp() < quarantine->until &&
           (quarantine->suspect == 0 || resolve_suspicion(quarantine));
}

void note_requested(const Request &request, Path path) {
    requested = sort_of(request.index, request.kind, path);
}

void suspect(RequestKind kind, Path path) {
    if (!(requested == sort_of(requested.index, kind, path)))
        return;
    Quarantine *quarantine = search(&quarantines, requested, HASH_ENTER);
    quarantine->suspect = server_process();
    quarantine->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), kFirstSeconds * 1000);
}

void end_quarantine(RequestKind kind, Path path) {
    if (requested == sort_of(requested.index, kind, path))
        search(&quarantines, requested, HASH_REMOVE);
}

}  // namespace pg_gpu::client
