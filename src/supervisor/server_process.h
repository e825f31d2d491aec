// Starting and ending the server process: fork and exec, seen from the supervisor.
#pragma once

#include "supervisor/supervisor.h"

namespace pg_gpu::client {

struct ServerProcess {
    pid_t pid;      // 0: none
    int life_line;  // the server ends when the other end of this pipe is closed
    int output;     // the server's standard output and error come out here; reading doesn't wait
};

// Returns the executable's path, a static string. It lies beside the library that is loaded, which
// dynamic_library_path may have led to, unless tests name another one in the postmaster's environment
// (PG_GPU_SERVER).
const char *server_executable();

// Forks and executes it. Returns false with errno when it can't be: the executable is missing, or there is no
// process or descriptor to be had.
bool start_server_process(ServerProcess *process);

// Returns whether the process has ended. Then *status is what waitpid says, and *process stands for none.
bool reap_server_process(ServerProcess *process, int *status);

// Asks the process to end, and kills it when it doesn't within `timeout_ms`. Returns true with waitpid's
// *status. Returns false when it hasn't ended as long after that either: a process in uninterruptible sleep,
// in a driver or on a file system that hangs, ends when the kernel lets it. It is then left to the kernel,
// and the caller has no process any more; PostgreSQL's shutdown must not wait for it.
bool end_server_process(ServerProcess *process, int timeout_ms, int *status);

// Reaps those of them that have ended after all. Returns how many are left.
int reap_abandoned_processes();

}  // namespace pg_gpu::client
