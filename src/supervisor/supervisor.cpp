#include "supervisor/supervisor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "rpc/rpc.h"
#include "supervisor/server_log.h"
#include "supervisor/server_process.h"
#include "supervisor/record.h"
#include "settings.h"

namespace pg_gpu::client {

// ---- registering ------------------------------------------------------------------------------------------

static constexpr int kRestartSeconds = 10;
static constexpr int kLaunchIntervalMs = 1000;

static void describe_worker(BackgroundWorker *worker) {
    *worker = {};
    strlcpy(worker->bgw_name, "pg_gpu supervisor", BGW_MAXLEN);
    strlcpy(worker->bgw_type, "pg_gpu supervisor", BGW_MAXLEN);
    strlcpy(worker->bgw_library_name, "pg_gpu", BGW_MAXLEN);
    strlcpy(worker->bgw_function_name, "pg_gpu_supervisor_main", BGW_MAXLEN);
    worker->bgw_flags = BGWORKER_SHMEM_ACCESS;
    worker->bgw_start_time = BgWorkerStart_ConsistentState;
    worker->bgw_restart_time = kRestartSeconds;
}

void register_supervisor() {
    BackgroundWorker worker;
    describe_worker(&worker);
    RegisterBackgroundWorker(&worker);
}

bool is_supervisor_running() {
    SupervisorRecord record;
    return read_supervisor_record(&record) && record.supervisor != 0;
}

bool launch_supervisor() {
    static TimestampTz last_attempt = 0;
    static bool reported = false;
    static bool launched = false;
    if (!IsUnderPostmaster || !server_wanted())
        return false;
    SupervisorRecord record;
    if (!read_supervisor_record(&record)) {
        if (!reported)
            ereport(LOG, (errmsg("pg_gpu has no server process: no shared memory is left for its record"),
                          errhint("Preload pg_gpu.")));
        reported = true;
        return false;
    }
    if (record.supervisor != 0)
        return true;
    const TimestampTz now = GetCurrentTimestamp();
    if (!TimestampDifferenceExceeds(last_attempt, now, kLaunchIntervalMs))
        return launched;
    last_attempt = now;
    BackgroundWorker worker;
    describe_worker(&worker);
    launched = RegisterDynamicBackgroundWorker(&worker, nullptr);
    if (!launched && !reported) {
        reported = true;
        ereport(LOG, (errmsg("pg_gpu has no server process: no free slot for its background worker"),
                      errhint("Raise max_worker_processes, or preload pg_gpu.")));
    }
    return launched;
}

// ---- the worker -------------------------------------------------------------------------------------------

namespace {

struct Supervisor {
    ServerProcess server = {0, -1, -1};
    TimestampTz start_at = 0;    // not before
    TimestampTz started_at = 0;  // the running one
    TimestampTz look_at = 0;     // the next heartbeat
    int delay_ms = 0;            // before the next start
    int starts = 0;
    int missed = 0;            // heartbeats since the last answer
    bool greeted = false;      // it has its limits
    int threads = 0;           // it was started with
    char complaint[256] = "";  // the last thing the log was told about why none runs
};

}  // namespace

static Supervisor state;

static constexpr int kFirstDelayMs = 100;
static constexpr int kLongestDelayMs = 60000;
// A server that has lived so long is taken to be sound.
static constexpr int kHealthyMs = 60000;
static constexpr int kHeartbeatMs = 2000;
static constexpr int kLongestStartMs = 60000;
static constexpr int kTimeoutMs = 2000;
// A heartbeat is waited for as long as pg_gpu.request_timeout, but that may be shorter than a busy machine
// lets a sound process wait, or hours.
static constexpr int kLeastHeartbeatMs = 1000;
static constexpr int kMaxHeartbeatMs = 5000;
// Heartbeats without an answer before the server is taken to be stopped.
static constexpr int kMaxMissed = 3;

static void note_child_end(SIGNAL_ARGS) {
    [[maybe_unused]] const auto number = postgres_signal_arg;
    const int error = errno;
    SetLatch(MyLatch);
    errno = error;
}

static TimestampTz in_milliseconds(int milliseconds) {
    return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds);
}

