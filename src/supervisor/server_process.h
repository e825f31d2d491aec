// Starting and ending the server process: fork and exec, seen from the supervisor.
#pragma once

#include "supervisor/supervisor.h"

namespace pg_gpu::client {

struct ServerProcess {
    pid_t pid;      // 0: none
    int life_line;  // the server ends when the other end of this pipe is closed
    int output;     // what it writes on its standard output and error comes out here; reading doesn't wait
};

// The executable: beside the library that is loaded, which dynamic_library_path may have led to, unless tests
// name another one in the postmaster's environment (PG_GPU_SERVER). A static string.
const char *server_executable();

// Forks and executes it. False with errno when it can't be: the executable is missing, no process, no
// descriptor.
bool start_server_process(ServerProcess *process);

// Has it ended? Then *status is what waitpid says, and the process is none.
bool reap_server_process(ServerProcess *process, int *status);

// Asks it to end, and kills it when it doesn't within `timeout_ms`. True with waitpid's *status. False when
// it hasn't ended as long after that either: a process in uninterruptible sleep, in a driver or on a file
// system that hangs, ends when the kernel lets it. It is the kernel's then, and the caller has no process any
// more; PostgreSQL's shutdown must not wait for it.
bool end_server_process(ServerProcess *process, int timeout_ms, int *status);

// Takes note of those that ended after all. How many are left.
int reap_abandoned_processes();

}  // namespace pg_gpu::client
