// Who waits for a background worker, which gives way to them.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

// Returns for how many milliseconds another process has waited for a lock on the relation that is as strong
// or stronger; -1 when none does. Takes no locks, so that a signal handler may call it.
long longest_wait(Oid relation, LOCKMODE weakest, TimestampTz now);

// DROP DATABASE, CREATE DATABASE with the database as its template and their like hold a lock on it while
// they wait, for some seconds, until nobody is connected.
bool is_database_wanted(Oid database);

}  // namespace pg_gpu::storage
