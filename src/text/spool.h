// A spool holds bytes that are written once and read once, in order. They lie in memory while they are few,
// then in a temporary file.
#pragma once

#include "postgres_headers.h"

#include "memory.h"
#include "temporary_file.h"

namespace pg_gpu::text {

struct Spool {
    Relation index;  // the index that the run is built for
    char *memory;
    size_t room;
    size_t length;  // bytes written
    size_t limit;   // bytes of memory it may take
    size_t read;
    BufFile *file;
};

void begin_spool(Spool *spool, Relation index, size_t limit);
void append_to_spool(Spool *spool, const void *bytes, size_t length);
void rewind_spool(Spool *spool);
// Reads exactly `length` bytes that have been appended.
void read_spool(Spool *spool, void *bytes, size_t length);
void end_spool(Spool *spool);

}  // namespace pg_gpu::text