// Logs a cause once, since the same one again says nothing new.
static void complain(const char *cause) {
    if (strcmp(state.complaint, cause) == 0)
        return;
    strlcpy(state.complaint, cause, sizeof(state.complaint));
    record_error("%s", cause);
    ereport(LOG, (errmsg("pg_gpu has no server process: %s", cause),
                  errdetail("The paged path answers. It is tried again in the background.")));
}

static void plan_next_start() {
    state.delay_ms = Min(Max(state.delay_ms * 2, kFirstDelayMs), kLongestDelayMs);
    state.start_at = in_milliseconds(state.delay_ms);
}

static void start_server() {
    state.threads = server_settings().threads;
    if (!start_server_process(&state.server)) {
        char cause[sizeof(state.complaint)];
        pg_snprintf(cause, sizeof(cause), "could not start \"%s\": %m", server_executable());
        complain(cause);
        plan_next_start();
        return;
    }
    state.starts++;
    state.started_at = GetCurrentTimestamp();
    state.look_at = state.started_at;
    state.greeted = false;
    state.missed = 0;
    follow_server_log(state.server.pid, state.server.output);
    record_server_start(state.server.pid);
    ereport(LOG, (errmsg("pg_gpu server process %d started", static_cast<int>(state.server.pid))));
}

static void plan_restart() {
    disconnect();
    record_restart();
    if (state.greeted && TimestampDifferenceExceeds(state.started_at, GetCurrentTimestamp(), kHealthyMs))
        state.delay_ms = 0;
    plan_next_start();
}

static void note_abandoned(pid_t pid) {
    end_server_log();
    record_error("server process %d does not end", static_cast<int>(pid));
    ereport(LOG,
            (errmsg("pg_gpu server process %d does not end", static_cast<int>(pid)),
             errdetail(
                 "The kernel has not ended it after SIGKILL: it may wait for a driver or a file system that "
                 "hangs. It is not waited for.")));
}

static void note_end(pid_t pid, int status, const char *cause) {
    end_server_log();
    protocol::Subject subject;
    Path path;
    if (take_last_words(&subject, &path))
        begin_quarantine(subject, path, status);
    record_error("server process %d ended: %s, %s", static_cast<int>(pid), cause, describe_end(status));
    plan_restart();
    ereport(LOG, (errmsg("pg_gpu server process %d ended: %s, %s; it is restarted in %d ms",
                         static_cast<int>(pid), cause, describe_end(status), state.delay_ms)));
}

static void restart_server(const char *cause) {
    const pid_t pid = state.server.pid;
    int status;
    if (end_server_process(&state.server, kTimeoutMs, &status)) {
        note_end(pid, status, cause);
    } else {
        note_abandoned(pid);
        plan_restart();
    }
}

// ---- heartbeat --------------------------------------------------------------------------------------------

static bool send_limits() {
    constexpr uint64 kMebibyte = 1048576;
    const ServerSettings settings = server_settings();
    auto message = make_message<protocol::Configure>(protocol::Message::configure, Path::Host);
    message.memory_limit[static_cast<int>(protocol::EngineName::host)] =
        settings.host_memory_limit * kMebibyte;
    message.memory_limit[static_cast<int>(protocol::EngineName::cuda)] =
        settings.device_memory_limit * kMebibyte;
    message.transfer_limit = settings.transfer_memory_limit * kMebibyte;
    protocol::ReplyHeader reply;
    return exchange(&message, &reply) &&
           (result_of(reply) == protocol::ReplyResult::done || fail_by_reply(reply));
}

static bool has_socket() {
    struct stat status;
    return lstat(kSocketName, &status) == 0 && S_ISSOCK(status.st_mode);
}

// A server that has just been started needs some milliseconds before it listens, and on a busy machine, or
// from a cold disk, seconds.
static bool is_starting() {
    const int limit = last_failure() == RequestFailure::NoServer ? kLongestStartMs : kTimeoutMs;
    return !state.greeted && !TimestampDifferenceExceeds(state.started_at, GetCurrentTimestamp(), limit);
}

