// What the supervisor has noted of the server process, for gpu.server: its children are nobody else's to see.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::client {

// What has happened since PostgreSQL's start, or its last restart after a crash.
struct SupervisorRecord {
    pid_t supervisor;        // 0: none
    pid_t server;            // the same
    TimestampTz started_at;  // the server process
    uint64 restarts;         // server processes that ended and were to be replaced
    TimestampTz failed_at;
    char last_error[256];  // why a server process ended, or could not be started; empty: nothing went wrong
};

// How a server process ended, which only its parent learns: a status as waitpid gives it.
struct ProcessEnd {
    pid_t pid;
    int status;
};

// Is called from _PG_init while preloading.
void reserve_supervisor_record();

// One supervisor at a time: false where there is one, or shared memory has no room for the record. A
// supervisor that ends without a word has PostgreSQL start anew, and the record with it.
bool begin_supervision();
void end_supervision();

// The supervisor notes here what happens.
void record_server_start(pid_t pid);
void record_process_end(pid_t pid, int status);
void record_server_stop();
void record_restart();
void record_error(const char *format, ...) pg_attribute_printf(1, 2);

// False where shared memory has no room for the record.
bool read_supervisor_record(SupervisorRecord *record);
// Only the last ends are kept. False where the process lives, its end hasn't been noticed yet, or was too
// long ago.
bool find_process_end(pid_t pid, int *status);

}  // namespace pg_gpu::client
