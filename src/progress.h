// Progress of long-running work, for gpu.progress: PostgreSQL's own progress views have no room for all of
// it, and a command that shows in one of them may begin a merge. What does fit shows in
// pg_stat_progress_create_index, too.
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
void begin_phase(const char *phase, uint64 total);  // a total of 0: not known
void add_progress(uint64 tuples);
void set_progress(uint64 tuples);

// gpu.load and gpu.merge show in pg_stat_progress_create_index like a build, with one of these phases, which
// every access method has a name for, and with the tuples of what they do until the end. Not within another
// command that shows its progress, such as COPY.
inline constexpr int64 kLoadSubphase = 100;
inline constexpr int64 kMergeSubphase = 101;
void begin_build_report(Relation index, int64 subphase);
void report_blocks(int64 done, int64 total);
void end_build_report();

// What CREATE INDEX writes is counted there, in tuples of as many as there are rows, or as begin_phase()
// says.
void begin_writing_report(uint64 rows);
void end_writing_report();

// Calls `show` for each work that is under way, with how many of its phase's tuples are done.
void show_progress(void (*show)(const Progress &progress, uint64 done, void *context), void *context);

}  // namespace pg_gpu
