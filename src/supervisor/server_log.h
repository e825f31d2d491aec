// Turns the lines that the server process writes into entries of PostgreSQL's log, with a level and in each
// of its formats.
#pragma once

#include "rpc/rpc.h"

namespace pg_gpu::client {

// Reads the lines of process `pid` from `output` from now on, which end_server_log closes.
void follow_server_log(pid_t pid, int output);

// Reads what has come, but no more than a pipe holds, and makes entries of whole lines. A process that writes
// without end gets some of its lines into the log, and the number of those beyond. Returns a descriptor that
// can be waited on for more, or -1: nobody writes any more, or the process has had its share for now.
int read_server_log();

// Reads the rest, also the beginning of a line. The supervisor calls it when the process has ended or is
// given up.
void end_server_log();

// Returns whether the process has said by which request it ends, and forgets that.
bool take_last_words(protocol::Subject *subject, Path *path);

}  // namespace pg_gpu::client
