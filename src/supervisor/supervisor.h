// The room's header: the supervisor, a background worker that starts the server process, watches it, and
// ends it with PostgreSQL.
#pragma once

#include "postgres_headers.h"
#include "rpc/rpc.h"

namespace pg_gpu::client {

// _PG_init calls it while preloading: the supervisor then starts with PostgreSQL.
void register_supervisor();

// Starts a supervisor unless there is one, when a session found no server. Returns true when one runs or is
// on its way. When it can't be had the log says so, once for each session and cause.
bool launch_supervisor();

// Returns whether a supervisor runs. It may have no server process at the moment.
bool is_supervisor_running();

// ---- the record (record.cpp) -----------------------------------------------------------------------------

// The record has events since PostgreSQL's start, or its last restart after a crash.
struct SupervisorRecord {
    pid_t supervisor;        // 0: none
    pid_t server;            // 0: none
    TimestampTz started_at;  // the server process
    uint64 restarts;         // server processes that ended and were to be replaced
    TimestampTz failed_at;
    char last_error[256];  // why a server process ended, or could not be started; empty: nothing went wrong
};

// Is called from _PG_init while preloading.
void reserve_supervisor_record();

// Copies the record. Returns false where shared memory has no room for it.
bool read_supervisor_record(SupervisorRecord *record);

// ---- requests that server processes ended by (record.cpp) ------------------------------------------------

struct Quarantine {
    protocol::Subject subject;
    int path;  // a Path
    TimestampTz until;
    int seconds;
    int status;        // the process's, as waitpid gives it
    bool is_reported;  // a session was told
};

// Returns whether such requests are kept from the path now. The first caller after each end finds it not
// reported.
bool find_quarantine(const protocol::Subject &subject, Path path, Quarantine *quarantine);
// Such a request was answered.
void end_quarantine(const protocol::Subject &subject, Path path);

// ---- how server processes end (server_process.cpp) -------------------------------------------------------

// Returns a static string like "exit status 1" or "signal 9 (Killed)".
const char *describe_end(int status);

}  // namespace pg_gpu::client
