// What the supervisor has noted of the server process, for gpu.server: its children are nobody else's to see.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::client {

// What has happened since PostgreSQL's start, or its last restart after a crash.
struct SupervisorRecord {
    pid_t server;            // 0: none
    TimestampTz started_at;  // the server process
    uint64 restarts;         // server processes that ended and were to be replaced
    TimestampTz failed_at;
    char last_error[256];  // why a server process ended, or could not be started; empty: nothing went wrong
};

// Is called from _PG_init while preloading.
void reserve_supervisor_record();

// The supervisor notes here what happens.
void record_server_start(pid_t pid);
void record_server_stop();
void record_restart();
void record_error(const char *format, ...) pg_attribute_printf(1, 2);

// False where shared memory has no room for the record.
bool read_supervisor_record(SupervisorRecord *record);

}  // namespace pg_gpu::client
