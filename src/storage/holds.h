// Points at which tests hold sessions, to see what others do meanwhile.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

// Defines pg_gpu.hold_readers, pg_gpu.hold_extensions and pg_gpu.hold_results, settings for tests alone,
// which pg_settings does not show. To be called before the prefix is reserved.
void define_hold_settings();

// Behind each view that a reader takes. It holds no buffer lock then.
void hold_reader();

// Before the file is made longer by more than a seal may do under its locks.
void hold_extension();

// Between the check of what the server process has answered and its use.
void hold_results();

}  // namespace pg_gpu::storage
