// The supervisor: a background worker that starts the server process, watches it, and ends it with
// PostgreSQL.
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

}  // namespace pg_gpu::client
