// Inside the client: how the last server processes ended. The supervisor notes it in a file of the data
// directory, since only their parent learns it, and sessions look there (quarantine.h).
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::client {

enum class End : int {
    Unknown,  // it lives, or its parent has not noticed yet, or it is too long ago
    Crash,    // of itself: by a signal that a fault raises, or it gave itself up
    Other,    // it was stopped or killed, or a bad argument kept it from starting
};

// The supervisor says by this that no process has ended yet.
void forget_process_ends();
// The supervisor says that a server process has ended, with the status that waitpid gave.
void note_process_end(pid_t pid, int status);

// Sessions ask this. `text`, of `bytes` bytes, gets the end in words when it is known.
End end_of_process(pid_t pid, char *text, size_t bytes);

}  // namespace pg_gpu::client
