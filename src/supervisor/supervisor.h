// The room's header: the supervisor, a background worker that starts the server process, watches it, and
// ends it with PostgreSQL.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::client {

// From _PG_init while preloading: the supervisor then starts with PostgreSQL.
void register_supervisor();

// A session found no server: starts a supervisor unless there is one. True when one runs or is on its way.
// Says so in the log when it can't be had, once a session and cause.
bool launch_supervisor();

// Does a supervisor run? It may have no server process at the moment.
bool is_supervisor_running();

// ---- the record (record.cpp) -----------------------------------------------------------------------------

// Events since PostgreSQL's start, or its last restart after a crash.
struct SupervisorRecord {
    pid_t supervisor;        // 0: none
    pid_t server;            // the same
    TimestampTz started_at;  // the server process
    uint64 restarts;         // server processes that ended and were to be replaced
    TimestampTz failed_at;
    char last_error[256];  // why a server process ended, or could not be started; empty: nothing went wrong
};

// Is called from _PG_init while preloading.
void reserve_supervisor_record();

// False where shared memory has no room for the record.
bool read_supervisor_record(SupervisorRecord *record);
// Only the last ends are kept. False where the process lives, its end hasn't been noticed yet, or was too
// long ago.
bool find_process_end(pid_t pid, int *status);

// ---- how server processes end (server_process.cpp) -------------------------------------------------------

// The exit status of a server process that gave itself up: its device is lost, or a request can't be stopped
// (cuda/server/main.cpp).
inline constexpr int kGivenUpStatus = 3;

// "exit status 1", "signal 9 (Killed)". A static string.
const char *describe_end(int status);

}  // namespace pg_gpu::client
