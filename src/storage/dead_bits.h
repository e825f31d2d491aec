// How many entries of a part of a run are dead.
#pragma once

#include "storage/runs.h"

namespace pg_gpu::storage {

// Counts the dead bits [first, end). false when a page was recycled.
bool count_dead(Relation index, const RunEntry &run, uint64 first, uint64 end, uint64 *dead);

}  // namespace pg_gpu::storage