static void check_server() {
    constexpr int kStartingMs = 20;
    constexpr int kSlowlyStartingMs = 200;
    set_request_timeout(Min(Max(request_timeout(), kLeastHeartbeatMs), kMaxHeartbeatMs));
    state.look_at = in_milliseconds(kHeartbeatMs);
    const bool was_connected = is_connected();
    if (connect_to_server() && (!was_connected || ping_server()) && (state.greeted || send_limits())) {
        if (!state.greeted)
            state.complaint[0] = '\0';
        state.greeted = true;
        state.missed = 0;
        if (!has_socket())
            restart_server("its socket was removed");
        return;
    }
    if (ShutdownRequestPending)
        return;
    if (is_starting()) {
        const bool is_slow = TimestampDifferenceExceeds(state.started_at, GetCurrentTimestamp(), kTimeoutMs);
        state.look_at = in_milliseconds(is_slow ? kSlowlyStartingMs : kStartingMs);
        return;
    }
    if (last_failure() == RequestFailure::Deadline && ++state.missed < kMaxMissed) {
        state.look_at = GetCurrentTimestamp();
        return;
    }
    char cause[sizeof(state.complaint)];
    strlcpy(cause, last_reason(), sizeof(cause));
    restart_server(cause);
}

static void stop_server() {
    disconnect();
    if (state.server.pid == 0)
        return;
    const pid_t pid = state.server.pid;
    int status;
    record_server_stop();
    if (!end_server_process(&state.server, kTimeoutMs, &status)) {
        note_abandoned(pid);
        return;
    }
    end_server_log();
    ereport(LOG,
            (server_wanted() ? errmsg("pg_gpu server process %d stopped with its supervisor, %s",
                                      static_cast<int>(pid), describe_end(status))
                             : errmsg("pg_gpu server process %d stopped because pg_gpu.server is off, %s",
                                      static_cast<int>(pid), describe_end(status))));
}

static void apply_settings() {
    ConfigReloadPending = 0;
    const int threads = server_settings().threads;
    char *devices = pstrdup(server_settings().devices);
    ProcessConfigFile(PGC_SIGHUP);
    const bool devices_changed = strcmp(devices, server_settings().devices) != 0;
    pfree(devices);
    if (!server_wanted()) {
        stop_server();
        // Switched on again it starts at once.
        state.delay_ms = 0;
        state.start_at = 0;
        state.complaint[0] = '\0';
    }
    if (state.server.pid == 0)
        return;
    if (server_settings().threads != threads || devices_changed) {
        state.delay_ms = 0;
        restart_server(devices_changed ? "pg_gpu.devices was changed" : "pg_gpu.server_threads was changed");
        state.start_at = 0;
    } else if (state.greeted && connect_to_server()) {
        send_limits();
    }
}

// ---- main loop --------------------------------------------------------------------------------------------

static void release_supervision(int, Datum) {
    end_supervision();
}

// Sessions may start several supervisors at the same time; all but one end here.
static bool become_only_supervisor() {
    if (!begin_supervision())
        return false;
    before_shmem_exit(release_supervision, 0);
    return true;
}

static long milliseconds_until(TimestampTz time) {
    const TimestampTz now = GetCurrentTimestamp();
    return time <= now ? 0 : static_cast<long>((time - now) / 1000 + 1);
}

static void supervise() {
    while (!ShutdownRequestPending) {
        int status;
        const pid_t pid = state.server.pid;
        if (reap_server_process(&state.server, &status))
            note_end(pid, status, "it stopped by itself");
        reap_abandoned_processes();
        if (ConfigReloadPending)
            apply_settings();
        if (state.server.pid == 0 && server_wanted() && GetCurrentTimestamp() >= state.start_at)
            start_server();
        if (state.server.pid != 0 && GetCurrentTimestamp() >= state.look_at)
            check_server();
        const long pause = server_wanted()
                               ? milliseconds_until(state.server.pid != 0 ? state.look_at : state.start_at)
                               : kLongestDelayMs;
        const int output = read_server_log();
        // The latch may have been set while a heartbeat waited for it; the next turn looks at everything
        // anyway.
        WaitLatchOrSocket(
            MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH | (output >= 0 ? WL_SOCKET_READABLE : 0),
            output, pause, PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
    }
}

}  // namespace pg_gpu::client

extern "C" PGDLLEXPORT void pg_gpu_supervisor_main(Datum);

void pg_gpu_supervisor_main(Datum) {
    using namespace pg_gpu::client;

    pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGINT, SIG_IGN);
    pqsignal(SIGCHLD, note_child_end);
    BackgroundWorkerUnblockSignals();
    if (become_only_supervisor()) {
        supervise();
        stop_server();
    }
    proc_exit(0);
}
