// Progress of long-running work, for gpu.progress: PostgreSQL's own progress views have no room for it, and a
// command that shows in one of them may begin a merge.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu {

inline constexpr size_t kProgressNameBytes = 32;

// Work as others see it. Names are short, constant and English.
struct Progress {
    int pid;
    Oid database;
    Oid user;
    Oid index;  // InvalidOid: about none
    char command[kProgressNameBytes];
    char phase[kProgressNameBytes];
    uint64 total;  // tuples of the phase; 0: not known
    TimestampTz started;
};

// _PG_init calls it while preloading.
void reserve_progress();

// Work begins that gpu.progress shows until end_progress(), or until the (sub)transaction that it began in is
// aborted. What is begun meanwhile shows as phases of it. Nobody sees it where shared memory has no room.
void begin_progress(const char *command, Oid index, const char *phase, uint64 total);
void end_progress();

// These do nothing where no work of the session's shows.
void begin_phase(const char *phase, uint64 total);
void add_progress(uint64 tuples);
void set_progress(uint64 tuples);

// Calls `show` for each work that is under way, with how many of its phase's tuples are done.
void show_progress(void (*show)(const Progress &progress, uint64 done, void *context), void *context);

}  // namespace pg_gpu
