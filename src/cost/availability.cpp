#include "cost/availability.h"

#include "cost/counters.h"
#include "cost/quarantine.h"
#include "cost/learner.h"
#include "supervisor/supervisor.h"
#include "cost/usage.h"
#include "settings.h"
#include "storage/storage.h"

namespace pg_gpu::client {

// ---- cooling down ----------------------------------------------------------------------------------------

// After a failure that the next request would meet too, a path rests, twice as long each time up to a limit.
// After a failure that costs nothing to find out again (nothing listens) it rests shortly, after a timeout
// longer.

namespace {

struct Rest {
    TimestampTz until;
    int milliseconds;  // length of the last rest; 0 when the last request was answered
    char reason[storage::kReasonBytes];
};

struct RestTimes {
    int first;
    int longest;
};

}  // namespace

static Rest rests[kPaths];

static RestTimes rest_times(RequestFailure failure) {
    switch (failure) {
        case RequestFailure::NoServer:
        case RequestFailure::Opening:
            return {20, 1000};
        case RequestFailure::Lost:
            return {100, 10000};
        case RequestFailure::NoEngine:
        case RequestFailure::Version:
            return {5000, 60000};
        case RequestFailure::Deadline:
            return {1000, 60000};
        default:
            return {0, 0};
    }
}

static void rest(Path path, RequestFailure failure) {
    const RestTimes times = rest_times(failure);
    if (times.first == 0)
        return;
    Rest *rest = &rests[static_cast<int>(path)];
    rest->milliseconds = Min(Max(rest->milliseconds * 2, times.first), times.longest);
    rest->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), rest->milliseconds);
    strlcpy(rest->reason, last_reason(), sizeof(rest->reason));
}

// Trouble with the process is trouble with each of its engines.
static bool concerns_all_engines(RequestFailure failure) {
    return failure != RequestFailure::NoEngine && failure != RequestFailure::Opening;
}

static void rest_after(Path path, RequestFailure failure) {
    if (!concerns_all_engines(failure)) {
        rest(path, failure);
        return;
    }
    rest(Path::Host, failure);
    rest(Path::Cuda, failure);
}

static bool is_resting(Path path) {
    const Rest &rest = rests[static_cast<int>(path)];
    return rest.milliseconds > 0 && GetCurrentTimestamp() < rest.until;
}

const char *resting_reason(Path path) {
    return is_resting(path) ? rests[static_cast<int>(path)].reason : nullptr;
}

// ---- what is there ---------------------------------------------------------------------------------------

enum class Start { Wanted, NotWanted };

static bool supervisor_expected = false;

static bool find_engine(Path path, Start start) {
    if (!connect_to_server()) {
        if (last_failure() == RequestFailure::NoServer)
            supervisor_expected = start == Start::Wanted ? launch_supervisor() : is_supervisor_running();
        return false;
    }
    if (!has_engine(path) && is_opening_engine(path) && !ping_server())
        return false;
    if (has_engine(path))
        return true;
    return is_opening_engine(path)
               ? fail(RequestFailure::Opening, "the %s engine is being opened", path_name(path))
               : fail(RequestFailure::NoEngine, "the server process has no %s engine", path_name(path));
}

bool ready_for(Path path) {
    if (path == Path::Paged)
        return fail(RequestFailure::NotWanted, "paged is cheaper");
    return find_engine(path, Start::Wanted);
}

bool reach_server() {
    const Rest &resting = rests[static_cast<int>(Path::Host)];
    if (is_resting(Path::Host) && !is_connected())
        return fail(RequestFailure::NotWanted, "%s", resting.reason);
    if (connect_to_server())
        return true;
    // It costs nothing to find out that there is no server process, and the next request may start it: the
    // path doesn't rest then.
    if (last_failure() != RequestFailure::NoServer)
        rest_after(Path::Host, last_failure());
    return false;
}

void pause_for(long milliseconds) {
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds, PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

static bool await(Path path, Start start) {
    constexpr long kPauseMs = 10;
    const TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), request_timeout());
    for (;;) {
        if (find_engine(path, start))
            return true;
        const RequestFailure why = last_failure();
        if (!(why == RequestFailure::NoServer && supervisor_expected) && why != RequestFailure::Opening &&
            why != RequestFailure::Lost)
            return false;
        if (GetCurrentTimestamp() >= deadline) {
            // Fails as any wait in vain does, so that the path rests.
            char waited_for[storage::kReasonBytes];
            strlcpy(waited_for, last_reason(), sizeof(waited_for));
            return fail(RequestFailure::Deadline, "%s", waited_for);
        }
        pause_for(kPauseMs);
    }
}

bool await_engine(Path path) {
    return path == Path::Paged ? ready_for(path) : await(path, Start::Wanted);
}

bool await_engine_without_starting(Path path) {
    return await(path, Start::NotWanted);
}

bool may_be_there(Path path) {
    return server_wanted() && !is_resting(path) &&
           (!is_connected() || has_engine(path) || is_opening_engine(path));
}

void note_answered(RequestKind kind, Path path, uint64 items, uint64 bytes,
                   const protocol::ReplyHeader &reply) {
    rests[static_cast<int>(path)] = {};
    note_survived(kind, path);
    note_wait(path, static_cast<double>(reply.queued_microseconds));
    note_shared(static_cast<double>(reply.microseconds), reply.others);
    if (path == Path::Cuda && (reply.engines >> static_cast<int>(protocol::EngineName::host) & 1) != 0)
        count_help_of_host();
    count_request(path, kind, items, bytes, static_cast<double>(reply.microseconds),
                  static_cast<double>(last_round_trip()));
}

bool note_failed(RequestKind kind, Path path, Oid index) {
    note_reason(path, kind, index, last_reason());
    rest_after(path, last_failure());
    if (last_failure() == RequestFailure::NotWanted || last_failure() == RequestFailure::Busy)
        go_to_pages(kind, false);
    if (last_failure() != RequestFailure::NotWanted)
        announce_forced_path();
    return false;
}

bool avoid_absent(Path path) {
    rest_after(path, last_failure());
    return false;
}

void decline(RequestKind kind, const Choice &choice, const char *reason) {
    fail(RequestFailure::NotWanted, "%s", reason);
    go_to_pages(kind, true);
    note_failed(kind, choice.path, choice.index);
}

}  // namespace pg_gpu::client
