// Notes that an access method leaves in an index's relation cache entry, so that each statement needn't find
// it again. It is about the index's definition alone, and goes with the entry whenever that is made anew.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

inline constexpr size_t kNoteBytes = 1024;

// read_note returns nullptr when nothing has been noted. The note may be freed as soon as invalidations are
// looked at, so that the caller copies it at once.
const void *read_note(Relation index);
void write_note(Relation index, const void *note, size_t bytes);

}  // namespace pg_gpu::storage
