// The parts of an IndexAmRoutine that are the same for every access method on this storage.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

// Returns a palloc'd routine with the fields that all of them share; capabilities and callbacks are the
// access method's to set. What it leaves out is false or nullptr.
IndexAmRoutine *make_index_routine();

}  // namespace pg_gpu::storage
