// Structures in PostgreSQL's shared memory: counters and the like, which nothing that is answered depends on.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu {

// A preloaded library has reserved room for it. Otherwise it is taken from what PostgreSQL has to spare, some
// tens of kB, so that the library need not be preloaded. It lives until PostgreSQL is stopped, or starts anew
// after one of its processes has crashed.
struct SharedStructure {
    const char *name;
    size_t bytes;
    void (*initialise)(void *place);
    void *place;    // in this process, once found
    bool is_tried;  // it has been looked for
};

// _PG_init calls it while preloading, to have room for the structure. The room is requested when PostgreSQL
// sizes its shared memory.
void reserve_shared(const SharedStructure &structure);

// Finds the structure in shared memory; the first process that calls it makes it. Returns nullptr where it
// can't be had: there is no room left, or a library of another version has made one of this name. Raises no
// error.
void *find_shared(SharedStructure *structure);

}  // namespace pg_gpu
