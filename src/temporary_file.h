// Temporary files of builds, merges and scans are read back by these functions. They raise an ERROR that
// names the index when a file cannot be positioned, or ends before what was written to it.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu {

void rewind_file(BufFile *file, Relation index);
// The next read begins at this block of BLCKSZ bytes.
void seek_file_block(BufFile *file, uint64 block, Relation index);
// Reads exactly `length` bytes.
void read_file(BufFile *file, void *bytes, size_t length, Relation index);

}  // namespace pg_gpu
