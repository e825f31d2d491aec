// A spool holds bytes that are written once and read once, in order. They lie in memory while they are few,
// then in a temporary file.
#pragma once

#include "postgres_headers.h"

#include "memory.h"

namespace pg_gpu::text {

struct Spool {
    char *memory;
    size_t room;
    size_t length;  // bytes written
    size_t limit;   // of memory
    size_t read;
    BufFile *file;
};

void begin_spool(Spool *spool, size_t limit);
void append_to_spool(Spool *spool, const void *bytes, size_t length);
void rewind_spool(Spool *spool);
// Exactly `length` bytes that have been appended.
void read_spool(Spool *spool, void *bytes, size_t length);
void end_spool(Spool *spool);

// ERROR when the temporary file ends early.
void read_file(BufFile *file, void *bytes, size_t length);

}  // namespace pg_gpu::text
