// The supervisor's notes on the server process, for gpu.server: no other process can see its children.
#pragma once

#include "supervisor/supervisor.h"

namespace pg_gpu::client {

// How a server process ended, which only its parent learns: a status as waitpid gives it.
struct ProcessEnd {
    pid_t pid;
    int status;
};

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

}  // namespace pg_gpu::client
