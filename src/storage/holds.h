// Points at which tests hold sessions, to see what others do meanwhile.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

// Defines pg_gpu.hold_readers, pg_gpu.hold_extensions, pg_gpu.hold_results and pg_gpu.hold_vacuum, settings
// for tests alone, which pg_settings does not show. To be called before the prefix is reserved.
void define_hold_settings();

// Holds a reader behind each view that it takes. It has no buffer lock then.
void hold_reader();

// Holds a session before it makes the file longer by more than a seal may do under its locks.
void hold_extension();

// Holds a session between the check of what the server process has answered and its use.
void hold_results();

// When VACUUM has marked an index's dead entries, before it says so. It holds no buffer lock then.
void hold_vacuum();

}  // namespace pg_gpu::storage
